// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/static_world.h"

#include <algorithm>

#include <fmt/format.h>

#include "mainspring/base/check.h"

namespace mainspring::sim {
namespace {

constexpr size_t kModelsMax = 64;

// Calls `visit` with each of the names joined by '|'.
template <class Visit>
void for_each_model(std::string_view spec, Visit visit) {
  while (!spec.empty()) {
    const size_t bar = std::min(spec.find('|'), spec.size());
    visit(spec.substr(0, bar));
    spec.remove_prefix(std::min(bar + 1, spec.size()));
  }
}

}  // namespace

base::Result<StaticWorld> StaticWorld::make(const std::vector<OpenbNode>& nodes,
                                            const std::vector<uint32_t>& visiting_order) {
  StaticWorld world;
  for (const OpenbNode& node : nodes) world.models_.push_back(node.gpu_model);
  std::sort(world.models_.begin(), world.models_.end());
  world.models_.erase(std::unique(world.models_.begin(), world.models_.end()), world.models_.end());
  if (world.models_.size() > kModelsMax) {
    return base::invalid(
        fmt::format("the baselines take at most {} GPU models, the node list has {}", kModelsMax,
                    world.models_.size()));
  }
  world.nodes_.reserve(visiting_order.size());
  for (const uint32_t position : visiting_order) {
    MAINSPRING_CHECK(position < nodes.size(), "the order names nodes of the list");
    const OpenbNode& from = nodes[position];
    if (from.gpu_count > static_cast<int64_t>(kStaticDevicesMax)) {
      return base::invalid(fmt::format("the baselines take at most {} GPUs a node, {} has {}",
                                       kStaticDevicesMax, from.name, from.gpu_count));
    }
    const auto model = std::lower_bound(world.models_.begin(), world.models_.end(), from.gpu_model);
    StaticNode node;
    node.cpu_free_milli = from.cpu_milli;
    node.cpu_capacity_milli = from.cpu_milli;
    node.memory_free_mib = from.memory_mib;
    node.model = static_cast<uint8_t>(model - world.models_.begin());
    node.gpu_count = static_cast<uint8_t>(from.gpu_count);
    std::fill_n(node.gpu_free_milli.begin(), node.gpu_count, int16_t{kMilliPerGpu});
    world.nodes_.push_back(node);
    world.capacity_milli_ += from.gpu_count * kMilliPerGpu;
  }
  if (world.capacity_milli_ == 0) return base::invalid("the node list has no GPU");
  return world;
}

StaticShape StaticWorld::shape_of(const OpenbPod& pod) const {
  StaticShape shape{.cpu_milli = pod.cpu_milli,
                    .memory_mib = pod.memory_mib,
                    .gpu_count = static_cast<int32_t>(pod.gpu_count),
                    .gpu_milli = static_cast<int32_t>(pod.gpu_milli)};
  if (pod.gpu_spec.empty()) {
    shape.model_mask = ~uint64_t{0};
    return shape;
  }
  for_each_model(pod.gpu_spec, [&](std::string_view name) {
    const auto model = std::lower_bound(models_.begin(), models_.end(), name);
    if (model == models_.end() || *model != name) return;
    shape.model_mask |= uint64_t{1} << (model - models_.begin());
  });
  return shape;
}

void StaticWorld::place(const StaticShape& shape, const StaticPlacement& placement) {
  MAINSPRING_CHECK(placement.node >= 0 && placement.node < static_cast<int32_t>(nodes_.size()),
                   "a placement names a node");
  StaticNode& node = nodes_[static_cast<size_t>(placement.node)];
  MAINSPRING_CHECK(node.fits(shape), "a pod is placed only where it fits");
  node.cpu_free_milli -= shape.cpu_milli;
  node.memory_free_mib -= shape.memory_mib;
  ++node.pod_count;
  int32_t given = 0;
  for (size_t device = 0; device < kStaticDevicesMax; ++device) {
    if ((placement.devices >> device & 1) == 0) continue;
    ++given;
    const int32_t left = node.gpu_free_milli[device] - shape.gpu_milli;
    MAINSPRING_CHECK(left >= 0, "no GPU is over-committed");
    node.gpu_free_milli[device] = static_cast<int16_t>(left);
  }
  MAINSPRING_CHECK(given == shape.gpu_count, "a pod gets as many GPUs as it asks for");
  if (shape.gpu_count == 0) return;
  ++node.pods_by_gpus[shape.is_share() ? 0 : static_cast<size_t>(shape.gpu_count)];
  allocated_milli_ += int64_t{shape.gpu_count} * shape.gpu_milli;
}

uint8_t first_free_devices(const StaticNode& node, int32_t count) {
  unsigned devices = 0;
  for (size_t device = 0; device < kStaticDevicesMax && count > 0; ++device) {
    if (node.gpu_free_milli[device] != kMilliPerGpu) continue;
    devices |= 1U << device;
    --count;
  }
  return static_cast<uint8_t>(devices);
}

uint8_t smallest_sufficient_devices(const StaticNode& node, const StaticShape& shape) {
  if (!shape.is_share()) return first_free_devices(node, shape.gpu_count);
  size_t best = kStaticDevicesMax;
  for (size_t device = 0; device < kStaticDevicesMax; ++device) {
    if (node.gpu_free_milli[device] < shape.gpu_milli) continue;
    if (best == kStaticDevicesMax || node.gpu_free_milli[device] < node.gpu_free_milli[best]) {
      best = device;
    }
  }
  MAINSPRING_CHECK(best < kStaticDevicesMax, "the caller knows that the share fits");
  return static_cast<uint8_t>(1U << best);
}

}  // namespace mainspring::sim
