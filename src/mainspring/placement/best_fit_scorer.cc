// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/best_fit_scorer.h"

#include <algorithm>
#include <array>

namespace mainspring::placement {

using model::Gpu;
using model::Node;
using model::Resource;
using model::Shape;

namespace {

// Fullest first, so that whole devices stay whole; then the smaller device; then its number.
model::DeviceMask tightest_devices(const Node& node, const Shape& shape) {
  struct Device {
    int32_t free_milli = 0;
    int64_t memory_bytes = 0;
    size_t number = 0;
    auto operator<=>(const Device&) const = default;
  };
  std::array<Device, model::kGpusPerNodeMax> fitting;
  size_t count = 0;
  for (size_t i = 0; i < node.gpus.size(); ++i) {
    const Gpu& gpu = node.gpus[i];
    if (model::device_fits(shape, gpu)) fitting[count++] = {gpu.free_milli(), gpu.memory_bytes, i};
  }
  if (count < shape.gpu_count) return 0;
  const auto wanted = static_cast<std::ptrdiff_t>(shape.gpu_count);
  std::partial_sort(fitting.begin(), fitting.begin() + wanted,
                    fitting.begin() + static_cast<std::ptrdiff_t>(count));
  model::DeviceMask devices = 0;
  for (std::ptrdiff_t i = 0; i < wanted; ++i) {
    devices |= model::DeviceMask{1} << fitting[static_cast<size_t>(i)].number;
  }
  return devices;
}

}  // namespace

Spot BestFitScorer::best_spot(const model::Inventory& inventory, uint32_t node_slot,
                              const Shape& shape) const {
  const Node& node = inventory.nodes()[node_slot];
  if (!shape.request.within(node.free.resources)) return {};
  Spot spot;
  if (shape.gpu_count > 0) {
    spot.devices = tightest_devices(node, shape);
    if (spot.devices == 0) return {};
  }
  constexpr int kCpuBits = 40;
  constexpr int64_t kCpuMax = (int64_t{1} << kCpuBits) - 1;
  int64_t gpu_left = node.free.gpu_milli;
  for (model::DeviceMask rest = spot.devices; rest != 0; rest &= rest - 1) {
    gpu_left -= model::gpu_take(shape, node.gpus[static_cast<size_t>(__builtin_ctzll(rest))]).milli;
  }
  const int64_t cpu_left =
      node.free.resources[Resource::kCpuMilli] - shape.request[Resource::kCpuMilli];
  spot.cost = (gpu_left << kCpuBits) + std::min(cpu_left, kCpuMax);
  return spot;
}

void BestFitScorer::costs(const model::Inventory& inventory, std::span<const uint32_t> node_slots,
                          const Shape& shape, std::span<int64_t> out) const {
  for (size_t i = 0; i < node_slots.size(); ++i) {
    out[i] = best_spot(inventory, node_slots[i], shape).cost;
  }
}

}  // namespace mainspring::placement
