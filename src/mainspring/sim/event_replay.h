// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "mainspring/base/result.h"
#include "mainspring/sim/checker.h"
#include "mainspring/sim/simulator.h"

// Repeats a recorded run: the same snapshot and events, at the same times, to a state and an engine
// that are new.

namespace mainspring::sim {

// Looks on while a run is repeated.
class ReplayObserver {
 public:
  virtual ~ReplayObserver() = default;
  // Directly after the state applied or refused the event; those of the snapshot come first.
  virtual void saw(const model::Event& event, const model::ClusterState& state) = 0;
  // Directly after the cycle.
  virtual void saw(const model::Plan& plan, const model::ClusterState& state,
                   base::Instant now) = 0;
  // Once, at the end, with the state as the last cycle left it.
  virtual void ended(model::ClusterState&& state, base::Instant end) = 0;
};

struct ReplayOptions {
  bool check = true;
  // Cycles after it are not repeated, nor is what was told for them; the rest of the file is read
  // all the same, so that a damaged one is refused.
  base::Instant until = base::Instant::never();
  ReplayObserver* observer = nullptr;
  std::function<void(base::Instant)> progress;  // called now and then
};

struct ReplayReport {
  int64_t snapshot_events = 0;
  int64_t events = 0;
  int64_t events_refused = 0;
  int64_t cycles = 0;
  int64_t decisions = 0;
  base::Instant end;
  // Over the decisions that were made now, and over those of the recording.
  uint64_t decisions_hash = 0;
  uint64_t recorded_hash = 0;
  uint64_t state_hash = 0;
  // "FILE:LINE" of the first cycle that decided otherwise; empty: none did.
  std::string first_difference;
  int64_t different_cycles = 0;
  Checker checker;

  [[nodiscard]] bool same() const { return different_cycles == 0; }
};

// Errors: what EventFileReader says, and a snapshot that the state refuses, with file and line.
base::Result<ReplayReport> replay_events(const std::string& path, const Decide& decide,
                                         const ReplayOptions& options = {});

}  // namespace mainspring::sim
