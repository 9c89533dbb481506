// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

// The budgets of the core: what each piece of work may cost, in process, on two shared cores. All
// go through the interfaces that the rest of the program uses (ClusterState, Trial, the engine).

namespace mainspring::cli {

struct Measurement {
  double value = 0;
  int64_t samples = 0;
};

struct Budget {
  std::string_view name;
  std::string_view about;  // for people
  std::string_view unit;
  double limit = 0;
  bool at_least = false;  // the measured value must not be below the limit; otherwise not above it
  std::function<Measurement()> measure;

  [[nodiscard]] bool met(double value) const { return at_least ? value >= limit : value <= limit; }
};

// In the order in which they are shown.
std::span<const Budget> budgets();

// The value below which `permille` of the samples lie (nearest rank). Sorts them.
double quantile(std::vector<double>& samples, int permille);

// --- What is measured, by source ---
Measurement measure_state_memory();
Measurement measure_state_lookup();
Measurement measure_state_update();
Measurement measure_place_8gpu_job();
Measurement measure_gang_512_preferred_rack();
Measurement measure_gangs_10x5000();
Measurement measure_never_fits_500_full();
Measurement measure_restart();
Measurement measure_reclaim_1_of_4000();
Measurement measure_reclaim_4000_gpus_for_gang();
Measurement measure_consolidate_41x10();
Measurement measure_never_fits_gang_500_full();
Measurement measure_cycle_idle_1000_queues();

}  // namespace mainspring::cli
