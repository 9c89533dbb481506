// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mainspring/model/cluster_state.h"

// Whether a job has what it must have to run at all.

namespace mainspring::model {

// How far along a pod must be to count towards its group's minimum.
enum class Counts : uint8_t {
  kListed,   // it exists
  kHolding,  // it has a place, or has already done its work
  kStarted,  // it runs, or has already done its work
};

// Whether the pod counts. One that was asked to stop does not: it still holds its place, but not
// for long.
[[nodiscard]] bool pod_counts(const Pod& pod, Counts counts);

// Whether every group on the way down has its `min_count` of children. O(pods + groups).
[[nodiscard]] bool minimum_met(const ClusterState& state, const Job& job, Counts counts);

// Whether the job is more than one pod that must run together.
[[nodiscard]] bool is_gang(const Job& job);

}  // namespace mainspring::model
