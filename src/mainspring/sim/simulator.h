// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mainspring/base/hash.h"
#include "mainspring/config/event_file.h"
#include "mainspring/config/scenario.h"
#include "mainspring/model/cluster_state.h"
#include "mainspring/model/plan.h"
#include "mainspring/sim/agenda.h"
#include "mainspring/sim/checker.h"
#include "mainspring/sim/delivery.h"
#include "mainspring/sim/fault_injector.h"
#include "mainspring/sim/pod_lives.h"
#include "mainspring/sim/run_statistics.h"
#include "mainspring/sim/true_world.h"

// A cluster in virtual time around the real engine.
//
// What happens in the true world reaches ClusterState as events, on its way late, twice or out of
// order where the inputs say so; after the events of one instant there is one cycle, and its plan
// is executed in the true world. Deterministic by seed: the same inputs give the same hash in every
// build. O(log n) per event besides the engine.

namespace mainspring::sim {

// Decides; `engine::Engine::run_cycle` in earnest, something deliberately broken in tests.
using Decide = std::function<model::Plan(model::ClusterState&, base::Instant)>;

struct SimulationInputs {
  model::CoreConfig config;
  std::vector<model::NodeSpec> nodes;
  std::vector<model::QueueSpec> queues;
  std::vector<config::TimedQueueChange> queue_changes;
  std::vector<config::ScenarioJob> jobs;  // by `spec.submitted_at`
  std::vector<config::TimedFault> faults;
  config::FaultChances chances;
  config::PodTimes pod_times;
  base::Duration length = base::seconds(24 * 3600);
  uint64_t seed = 42;
};

struct SimulationOptions {
  bool check = true;
  int64_t sweep_every = 256;                    // see Checker
  config::EventFileWriter* record = nullptr;    // gets the snapshot, the events and the cycles
  std::function<void(base::Instant)> progress;  // called now and then
};

class Simulator {
 public:
  // The nodes must pass `validate` and be accepted by the state; what is not is an error.
  static base::Result<std::unique_ptr<Simulator>> create(SimulationInputs inputs, Decide decide,
                                                         SimulationOptions options = {});

  // Until the end of the run: the length is over, or every job has come to its end.
  void run();
  // Everything up to and including that instant; the run may end before.
  void run_until(base::Instant at);
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] base::Instant now() const { return agenda_.now(); }

  // --- Results ---
  [[nodiscard]] const model::ClusterState& state() const { return state_; }
  // For questions to the engine about the present; nothing may be changed.
  [[nodiscard]] model::ClusterState& mutable_state() { return state_; }
  [[nodiscard]] const TrueWorld& world() const { return world_; }
  [[nodiscard]] const Checker& checker() const { return checker_; }
  [[nodiscard]] const std::vector<JobRecord>& jobs() const { return lives_.records(); }
  // By the number of the job in `jobs()`.
  [[nodiscard]] int64_t running_pods(uint32_t job) const { return lives_.running_pods(job); }
  // The last answer that the engine gave to a job that waits; nullptr for one that does not.
  [[nodiscard]] const model::Verdict* last_verdict(const std::string& job) const;
  [[nodiscard]] RunStatistics statistics() const;
  // Over events, their outcome, decisions, times, and the final state.
  [[nodiscard]] uint64_t run_hash() const;
  // Over decisions and their times alone; a replay gives the same.
  [[nodiscard]] uint64_t decisions_hash() const { return decisions_.value(); }

 private:
  Simulator(SimulationInputs inputs, Decide decide, SimulationOptions options);
  base::Status begin();
  bool step(base::Instant until);
  void deliver(const model::Event& event);
  void decide();
  void put_next_arrival();
  void plan_queue_changes();
  [[nodiscard]] bool nothing_left() const;

  SimulationInputs inputs_;
  Decide decide_;
  SimulationOptions options_;
  Agenda agenda_;
  TrueWorld world_;
  Delivery delivery_;
  PodLives lives_;
  FaultInjector faults_;
  model::ClusterState state_;
  Checker checker_;
  std::map<std::string, model::Verdict> verdicts_;
  base::RunHash run_;
  base::RunHash decisions_;
  RunCounters counters_;
  base::Instant wake_ = base::Instant::never();
  size_t arrived_ = 0;
  bool over_ = false;
};

}  // namespace mainspring::sim
