// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "mainspring/base/json.h"
#include "mainspring/cli/static_comparison.h"
#include "mainspring/cli/timed_comparison.h"
#include "mainspring/config/scenario.h"
#include "mainspring/sim/event_replay.h"
#include "mainspring/sim/scenario_run.h"

// What `simulate` prints: tables for people, or the schema mainspring.simulate/1.

namespace mainspring::cli {

// The one envelope of all of them: a list of results, one for each policy.
void print_results_json(base::Json results);

void print_static_report(const config::Scenario& scenario, const StaticComparison& comparison,
                         bool json);

void print_timed_comparison(const config::Scenario& scenario, const TimedComparison& comparison,
                            bool json);

// The runs of a scenario with time, one for each seed.
struct TimedReport {
  std::vector<sim::ScenarioReport> runs;
  double wall_seconds = 0;
  bool checked = false;  // the expectations were looked at
};

void print_timed_report(const config::Scenario& scenario, const TimedReport& report, bool json);

void print_replay_report(const std::string& path, const sim::ReplayReport& report,
                         double wall_seconds, bool json);

}  // namespace mainspring::cli
