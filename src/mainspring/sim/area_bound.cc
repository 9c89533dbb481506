// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/area_bound.h"

#include <algorithm>

#include "mainspring/sim/philly_inputs.h"

namespace mainspring::sim {

__extension__ using Wide = __int128;

double area_bound(const std::vector<config::ScenarioJob>& jobs, int64_t capacity_gpus,
                  base::Instant until) {
  if (capacity_gpus == 0 || until.ms <= 0) return 0;
  Wide backlog = 0;  // GPU × ms
  Wide served = 0;
  base::Instant at;
  const auto pass = [&](base::Instant to) {
    const Wide most = static_cast<Wide>((to - at).ms) * capacity_gpus;
    const Wide now = std::min(backlog, most);
    served += now;
    backlog -= now;
    at = to;
  };
  for (const config::ScenarioJob& job : jobs) {
    const base::Instant arrived = job.spec.submitted_at;
    if (arrived >= until) break;
    pass(std::max(at, arrived));
    const int64_t left_ms = (until - arrived).ms;
    const int64_t run_ms = job.run ? std::min(job.run->ms, left_ms) : left_ms;
    backlog += static_cast<Wide>(run_ms) * gpus_of(job.spec);
  }
  pass(until);
  return static_cast<double>(served) /
         static_cast<double>(static_cast<Wide>(until.ms) * capacity_gpus);
}

}  // namespace mainspring::sim
