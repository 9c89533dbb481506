// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/config/scenario.h"

// The part of the GPU time up to `until` that no schedule can exceed, given when jobs arrive.
//
// Two constraints are kept, all others dropped. A job cannot run before it arrives nor wider than
// it is, so that it uses at most width × min(run time, until − arrival) of the time up to `until`.
// And the cluster gives at most its capacity: while jobs could be cut into arbitrarily small pieces
// and spread over all GPUs, a schedule that never idles while there is work serves most by any
// time. So the bound is what that fluid has served. It may not be reached: gangs, fragments and
// the widths of jobs only lower what is possible. O(jobs).

namespace mainspring::sim {

// `jobs` by arrival; those without a run time count as if they ran to the end.
double area_bound(const std::vector<config::ScenarioJob>& jobs, int64_t capacity_gpus,
                  base::Instant until);

}  // namespace mainspring::sim
