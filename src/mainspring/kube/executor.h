// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "mainspring/kube/api_writes.h"
#include "mainspring/kube/event_recorder.h"
#include "mainspring/kube/http.h"
#include "mainspring/kube/job_book.h"
#include "mainspring/model/cluster_state.h"
#include "mainspring/model/plan.h"
#include "mainspring/report/scheduler_metrics.h"

// Carries decisions out at the API server, and tells what became of them as events of the model.
//
// The server is the scarce thing: a pod costs one write, its binding. Bindings go before evictions,
// evictions before conditions; each kind keeps a bounded number of requests on their way. What a
// decision rested on is looked at again before it is sent: a pod that is no longer planned there is
// passed over. A write whose fate is unknown is tried again, since each names the life of its pod;
// what the server refuses becomes BindRefused, and the core plans anew.

namespace mainspring::kube {

struct ExecutorOptions {
  size_t binds_parallel = 16;
  size_t evictions_parallel = 16;
  size_t conditions_parallel = 4;
  int attempts_max = 6;
  base::Duration retry_first = base::milliseconds(100);
  base::Duration retry_max = base::seconds(10);
  bool events_for_single_pods = false;
};

class Executor {
 public:
  // All must outlive the executor.
  struct World {
    Transport& transport;
    const Clock& clock;
    const JobBook& book;
    const model::ClusterState& state;
    EventRecorder& recorder;
    report::SchedulerMetrics& metrics;
  };
  Executor(World world, ExecutorOptions options);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor() { *alive_ = false; }

  // Takes the decisions on; nothing is sent before `tick`.
  void take_on(const model::Plan& plan);
  // Nothing is to be written: only what would change nothing outside is answered.
  void pretend(const model::Plan& plan);
  // Why the pods of the job wait: told to those that have not been told the same.
  void explain(const std::string& job, std::string_view reason, const std::string& message);
  // Not before `from`, for what may pass by itself.
  void explain_pod(const std::string& pod, std::string_view reason, const std::string& message,
                   base::Instant from = {});

  // Sends what is due.
  void tick(base::Instant now);
  [[nodiscard]] base::Instant next_deadline() const;
  // What happened, for the state.
  std::vector<model::EventBody> take_outcomes() { return std::exchange(outcomes_, {}); }

  // From now on nothing new is written; bindings that were not sent are refused.
  void stand_down();
  // It leads again.
  void stand_up() { standing_down_ = false; }
  [[nodiscard]] bool binding() const { return !binds_.empty() || !in_flight_.empty(); }
  [[nodiscard]] bool idle() const {
    return !binding() && evictions_.empty() && evictions_in_flight_ == 0;
  }

 private:
  struct Binding {
    model::PodBinding pod;
    std::string job;
    ObjectRef object;
    int attempts = 0;
    base::Instant not_before;
    base::Instant sent_at;
  };
  struct Eviction {
    std::string pod;  // the model's id
    uint32_t incarnation = 0;
    ObjectRef object;
    std::string rule;  // for metrics
    int attempts = 0;
    base::Instant not_before;
  };
  struct Told {
    std::string reason;
    std::string message;
    friend bool operator==(const Told&, const Told&) = default;
  };
  struct News {
    Told what;
    base::Instant from;
  };
  // A gang of which not all bindings have been answered.
  struct GangStart {
    size_t missing = 0;
    size_t bound = 0;
    ObjectRef first;
  };

  void take_on(const model::Bind& bind);
  void take_on(const model::Release& release);
  void take_on(const model::Displace& displace);
  void take_on(const model::PromiseEnded&) {}
  void stop(const model::PodRelease& pod, std::string_view rule);
  void note_displaced(const model::Displace& displace, const model::Victim& victim);

  [[nodiscard]] bool still_planned(const Binding& binding) const;
  void send(Binding binding, base::Instant now);
  void hear(Binding binding, const WriteReply& reply);
  void bound(const Binding& binding, base::Instant now);
  void refused(const Binding& binding, WriteOutcome outcome, const std::string& why);
  void count_gang(const Binding& binding, bool is_bound);
  void send(Eviction eviction);
  void hear(Eviction eviction, const WriteReply& reply);
  void send_conditions(base::Instant now);
  void send_condition(const std::string& id, const Told& news, base::Instant now);
  [[nodiscard]] base::Duration pause(int attempts, const WriteReply& reply) const;
  [[nodiscard]] std::string queue_of(const std::string& job) const;

  World world_;
  ExecutorOptions options_;
  bool standing_down_ = false;
  std::deque<Binding> binds_;
  std::deque<Eviction> evictions_;
  std::map<std::string, News> conditions_;     // by pod, not yet sent
  std::map<std::string, Told> told_;           // by pod, as last sent
  std::map<std::string, uint32_t> releasing_;  // pods whose binding is on its way and unwanted
  std::set<std::string> in_flight_;            // pods whose binding is on its way
  std::map<std::string, GangStart> gangs_;     // by job
  std::vector<model::EventBody> outcomes_;
  size_t evictions_in_flight_ = 0;
  size_t conditions_in_flight_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace mainspring::kube
