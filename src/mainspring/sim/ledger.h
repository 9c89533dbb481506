// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/model/event.h"
#include "mainspring/model/plan.h"

// The checker's own books: what must be true in the scheduler's state, kept from the events that
// were delivered and the decisions that were made, and from nothing that the core counted.

namespace mainspring::sim {

struct LedgerDevice {
  model::GpuSpec spec;
  bool present = true;
  int64_t foreign_memory_bytes = 0;
  int64_t used_milli = 0;
  int64_t used_memory_bytes = 0;
  int64_t holders = 0;
  // What is promised to pods that wait, whoever still holds it.
  int64_t promised_milli = 0;
  int64_t promised_memory_bytes = 0;
  int64_t promised_to = 0;
};

struct LedgerNode {
  model::NodeSpec spec;
  bool listed = true;
  model::Resources used;
  model::Resources promised;
  int64_t pods = 0;
  std::vector<LedgerDevice> devices;
};

enum class LedgerPhase : uint8_t { kPending, kHolding, kStarted, kStopping, kGone };

struct LedgerPod {
  std::string job;
  uint32_t position = 0;  // in JobSpec::pods; meaningless when withdrawn
  model::PodShape shape;
  bool withdrawn = false;
  uint32_t incarnation = 0;
  LedgerPhase phase = LedgerPhase::kPending;
  std::string node;
  std::vector<std::string> gpus;

  [[nodiscard]] bool holds() const {
    return phase != LedgerPhase::kPending && phase != LedgerPhase::kGone;
  }
};

struct LedgerJob {
  model::JobSpec spec;
  std::vector<model::PodBinding> promises;
  base::Instant promise_until = base::Instant::never();
  std::vector<base::Instant> displaced_at;
  bool removed = false;
  bool releasing = false;
  int64_t holding = 0;  // withdrawn pods included
  base::Instant retry_at;
  base::Instant last_bind;
  base::Instant below_since = base::Instant::never();
  base::Instant unstarted_since = base::Instant::never();
};

class Ledger {
 public:
  // An event that the state accepted.
  void apply(const model::Event& event);
  // A pod was claimed, or a job told to go.
  void claim(LedgerPod& pod, LedgerJob& job, const model::PodBinding& binding);
  void release(LedgerJob& job, base::Instant retry_at);
  // The pod was told to go, so that others can start.
  void displace(LedgerPod& pod);
  void promise(LedgerJob& job, const model::PodBinding& place, base::Instant until);
  // Its places are nobody's again.
  void drop_promises(LedgerJob& job);

  [[nodiscard]] const model::CoreConfig& config() const { return config_; }
  [[nodiscard]] LedgerNode* find_node(const std::string& name);
  [[nodiscard]] LedgerJob* find_job(const std::string& id);
  [[nodiscard]] LedgerPod* find_pod(const std::string& id);
  [[nodiscard]] const std::map<std::string, LedgerNode>& nodes() const { return nodes_; }
  [[nodiscard]] const std::map<std::string, LedgerJob>& jobs() const { return jobs_; }
  [[nodiscard]] const std::map<std::string, LedgerPod>& pods() const { return pods_; }
  // Of these, the pods that hold a place and the jobs that were promised some.
  [[nodiscard]] const std::set<std::string>& holders() const { return holders_; }
  [[nodiscard]] const std::set<std::string>& promised() const { return promised_; }
  [[nodiscard]] const std::map<std::string, model::QueueSpec>& queues() const { return queues_; }
  [[nodiscard]] static LedgerDevice* find_device(LedgerNode& node, std::string_view id);

  // By pod of the job: whether it counts towards the minimum; `started` asks for more than a place.
  [[nodiscard]] std::vector<uint8_t> counting(const LedgerJob& job, bool started) const;
  // By pod of the job: whether it holds a place, stopping or not, or is done.
  [[nodiscard]] std::vector<uint8_t> holding(const LedgerJob& job) const;

  // What changed since the last call, each name once.
  struct Touched {
    std::vector<std::string> nodes;
    std::vector<std::string> jobs;
    std::vector<std::string> pods;
  };
  Touched take_touched();

 private:
  void on(const model::NodeChanged& event);
  void on(const model::NodeGone& event);
  void on(const model::GpuSampled& event);
  void on(const model::JobChanged& event);
  void on(const model::JobGone& event);
  void on(const model::PodBound&) {}
  void on(const model::PodStarted& event);
  void on(const model::PodStopping& event);
  void on(const model::PodGone& event);
  void on(const model::BindRefused& event);
  void on(const model::PodFound& event);
  void on(const model::ConfigChanged& event) { config_ = event.config; }
  void on(const model::JobRestored& event);
  void on(const model::DemandRestored&) {}
  void on(const model::GpuModelsRestored&) {}
  void on(const model::Tick&) {}
  void on(const model::JobCheckpointed&) {}
  void on(const model::QueueChanged& event) { queues_[event.queue.name] = event.queue; }
  void on(const model::QueueGone& event) { queues_.erase(event.name); }
  void on(const model::PromiseRestored& event);
  void on(const model::UsageRestored&) {}

  LedgerPod* current(const std::string& id, uint32_t incarnation);
  void end(const std::string& id, LedgerPod& pod, model::PodEnd end);
  void book(const LedgerPod& pod, int64_t sign);
  void book_promise(const model::PodBinding& place, int64_t sign);
  static void forget_absent_devices(LedgerNode& node);
  void forget_if_over(const std::string& id);

  model::CoreConfig config_;
  std::map<std::string, LedgerNode> nodes_;
  std::map<std::string, LedgerJob> jobs_;
  std::map<std::string, LedgerPod> pods_;
  std::set<std::string> holders_;
  std::set<std::string> promised_;
  std::map<std::string, model::QueueSpec> queues_;
  Touched touched_;
};

}  // namespace mainspring::sim
