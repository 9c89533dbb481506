// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/result.h"
#include "mainspring/config/scenario.h"
#include "mainspring/sim/static_replay.h"

// Policies side by side on a list of the public GPU trace, over several seeds.

namespace mainspring::cli {

// Mean and population standard deviation over the seeds.
struct Spread {
  double mean = 0;
  double sd = 0;
};

struct PolicyResult {
  std::string policy;
  // Allocated part of the GPUs when so many percent of them have been asked for.
  std::map<int, Spread> allocated_by_percent;
  int64_t placed_pods = 0;  // over all seeds
  double wall_seconds = 0;  // spent in decisions, over all seeds
  int64_t invariant_violations = 0;
  std::vector<std::string> violations;  // the first few, as sentences
  std::string run_hash;                 // over all seeds in turn
};

struct StaticComparison {
  std::vector<uint64_t> seeds;
  sim::TieBreak tie_break = sim::TieBreak::kFirst;
  int64_t skipped_rows = 0;
  std::string skipped_summary;  // which and why; empty when none was
  std::map<int, Spread> bound;  // what no policy can exceed; empty where it was not asked for
  std::vector<PolicyResult> policies;
};

struct StaticRequest {
  std::string traces_folder;
  std::vector<uint64_t> seeds;
  std::vector<std::string> policies;
  sim::TieBreak tie_break = sim::TieBreak::kFirst;
  bool check = true;  // the engine runs a second time with the checker beside it
  bool bound = true;  // also say what no policy can exceed; some tenths of a second for each seed
};

// The percentages of arrival at which results are reported.
inline constexpr int kReportedPercents[] = {95, 100, 130};

// Every policy that runs on these lists, "mainspring" last.
std::vector<std::string_view> static_policies();

// Shows a progress bar on a terminal. Errors: a trace that is missing or cannot be read.
base::Result<StaticComparison> compare_static(const config::Scenario& scenario,
                                              const StaticRequest& request);

}  // namespace mainspring::cli
