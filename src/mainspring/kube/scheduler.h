// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/base/result.h"
#include "mainspring/config/scheduler_config.h"
#include "mainspring/engine/cycle.h"
#include "mainspring/kube/executor.h"
#include "mainspring/kube/job_book.h"
#include "mainspring/kube/lease.h"
#include "mainspring/kube/reflector.h"
#include "mainspring/model/cluster_state.h"
#include "mainspring/report/published_text.h"
#include "mainspring/report/scheduler_metrics.h"

// A scheduler at work: what the API server tells goes into the state, cycles run, and their
// decisions are carried out. All of it on the thread that calls `run`.
//
// Arrivals are gathered for a moment before a cycle, longer while bindings are on their way, since
// the server is then busy with them anyway. Nothing is decided before every kind has been listed
// once, nor by a replica that does not lead.

namespace mainspring::kube {

// Who looks over the scheduler's shoulder: recordings, logs, comparisons.
class Witness {
 public:
  virtual ~Witness() = default;
  // The state before the first cycle.
  virtual void began(const model::ClusterState& state) = 0;
  virtual void happened(const model::Event& event) = 0;
  virtual void decided(base::Instant at, const model::Plan& plan) = 0;
  // One line for the operator.
  virtual void say(std::string_view level, const std::string& message) = 0;
};

struct SchedulerSetup {
  config::SchedulerConfig config;
  std::string identity;        // of this process, for the lease and for events
  std::string home_namespace;  // where its lease lies, unless the configuration says otherwise
  uint64_t seed = 0;           // of jitter
};

class Scheduler {
 public:
  // All must outlive the scheduler.
  Scheduler(Transport& transport, const Clock& clock, report::SchedulerMetrics& metrics,
            Witness& witness, SchedulerSetup setup);
  ~Scheduler();

  // Until `stop` is set (and the transport woken): then what was begun is ended, for at most ten
  // seconds, and the lease is given back. An error: it cannot work with this server.
  base::Status run(const std::atomic<bool>& stop);

  // The next `run` iteration takes this configuration; from any thread.
  void reconfigure(config::SchedulerConfig next);

  // From any thread.
  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] const report::PublishedText& metrics_text() const { return metrics_text_; }
  // When the loop last went round, in milliseconds since the epoch.
  [[nodiscard]] int64_t last_round_ms() const { return last_round_ms_; }

  [[nodiscard]] const model::ClusterState& state() const { return state_; }

 private:
  struct Sinks;

  base::Status check_version(const std::atomic<bool>& stop);
  base::Status begin();
  void take_configuration();
  void round();
  void wait();
  void cycle(base::Instant now);
  void forget_unused_names();
  void flush(base::Instant now);
  void settle_outcomes();
  base::Status apply(model::EventBody body);
  void tell_notices();
  [[nodiscard]] bool synced() const;
  [[nodiscard]] bool leads(base::Instant now) const;
  void follow_leadership(base::Instant now);
  // How long arrivals are gathered before a cycle.
  [[nodiscard]] base::Duration gathering() const;
  [[nodiscard]] bool cycle_is_due(base::Instant now);
  [[nodiscard]] base::Instant next_deadline(base::Instant now) const;
  void publish(base::Instant now);
  void end();

  Transport& transport_;
  const Clock& clock_;
  report::SchedulerMetrics& metrics_;
  Witness& witness_;
  SchedulerSetup setup_;
  bool shadow_ = false;

  model::ClusterState state_;
  std::unique_ptr<engine::Engine> engine_ = std::make_unique<engine::Engine>();
  JobBook book_;
  EventRecorder recorder_;
  std::unique_ptr<LeaseElection> election_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Sinks> sinks_;

  uint64_t sequence_ = 0;
  size_t names_max_ = 0;  // with more, those that are unused are forgotten
  bool began_ = false;
  bool led_ = false;
  base::Instant changed_at_ = base::Instant::never();  // first since the last cycle
  base::Instant next_cycle_ = base::Instant::never();  // as the last plan wished
  base::Instant published_at_;

  std::mutex next_config_mutex_;
  std::optional<config::SchedulerConfig> next_config_;
  std::atomic<bool> ready_{false};
  std::atomic<int64_t> last_round_ms_{0};
  report::PublishedText metrics_text_;
};

}  // namespace mainspring::kube
