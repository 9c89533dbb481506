// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/result.h"
#include "mainspring/sim/simulator.h"
#include "mainspring/sim/tenant_meter.h"

// One policy on one load with time: the engine ("mainspring"), or one of timed_policies.h.

namespace mainspring::sim {

struct PolicyRunOptions {
  bool check = false;
  int64_t sweep_every = 4096;
  // GPU time is counted up to then; never: to the end of the run.
  base::Instant window_end = base::Instant::never();
  std::vector<TenantMeter::Owner> owners;
  std::function<void(base::Instant)> progress;
};

// What became of a job; times in ms.
struct JobOutcome {
  std::string name;  // of its kind
  std::string queue;
  int64_t gpus = 0;
  bool started = false;
  bool finished = false;
  // From arrival to its end, without the time that it had to run: waiting before and between its
  // starts, restarts and work done again. Of a job that has not finished: up to its first start.
  int64_t wait_ms = 0;
  int64_t completion_ms = 0;  // from arrival to its end
  int64_t displacements = 0;
  int64_t lost_gpu_ms = 0;
};

struct PolicyRun {
  std::vector<JobOutcome> jobs;  // by arrival
  RunStatistics statistics;
  std::vector<QueueUse> uses;  // of the owners
  double used_gpu_ms = 0;      // in the window
  int64_t violation_count = 0;
  std::vector<std::string> violations;  // the first few
  uint64_t decisions_hash = 0;
};

// Every name that `run_policy` knows.
std::vector<std::string_view> timed_policies();

// Errors: an unknown policy, inputs that the state refuses. Of a baseline, the checker's rules
// about rights, promises and start timeouts do not count: they are Mainspring's own.
base::Result<PolicyRun> run_policy(const SimulationInputs& inputs, std::string_view policy,
                                   const PolicyRunOptions& options);

// Nearest rank; 0 of nothing. Sorts the values.
int64_t percentile(std::vector<int64_t>& values, int64_t percent);

}  // namespace mainspring::sim
