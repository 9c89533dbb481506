// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "mainspring/base/result.h"
#include "mainspring/config/scenario.h"
#include "mainspring/engine/cycle.h"
#include "mainspring/sim/simulator.h"

namespace mainspring::cli {

// A scenario with the engine that decides in it.
class TimedRun {
 public:
  static base::Result<TimedRun> create(const config::Scenario& scenario, uint64_t seed,
                                       sim::SimulationOptions options);

  [[nodiscard]] sim::Simulator& simulator() { return *simulator_; }
  [[nodiscard]] engine::Engine& engine() { return *engine_; }

 private:
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<sim::Simulator> simulator_;
};

}  // namespace mainspring::cli
