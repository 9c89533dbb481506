// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "mainspring/model/cluster_state.h"

// What the baseline policies count: whole GPUs of a job, thousandths of a GPU of a queue.

namespace mainspring::sim {

// Of its pods that wait, or of those that hold a place.
[[nodiscard]] int64_t gpus_wanted(const model::ClusterState& state, const model::Job& job);
[[nodiscard]] int64_t gpus_held(const model::ClusterState& state, const model::Job& job);

// model::kUnlimited where the queue was not declared.
[[nodiscard]] int64_t quota_milli(const model::ClusterState& state, model::QueueIx queue);
[[nodiscard]] int64_t held_milli(const model::ClusterState& state, model::QueueIx queue);
// By how much the queue is beyond its quota; negative: below.
[[nodiscard]] int64_t excess_milli(const model::ClusterState& state, model::QueueIx queue);
// Whether the job's queue may have so many GPUs more.
[[nodiscard]] bool within_quota(const model::ClusterState& state, const model::Job& job,
                                int64_t gpus);

}  // namespace mainspring::sim
