// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "mainspring/sim/openb_trace.h"
#include "mainspring/sim/static_world.h"

namespace mainspring::sim {

// One kind of pod of the workload that fragmentation gradient descent expects, and its part of it.
struct TypicalPod {
  StaticShape shape;  // memory is not part of the kind and is zero
  double weight = 0;
  size_t share = 0;  // position of shape.gpu_milli in TypicalPods::shares
};

struct TypicalPods {
  static constexpr size_t kLanes = 8;  // shares are looked at in groups of so many
  static constexpr size_t kSharesMax = (kMilliPerGpu + kLanes) / kLanes * kLanes;

  std::vector<TypicalPod> pods;  // most frequent first
  // The different gpu_milli of the pods, filled up to whole groups with what no device has.
  std::vector<int16_t> shares;
};

// The most frequent kinds of a list (by CPU, share, GPU count, models), most frequent first, until
// 95 % of the pods are covered; equal counts in descending order of CPU, share, count, models. The
// weights sum to about one. (Weng et al., USENIX ATC 2023, section 4.2 and artifact.)
[[nodiscard]] TypicalPods typical_pods(const std::vector<OpenbPod>& pods, const StaticWorld& world);

}  // namespace mainspring::sim
