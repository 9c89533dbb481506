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

int64_t cost_of(const Node& node, const Shape& shape, int64_t milli_taken) {
  constexpr int kCpuBits = 40;
  constexpr int64_t kCpuMax = (int64_t{1} << kCpuBits) - 1;
  const int64_t cpu_left =
      node.free.resources[Resource::kCpuMilli] - shape.request[Resource::kCpuMilli];
  return ((node.free.gpu_milli - milli_taken) << kCpuBits) + std::min(cpu_left, kCpuMax);
}

}  // namespace

Spot BestFitScorer::best_spot(const model::Inventory& inventory, uint32_t node_slot,
                              const Shape& shape) const {
  const Node& node = inventory.nodes()[node_slot];
  if (!shape.request.within(node.free.resources)) return {};
  if (shape.gpu_count == 0) return {.cost = cost_of(node, shape, 0)};
  const model::DeviceMask devices = tightest_devices(node, shape);
  if (devices == 0) return {};
  int64_t milli = 0;
  for (model::DeviceMask rest = devices; rest != 0; rest &= rest - 1) {
    milli += model::gpu_take(shape, node.gpus[static_cast<size_t>(__builtin_ctzll(rest))]).milli;
  }
  return {.cost = cost_of(node, shape, milli), .devices = devices};
}

// What a share by memory takes depends on the device; for all others it is enough to count.
void BestFitScorer::costs(const model::Inventory& inventory, std::span<const uint32_t> node_slots,
                          const Shape& shape, std::span<int64_t> out) const {
  const int64_t milli = int64_t{shape.gpu_count} * shape.gpu_milli;
  for (size_t i = 0; i < node_slots.size(); ++i) {
    out[i] = Spot::kNoFit;
    if (shape.gpu_count > 0 && shape.gpu_memory_bytes > 0) {
      out[i] = best_spot(inventory, node_slots[i], shape).cost;
      continue;
    }
    const Node& node = inventory.nodes()[node_slots[i]];
    if (!shape.request.within(node.free.resources) || node.free.gpu_milli < milli) continue;
    uint32_t fitting = 0;
    for (size_t gpu = 0; gpu < node.gpus.size() && fitting < shape.gpu_count; ++gpu) {
      fitting += model::device_fits(shape, node.gpus[gpu]) ? 1 : 0;
    }
    if (fitting == shape.gpu_count) out[i] = cost_of(node, shape, milli);
  }
}

}  // namespace mainspring::placement
