// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/id_map.h"
#include "mainspring/base/instant.h"
#include "mainspring/base/result.h"
#include "mainspring/model/change_log.h"
#include "mainspring/model/event.h"
#include "mainspring/model/inventory.h"
#include "mainspring/model/queues.h"
#include "mainspring/model/tables.h"

// The only mutable model: what is known of the cluster, its jobs and who holds what.
//
// One writer. It changes by events (facts, `apply`) and through a Trial (proposals that are
// committed or rolled back). An event that is malformed or contradicts the state is refused whole
// and leaves no trace; one that is merely late or repeated is ignored and counted.
//
// Invariants: a pod holds at most one place; a device's counters equal the sum over its holders;
// only PodGone, BindRefused, or a rollback give a holding back.

namespace mainspring::model {

class Trial;

// What was ignored, for the operator's eyes.
struct StaleCounts {
  int64_t unknown_pod = 0;
  int64_t old_incarnation = 0;
  int64_t unknown_node = 0;
  int64_t unknown_job = 0;
  int64_t unknown_queue = 0;
};

class ClusterState {
 public:
  ClusterState();

  base::Status apply(const Event& event);

  // --- Reading ---
  [[nodiscard]] const Inventory& inventory() const { return inventory_; }
  [[nodiscard]] const Queues& queues() const { return queues_; }
  [[nodiscard]] const CoreConfig& config() const { return config_; }
  [[nodiscard]] base::Instant now() const { return now_; }
  [[nodiscard]] uint64_t sequence() const { return sequence_; }
  [[nodiscard]] std::span<const Job> jobs() const { return jobs_; }
  [[nodiscard]] std::span<const Pod> pods() const { return pods_; }
  [[nodiscard]] const Job& job(JobIx index) const;
  [[nodiscard]] const Pod& pod(PodIx index) const;
  [[nodiscard]] JobIx find_job(std::string_view id) const;
  [[nodiscard]] PodIx find_pod(std::string_view id) const;
  [[nodiscard]] JobIx job_index(uint32_t slot) const { return {slot, jobs_[slot].generation}; }
  [[nodiscard]] PodIx pod_index(uint32_t slot) const { return {slot, pods_[slot].generation}; }
  [[nodiscard]] size_t job_count() const { return job_by_id_.size(); }
  [[nodiscard]] const StaleCounts& stale() const { return stale_; }
  // Every job of which anything changed.
  [[nodiscard]] const ChangeLog& job_changes() const { return job_changes_; }
  // Grows whenever anything changes that bears on who may displace whom.
  [[nodiscard]] uint64_t claims() const { return claims_; }
  // How many names, shapes and signatures have a number, whether or not anything uses them still.
  [[nodiscard]] size_t names_known() const {
    return inventory_.names().size() + inventory_.shapes().size() + signatures_.size();
  }
  // Pods ever submitted, and how many of them prices were made from.
  [[nodiscard]] int64_t arrivals() const { return arrivals_; }
  [[nodiscard]] int64_t arrivals_priced() const { return arrivals_priced_; }

  // A digest of all facts, independent of slots, caches and the order of tables. O(everything).
  [[nodiscard]] uint64_t hash() const;

  // Recounts everything and aborts on any difference. O(everything): tests and the checker.
  void check() const;

  // --- Writing by the engine, as part of a decision ---
  // The job's claimed pods must have started by then.
  void set_start_deadline(JobIx job, base::Instant deadline);
  // Every pod is told to go; nothing of it is planned before `retry_at`.
  void begin_release(JobIx job, base::Instant retry_at);
  // These pods of the job are told to go, so that `winner` can start; `whole`: all that it has.
  void displace(JobIx victim, std::span<const PodIx> pods, bool whole, JobIx winner);
  // The places are booked for the job's pods until then. A job is promised places once.
  void promise(JobIx job, std::vector<Promise> places, base::Instant until);
  // Whether every promised place is physically free, and every pod waits. O(pods on the nodes).
  [[nodiscard]] bool promise_clear(JobIx job) const;
  // The pods take their promised places, which must be clear.
  void redeem(JobIx job);
  // The places are free again; the job waits until `retry_at`, and who was displaced for it goes
  // first.
  void end_promise(JobIx job, base::Instant retry_at);
  // Others are not moved for the job before then.
  void set_move_retry(JobIx job, base::Instant at) { mutable_job(job).move_retry_at = at; }
  // From now on prices rest on every arrival so far.
  void mark_demand_priced();

 private:
  friend class Trial;

  base::Status on(const NodeChanged& event);
  base::Status on(const NodeGone& event);
  base::Status on(const GpuSampled& event);
  base::Status on(const JobChanged& event);
  base::Status on(const JobGone& event);
  base::Status on(const PodBound& event);
  base::Status on(const PodStarted& event);
  base::Status on(const PodStopping& event);
  base::Status on(const PodGone& event);
  base::Status on(const BindRefused& event);
  base::Status on(const PodFound& event);
  base::Status on(const ConfigChanged& event);
  base::Status on(const GpuModelsRestored& event);
  base::Status on(const JobRestored& event);
  base::Status on(const DemandRestored& event);
  base::Status on(const Tick& event);
  base::Status on(const JobCheckpointed& event);
  base::Status on(const QueueChanged& event);
  base::Status on(const QueueGone& event);
  base::Status on(const PromiseRestored& event);
  base::Status on(const UsageRestored& event);

  // The pod in this life, or invalid (counted as stale).
  PodIx current_pod(std::string_view id, uint32_t incarnation);
  base::Status check_update(const JobSpec& spec) const;
  base::Status check_demand(const JobSpec& spec) const;
  void fill_job(JobIx index, const JobSpec& spec);
  void add_pod(JobIx job, const PodSpec& spec, ShapeIx shape);
  void withdraw_pod(PodIx pod);
  void end_pod(PodIx pod, PodEnd end);
  void put_off(JobIx job);
  void erase_pod(PodIx pod);
  void erase_job(JobIx job);
  void settle_job(JobIx job);
  void resolve_levels();

  // Bookings; the only ways in which a holding comes and goes.
  void hold(PodIx pod, NodeIx node, DeviceMask devices, base::Interval interval,
            HoldingState holding);
  void let_go(PodIx pod);
  void set_phase(PodIx pod, PodPhase phase);
  static void count_pod(Job& job, const Pod& pod, int32_t by);
  // The books of the pod's queue.
  void charge_pod(const Pod& pod, int64_t sign);
  void set_demanded(Pod& pod, bool demanded);
  void charge_job(const Job& job, int64_t sign);
  [[nodiscard]] PodCharge charge_of(ShapeIx shape, NodeIx node, DeviceMask devices) const;
  void charge_promise(const Job& job, const Promise& promise, int64_t sign);
  [[nodiscard]] bool promise_obeys_rules(const Job& job) const;
  void drop_promises(JobIx job);
  void break_promise(JobIx job);
  void let_go(const Job& job, const Promise& promise);
  void break_promises_on(NodeIx node);
  void watch_run(Job& job);
  Job& mutable_job(JobIx index);
  Pod& mutable_pod(PodIx index);

  Inventory inventory_;
  Queues queues_;
  CoreConfig config_;
  base::Instant now_;
  base::Instant at_;  // of the event that is being applied; never before now_
  uint64_t sequence_ = 0;
  std::vector<Job> jobs_;
  std::vector<uint32_t> free_jobs_;
  base::IdMap job_by_id_;
  std::vector<Pod> pods_;
  std::vector<uint32_t> free_pods_;
  base::IdMap pod_by_id_;
  base::NameTable signatures_;
  StaleCounts stale_;
  ChangeLog job_changes_;
  int64_t arrivals_ = 0;
  int64_t arrivals_priced_ = 0;
  uint64_t claims_ = 0;
};

}  // namespace mainspring::model
