// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "mainspring/base/result.h"
#include "mainspring/engine/cycle.h"
#include "mainspring/sim/static_replay.h"

namespace mainspring::sim {

// The engine itself on one arrival order of the openb lists: what the policy `mainspring` is.
//
// Every pod is a job of one pod that arrives as an event, and after each arrival there is one
// cycle: the same state, Trials, assertions and `run_cycle` as on a cluster. It knows nothing of
// the list but what has arrived. A pod that does not fit goes on waiting; since nothing ever ends,
// in vain. Decisions only: no clock, so the caller measures the time.

struct EngineReplayOptions {
  EngineReplayOptions() { engine.explain = false; }

  engine::EngineOptions engine;
  // The invariant checker runs along.
  bool check = false;
  // Now and then: how many pods have arrived.
  std::function<void(int64_t)> progress;
};

struct EngineReplayResult {
  // `run_hash` as of the baselines.
  OpenbResult result;
  int64_t violation_count = 0;
  std::vector<std::string> violations;  // the first hundred, as sentences
};

// `inputs.expected_mix` is not looked at. Errors: a node that the state refuses.
base::Result<EngineReplayResult> replay_openb(const OpenbInputs& inputs,
                                              const EngineReplayOptions& options = {});

}  // namespace mainspring::sim
