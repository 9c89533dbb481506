// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "mainspring/base/result.h"
#include "mainspring/config/scenario.h"
#include "mainspring/engine/cycle.h"
#include "mainspring/sim/row_tally.h"
#include "mainspring/sim/simulator.h"

// A scenario from its description to what came of it.

namespace mainspring::sim {

// What a scenario stated, and whether it was so.
struct Finding {
  std::string statement;  // "gang starts_by 15s"
  int line = 0;           // in the scenario file
  bool ok = false;
  std::string found;  // what was the case instead, or also
};

struct ScenarioReport {
  uint64_t seed = 0;
  RunStatistics statistics;
  std::vector<JobRecord> jobs;
  RowTally skipped_rows;
  uint64_t run_hash = 0;
  uint64_t decisions_hash = 0;
  int64_t violation_count = 0;
  std::vector<Violation> violations;  // the first hundred
  std::vector<Finding> findings;

  [[nodiscard]] bool all_ok() const;
};

struct ScenarioRunOptions {
  bool check_invariants = true;
  bool check_expectations = true;
  std::string record_path;  // empty: no recording
  // Now and then: the virtual time that was reached.
  std::function<void(base::Instant)> progress;
  engine::EngineOptions engine;
};

// The jobs that arrive and all else that a run of this seed needs. Rows of the scenario's CSV that
// cannot be used are added to `skipped`. Errors: a CSV that cannot be read. Not for public lists.
base::Result<SimulationInputs> simulation_inputs(const config::Scenario& scenario, uint64_t seed,
                                                 RowTally& skipped);

// One run. Errors: an input or the recording that cannot be read or written.
base::Result<ScenarioReport> run_scenario(const config::Scenario& scenario, uint64_t seed,
                                          const ScenarioRunOptions& options = {});

}  // namespace mainspring::sim
