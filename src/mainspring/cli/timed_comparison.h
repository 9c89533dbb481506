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
#include "mainspring/sim/policy_run.h"

// Policies side by side on one load with time.

namespace mainspring::cli {

// In seconds.
struct Percentiles {
  int64_t count = 0;
  double mean = 0;
  double p50 = 0;
  double p90 = 0;
  double p95 = 0;
  double p99 = 0;
};

struct TenantResult {
  std::string tenant;
  int64_t jobs = 0;
  Percentiles wait;         // of jobs that its quota can hold
  Percentiles alone;        // of the same jobs on a private cluster
  int64_t larger_jobs = 0;  // than its quota
  Percentiles larger_wait;
  double owned_gpu_hours = 0;
  double used_gpu_hours = 0;
  double lent_gpu_hours = 0;
  double borrowed_gpu_hours = 0;
  double displaced_gpu_hours = 0;
};

struct KindResult {
  std::string name;
  int64_t jobs = 0;
  int64_t finished = 0;
  int64_t displacements = 0;
  Percentiles completion;  // of those that finished
  Percentiles wait;
};

struct TimedPolicyResult {
  std::string policy;
  int64_t jobs = 0;
  int64_t finished = 0;
  int64_t never_fit = 0;
  double utilisation = 0;
  Percentiles wait;
  std::vector<std::pair<std::string, Percentiles>> wait_by_size;
  std::vector<KindResult> kinds;      // where the scenario names kinds of jobs
  std::vector<TenantResult> tenants;  // where there are tenants
  int64_t displacements = 0;
  double displaced_ratio = 0;  // of the GPU-hours used
  double wall_seconds = 0;
  std::optional<int64_t> violations;  // nothing: not checked
  std::vector<std::string> sentences;
  std::string run_hash;
};

struct TimedComparison {
  std::string skipped_summary;
  int64_t skipped_rows = 0;
  std::optional<double> area_bound;
  std::vector<TimedPolicyResult> results;
};

struct TimedRequest {
  std::string traces_folder;
  uint64_t seed = 42;
  std::vector<std::string> policies;
  bool check = true;  // a second run of each policy, with the checker beside it
};

// Shows a progress bar on a terminal. Errors: a trace that is missing or cannot be read.
base::Result<TimedComparison> compare_timed(const config::Scenario& scenario,
                                            const TimedRequest& request);

}  // namespace mainspring::cli
