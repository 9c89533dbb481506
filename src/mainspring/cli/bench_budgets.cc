// SPDX-License-Identifier: Apache-2.0
#include "mainspring/cli/bench_budgets.h"

namespace mainspring::cli {

std::span<const Budget> budgets() {
  static const std::vector<Budget> kBudgets = {
      {.name = "state_memory_12500x8",
       .about = "memory of the state: 12,500 nodes × 8 GPUs, 20,000 pods",
       .unit = "MB",
       .limit = 100,
       .measure = measure_state_memory},
      {.name = "state_lookup",
       .about = "a device by the name of its node, random order, 4,096 GPUs",
       .unit = "ns",
       .limit = 50,
       .measure = measure_state_lookup},
      {.name = "state_update",
       .about = "one holding through a Trial, with sums and journal, 4,096 GPUs",
       .unit = "ns",
       .limit = 250,
       .measure = measure_state_update},
  };
  return kBudgets;
}

}  // namespace mainspring::cli
