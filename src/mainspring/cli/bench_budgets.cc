// SPDX-License-Identifier: Apache-2.0
#include "mainspring/cli/bench_budgets.h"

namespace mainspring::cli {

namespace {

std::vector<Budget> of_placement() {
  return {
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
}

std::vector<Budget> of_displacement() {
  return {
      {.name = "reclaim_1_of_4000",
       .about = "an owner takes one GPU back from another queue's 4,000 jobs, median",
       .unit = "ms",
       .limit = 10,
       .measure = measure_reclaim_1_of_4000},
      {.name = "reclaim_4000_gpus_for_gang",
       .about = "a gang of 500 × 8 GPUs takes back what 4,000 jobs hold, median",
       .unit = "ms",
       .limit = 100,
       .measure = measure_reclaim_4000_gpus_for_gang},
      {.name = "consolidate_41x10",
       .about = "41 gangs of 10 whole nodes get their holes, 500 nodes, one cycle, median",
       .unit = "ms",
       .limit = 1000,
       .measure = measure_consolidate_41x10},
      {.name = "never_fits_gang_500_full",
       .about = "a gang of 10 pods is told why not: two queues, 500 full nodes, median",
       .unit = "ms",
       .limit = 10,
       .measure = measure_never_fits_gang_500_full},
      {.name = "cycle_idle_1000_queues",
       .about = "a cycle in which nothing changed, 1,000 queues with a waiting job each, median",
       .unit = "ms",
       .limit = 1,
       .measure = measure_cycle_idle_1000_queues},
  };
}

}  // namespace

std::span<const Budget> budgets() {
  static const std::vector<Budget> kBudgets = [] {
    std::vector<Budget> all = of_placement();
    const std::vector<Budget> more = of_displacement();
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return kBudgets;
}

}  // namespace mainspring::cli
