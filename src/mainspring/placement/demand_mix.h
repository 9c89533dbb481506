// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mainspring/placement/price_table.h"

// Demand and supply, coarse enough for a small linear program and scaled to one device.

namespace mainspring::placement {

// Pods of one size. Shares are rounded up to hundredths of a device.
struct MixItem {
  double cores = 0.0;  // mean of its pods
  double weight = 0.0;
  uint32_t gpu_count = 0;
  int32_t level = 0;  // share of each device in hundredths

  [[nodiscard]] double gpus() const { return gpu_count * static_cast<double>(level) / 100.0; }
};

// Nodes of one ratio of CPU to devices.
struct MixKind {
  double gpus = 0.0;   // their part of all devices
  double cores = 0.0;  // per device of the cluster
  uint32_t gpus_of_node_max = 0;
  double cores_of_node_max = 0.0;
};

// Sizes that are close are merged, the more the more there are, so that at most kMixItemsMax are
// left. Weights are scaled so that the GPU demand sums to one. Sorted; empty when no GPU is asked
// for.
inline constexpr size_t kMixItemsMax = 80;
std::vector<MixItem> mix_of(std::span<const DemandEntry> demand);

// Nodes without devices do not count. Parts are rounded to 1/1024, so that one node more or less in
// a large cluster changes nothing.
std::vector<MixKind> kinds_of(std::span<const SupplyEntry> supply);

}  // namespace mainspring::placement
