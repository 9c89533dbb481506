// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mainspring/sim/static_world.h"

namespace mainspring::sim {

// The scores of the simple baselines, 0 to 100, as the artifact of Weng et al. (USENIX ATC 2023)
// defines them: whole numbers, truncated, so that ties are frequent and the tie-break matters. All
// take a node that fits the shape and a pod that asks for it. Constant time.

// One minus the mean of the products of free and requested amounts, each in parts of 128 CPUs and
// 8 GPUs (the alignment rule of Tetris, SIGCOMM 2014, turned round).
[[nodiscard]] int32_t dot_product_score(const StaticNode& node, const StaticShape& shape);

// The less CPU and GPU is left, the better; both in parts of 128 CPUs and 8 GPUs, half each.
[[nodiscard]] int32_t best_fit_score(const StaticNode& node, const StaticShape& shape);

// Shared GPUs first, then free GPUs of a used node, then a free node. 0 without a GPU request.
[[nodiscard]] int32_t gpu_packing_score(const StaticNode& node, const StaticShape& shape);

// Nodes that serve only this size of request first, then those that serve it among others, then
// idle ones, then the rest; the fuller the better within each. 0 without a GPU request.
[[nodiscard]] int32_t gpu_clustering_score(const StaticNode& node, const StaticShape& shape);

}  // namespace mainspring::sim
