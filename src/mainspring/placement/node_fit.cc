// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/node_fit.h"

#include <algorithm>
#include <array>

namespace mainspring::placement {

using model::Gpu;
using model::GpuTake;
using model::Resources;
using model::Shape;

bool eligible(const model::Inventory& inventory, const Shape& shape, const model::Node& node) {
  return node.usable() && (node.taints.empty() || model::taints_tolerated(shape, node)) &&
         (!shape.asks_labels() || model::labels_match(shape, node, inventory.names()));
}

int64_t device_units(const Shape& shape, const Gpu& gpu) {
  if (!model::device_fits(shape, gpu)) return 0;
  if (shape.whole) return 1;
  const GpuTake take = model::gpu_take(shape, gpu);
  int64_t units = model::kWholeGpuMilli;
  if (take.milli > 0) units = gpu.free_milli() / take.milli;
  if (take.memory_bytes > 0) {
    const int64_t by_memory = gpu.free_memory_bytes() / take.memory_bytes;
    units = take.milli > 0 ? std::min(units, by_memory) : by_memory;
  }
  return units;
}

namespace {

int64_t fit_by_devices(const Shape& shape, std::span<const Gpu> gpus, int64_t limit) {
  std::array<int64_t, model::kGpusPerNodeMax> units;
  int64_t sum = 0;
  size_t devices = 0;
  for (const Gpu& gpu : gpus) {
    const int64_t most = std::min(limit, device_units(shape, gpu));
    if (most > 0) units[devices++] = most;
    sum += most;
  }
  const auto per_pod = static_cast<int64_t>(shape.gpu_count);
  int64_t most = std::min(limit, sum / per_pod);
  if (per_pod == 1 || shape.whole) return most;
  const auto possible = [&](int64_t pods) {
    int64_t places = 0;
    for (size_t i = 0; i < devices; ++i) places += std::min(units[i], pods);
    return places >= pods * per_pod;
  };
  int64_t least = 0;
  while (least < most) {
    const int64_t middle = (least + most + 1) / 2;
    if (possible(middle)) {
      least = middle;
    } else {
      most = middle - 1;
    }
  }
  return least;
}

}  // namespace

int64_t fit_count(const Shape& shape, const Resources& free, std::span<const Gpu> gpus,
                  int64_t limit) {
  if (limit <= 0 || !shape.request.within(free)) return 0;
  int64_t most = limit;
  for (size_t i = 0; i < model::kResourceCount && most > 1; ++i) {
    const int64_t each = shape.request.amounts[i];
    if (each > 0) most = std::min(most, free.amounts[i] / each);
  }
  return shape.gpu_count == 0 ? most : fit_by_devices(shape, gpus, most);
}

int64_t fit_count(const Shape& shape, const model::Node& node, int64_t limit) {
  const int64_t most = fit_count(shape, node.free.resources, node.gpus, limit);
  if (most == 0 || (shape.others.empty() && shape.attachments.empty())) return most;
  return model::volumes_fit(shape, node) ? model::others_fit(shape, node.others, most) : 0;
}

}  // namespace mainspring::placement
