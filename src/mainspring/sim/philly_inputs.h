// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mainspring/base/result.h"
#include "mainspring/sim/philly_trace.h"
#include "mainspring/sim/simulator.h"

// A scenario about the Philly trace, as a simulation.

namespace mainspring::sim {

// What a tenant owns: its part of the GPU-hours of all jobs, of the GPUs there are, rounded up.
using TenantGpus = std::map<std::string, int64_t>;

struct PhillyInputs {
  SimulationInputs simulation;
  TenantGpus owned;  // empty: one queue for all
  RowTally tally;
};

// The trace is read from `traces_folder`/philly-sia/philly.csv, plain or gzip. Arrivals count from
// the first job. Errors: a trace that cannot be read.
base::Result<PhillyInputs> philly_inputs(const config::Scenario& scenario, uint64_t seed,
                                         const std::string& traces_folder);

// The same from jobs in memory. O(n log n).
PhillyInputs philly_inputs(const config::Scenario& scenario, uint64_t seed,
                           const std::vector<PhillyJob>& jobs);

// The tenant's jobs that its quota can hold, alone on ⌊quota / 8⌋ nodes like the first one of
// `inputs` and one more with the rest of its GPUs, in one queue without quota.
SimulationInputs private_cluster(const SimulationInputs& inputs, const std::string& tenant,
                                 int64_t gpus);

// GPUs that all pods of the job ask for together.
int64_t gpus_of(const model::JobSpec& job);

}  // namespace mainspring::sim
