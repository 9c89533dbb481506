// SPDX-License-Identifier: Apache-2.0
#include "mainspring/cli/timed_run.h"

#include <utility>

#include "mainspring/sim/scenario_run.h"

namespace mainspring::cli {

base::Result<TimedRun> TimedRun::create(const config::Scenario& scenario, uint64_t seed,
                                        sim::SimulationOptions options) {
  TimedRun run;
  run.engine_ = std::make_unique<engine::Engine>();
  sim::RowTally skipped;
  auto inputs = sim::simulation_inputs(scenario, seed, skipped);
  if (!inputs) return tl::unexpected(inputs.error());
  engine::Engine* engine = run.engine_.get();
  auto simulator = sim::Simulator::create(
      std::move(*inputs),
      [engine](model::ClusterState& state, base::Instant now) {
        return engine->run_cycle(state, now);
      },
      std::move(options));
  if (!simulator) return tl::unexpected(simulator.error());
  run.simulator_ = std::move(*simulator);
  return run;
}

}  // namespace mainspring::cli
