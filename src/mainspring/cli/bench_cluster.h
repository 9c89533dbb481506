// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "mainspring/cli/bench_world.h"
#include "mainspring/engine/cycle.h"

namespace mainspring::cli {

// A cluster with its engine, in which time stands still; what is submitted is timed from the event
// to the plan.
class BenchCluster {
 public:
  BenchCluster(const TreeShape& tree, const NodeForm& form);

  double submit_ms(model::JobSpec job, model::Plan& plan);
  void submit(const model::JobSpec& job, size_t pods_expected);
  // Everything that a plan bound comes up.
  void start(const model::Plan& plan);
  // The job's pods end and it is deleted.
  void remove(const model::JobSpec& job);
  model::Plan cycle() { return engine_.run_cycle(state_, {}); }

  model::ClusterState& state() { return state_; }
  engine::Engine& engine() { return engine_; }

 private:
  model::ClusterState state_;
  engine::Engine engine_;
};

size_t pods_bound(const model::Plan& plan);
// Whether the job is told a verdict of this kind.
bool explains(const model::Plan& plan, const std::string& job, model::VerdictKind kind);

}  // namespace mainspring::cli
