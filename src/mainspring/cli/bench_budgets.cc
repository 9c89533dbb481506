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
      {.name = "place_8gpu_job_p99",
       .about = "one 8-GPU job into that cluster, event to decision, 99th percentile",
       .unit = "ms",
       .limit = 1,
       .measure = measure_place_8gpu_job},
      {.name = "gang_512_preferred_rack",
       .about = "gang of 512 pods that prefers a rack, 512 nodes, median",
       .unit = "ms",
       .limit = 5,
       .measure = measure_gang_512_preferred_rack},
      {.name = "gangs_10x5000_rate",
       .about = "10 gangs of 5,000 one-CPU pods on 5,000 nodes",
       .unit = "pods/s",
       .limit = 100'000,
       .at_least = true,
       .measure = measure_gangs_10x5000},
      {.name = "never_fits_500_full",
       .about = "a job that can never fit is told so, with its reason: 500 full nodes, median",
       .unit = "ms",
       .limit = 10,
       .measure = measure_never_fits_500_full},
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
      {.name = "restart_5000_nodes_140000_pods",
       .about = "a new process reads another's snapshot and events, to its first decision",
       .unit = "s",
       .limit = 10,
       .measure = measure_restart},
  };
  return kBudgets;
}

}  // namespace mainspring::cli
