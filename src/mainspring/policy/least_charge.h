// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "mainspring/model/cluster_state.h"

// What a job takes at least of a queue when it starts or is repaired.

namespace mainspring::policy {

// By dimension: GPUs of any model, CPU, memory. A lower bound, component by component: shares of
// devices by memory count nothing, and of optional pods the cheapest are reckoned. Pods that hold a
// place, or are done, need nothing. O(pods × log pods + groups).
using LeastCharge = std::array<int64_t, model::kModelDimension>;
LeastCharge least_charge(const model::ClusterState& state, const model::Job& job);

// Whether any pod of the job asks for it; for a model, whether any asks for GPUs. O(pods).
using Asks = std::array<bool, model::kModelDimension>;
Asks asks_of(const model::ClusterState& state, const model::Job& job);
inline bool asks(const Asks& asked, size_t dimension) {
  return asked[dimension < asked.size() ? dimension : model::kGpuDimension];
}

}  // namespace mainspring::policy
