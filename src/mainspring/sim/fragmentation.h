// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "mainspring/sim/static_world.h"
#include "mainspring/sim/typical_pods.h"

namespace mainspring::sim {

// Fragmentation gradient descent (FGD) of Weng et al., USENIX ATC 2023: place the pod where the
// expected amount of GPU that typical pods cannot use grows least.

// Expected fragment of one node, in milli-GPU: over the typical pods, weight times the free GPU
// that such a pod could not use here. All of it for a pod without GPU and for one that does not fit
// by CPU, devices or model; otherwise what is free on devices with less than its share. Cost:
// typical pods, and their different shares times devices. Only CPU, devices and model of the node
// matter.
[[nodiscard]] double fragment_milli(const StaticNode& node, const TypicalPods& typical);

struct FragmentScore {
  int32_t score = 0;    // 0 to 99: integer part of 100 × sigmoid(drop of the fragment in GPUs)
  uint8_t devices = 0;  // share: the device of the best score, the first of equals
};

// The score of placing the pod on this node, which fits it, by computing everything anew: 1 +
// devices times the cost of a fragment. This is the definition; faster code must agree with it.
[[nodiscard]] FragmentScore fragment_score(const StaticNode& node, const StaticShape& shape,
                                           const TypicalPods& typical);

// The score of placing the pod on these devices of the node.
[[nodiscard]] int32_t fragment_score_on(const StaticNode& node, const StaticShape& shape,
                                        uint8_t devices, const TypicalPods& typical);

// The integer score of a drop of the fragment by `drop_milli`.
[[nodiscard]] int32_t score_of_drop(double drop_milli);

}  // namespace mainspring::sim
