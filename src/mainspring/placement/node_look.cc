// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/node_look.h"

#include <algorithm>
#include <array>

#include "mainspring/placement/node_fit.h"

namespace mainspring::placement {
namespace {

using model::Gpu;
using model::Node;
using model::NodeTest;
using model::Resource;
using model::Resources;
using model::Shape;

// Only what counts for other resources and volumes.
Node besides_emptied(const Node& node) {
  Node empty;
  empty.others = node.others;
  empty.attachments_max = node.attachments_max;
  for (model::OtherResource& other : empty.others) other.used = 0;
  return empty;
}

// What the devices of a node are to a shape.
struct Devices {
  uint32_t suited = 0;   // could serve if idle
  uint32_t fitting = 0;  // can serve now
  int64_t free_share = 0;
  // The smallest lack of a suited device that does not fit.
  int64_t milli_lacking = INT64_MAX;
  int64_t memory_lacking = 0;
};

bool suits(const Shape& shape, const Gpu& gpu) {
  return gpu.present && model::device_suits(shape, gpu);
}

Devices count_whole(const Node& node, const Shape& shape) {
  Devices count;
  for (const Gpu& gpu : node.gpus) {
    if (!suits(shape, gpu)) continue;
    ++count.suited;
    count.fitting += gpu.wholly_free() ? 1 : 0;
  }
  return count;
}

Devices count_shares(const Node& node, const Shape& shape) {
  Devices count;
  for (const Gpu& gpu : node.gpus) {
    if (!suits(shape, gpu)) continue;
    ++count.suited;
    const model::GpuTake take = model::gpu_take(shape, gpu);
    const int64_t free_milli = gpu.free_milli();
    const int64_t free_memory = gpu.free_memory_bytes();
    count.free_share += shape.gpu_memory_bytes > 0 ? free_memory : free_milli;
    const int64_t milli = std::max<int64_t>(0, take.milli - free_milli);
    const int64_t memory = std::max<int64_t>(0, take.memory_bytes - free_memory);
    if (milli == 0 && memory == 0 && gpu.usable()) {
      ++count.fitting;
    } else if (milli < count.milli_lacking ||
               (milli == count.milli_lacking && memory < count.memory_lacking)) {
      count.milli_lacking = milli;
      count.memory_lacking = memory;
    }
  }
  return count;
}

// Whether not every device of the resource will do.
bool is_choosy(const Shape& shape) {
  return !shape.spec.gpu.models.empty() || shape.device_memory_bytes_min > 0 ||
         shape.gpu_memory_bytes > 0;
}

Resources shortfall(const Resources& need, const Resources& have) {
  Resources missing;
  for (size_t i = 0; i < model::kResourceCount; ++i) {
    missing.amounts[i] = std::max<int64_t>(0, need.amounts[i] - have.amounts[i]);
  }
  return missing;
}

// What the `missing` devices lack that come closest to giving the share.
void add_share_deficit(const Node& node, const Shape& shape, uint32_t missing, Deficit& deficit) {
  struct Lack {
    int64_t milli = 0;
    int64_t memory_bytes = 0;
    auto operator<=>(const Lack&) const = default;
  };
  std::array<Lack, model::kGpusPerNodeMax> lacks;
  size_t count = 0;
  for (const Gpu& gpu : node.gpus) {
    if (!suits(shape, gpu) || model::device_fits(shape, gpu)) continue;
    const model::GpuTake take = model::gpu_take(shape, gpu);
    lacks[count++] = {std::max<int64_t>(0, take.milli - gpu.free_milli()),
                      std::max<int64_t>(0, take.memory_bytes - gpu.free_memory_bytes())};
  }
  std::sort(lacks.begin(), lacks.begin() + static_cast<std::ptrdiff_t>(count));
  for (size_t i = 0; i < std::min<size_t>(count, missing); ++i) {
    deficit.gpu_milli += lacks[i].milli;
    deficit.gpu_memory_bytes += lacks[i].memory_bytes;
  }
}

// How many pods other resources and volumes let in once nobody else is there.
int64_t besides_fit_emptied(const Shape& shape, const Node& node, int64_t limit) {
  if (shape.others.empty() && shape.attachments.empty()) return limit;
  const Node empty = besides_emptied(node);
  return model::volumes_fit(shape, empty) ? model::others_fit(shape, empty.others, limit) : 0;
}

std::optional<NodeTest> static_barrier(const model::Inventory& inventory, const Node& node,
                                       const Shape& shape, std::span<const model::LevelIx> levels,
                                       const Devices& devices) {
  if (shape.asks_labels() && !model::labels_match(shape, node, inventory.names())) {
    return NodeTest::kNodeRequirements;
  }
  if (!node.taints.empty() && !model::taints_tolerated(shape, node)) return NodeTest::kTaints;
  if (devices.suited < shape.gpu_count) {
    return devices.suited == 0 && is_choosy(shape) ? NodeTest::kGpuModel : NodeTest::kGpuCount;
  }
  if (!shape.request.within(node.allocatable) || besides_fit_emptied(shape, node, 1) == 0) {
    return NodeTest::kCapacity;
  }
  for (const model::LevelIx level : levels) {
    if (level != inventory.node_level() && !node.domains[level.slot].valid()) {
      return NodeTest::kOutsideDomain;
    }
  }
  return std::nullopt;
}

std::optional<NodeTest> lack_of_free(const Node& node, const Shape& shape, const Devices& devices,
                                     const Resources& missing) {
  if (devices.fitting < shape.gpu_count) return NodeTest::kFreeGpus;
  if (missing[Resource::kCpuMilli] > 0) return NodeTest::kFreeCpu;
  if (missing[Resource::kMemoryBytes] > 0) return NodeTest::kFreeMemory;
  if (missing[Resource::kEphemeralBytes] > 0) return NodeTest::kFreeEphemeral;
  if (missing[Resource::kPods] > 0) return NodeTest::kFreePods;
  if (model::others_fit(shape, node.others, 1) == 0) return NodeTest::kFreeOther;
  if (!model::volumes_fit(shape, node)) return NodeTest::kVolumes;
  return std::nullopt;
}

// A node that could take the pod: what is free decides.
void look_at_free(const Node& node, const Shape& shape, const Devices& devices, NodeLook& look) {
  look.deficit.resources = shortfall(shape.request, free_resources(node));
  look.first_failed = lack_of_free(node, shape, devices, look.deficit.resources);
  if (look.first_failed != NodeTest::kFreeGpus) return;
  const uint32_t missing = shape.gpu_count - devices.fitting;
  if (shape.whole) {
    look.deficit.gpus = missing;
  } else if (missing == 1) {
    look.deficit.gpu_milli = devices.milli_lacking;
    look.deficit.gpu_memory_bytes = devices.memory_lacking;
  } else {
    add_share_deficit(node, shape, missing, look.deficit);
  }
}

}  // namespace

Resources free_resources(const Node& node) { return shortfall(node.allocatable, node.used); }

void add_label_shortages(const model::Inventory& inventory, const Node& node, const Shape& shape,
                         std::vector<model::Shortage>& out) {
  Shape one;
  for (const model::ShapeRequirement& need : shape.requirements) {
    one.requirements = {need};
    if (model::labels_match(one, node, inventory.names())) continue;
    out.push_back({"label:" + inventory.name(need.key), 1});
  }
  // Of a choice, what its first term asks for.
  one.requirements.clear();
  for (const std::vector<model::ShapeTerm>& terms : shape.choices) {
    one.choices = {terms};
    if (terms.empty() || model::labels_match(one, node, inventory.names())) continue;
    Shape first;
    first.requirements = terms.front();
    add_label_shortages(inventory, node, first, out);
  }
}

void add_taint_shortages(const model::Inventory& inventory, const Node& node, const Shape& shape,
                         std::vector<model::Shortage>& out) {
  Node one;
  for (const model::NodeTaint& taint : node.taints) {
    one.taints = {taint};
    if (model::taints_tolerated(shape, one)) continue;
    out.push_back({"toleration:" + inventory.name(taint.key), 1});
  }
}

void add_besides_shortages(const model::Inventory& inventory, const Node& node, const Shape& shape,
                           bool emptied, std::vector<model::Shortage>& out) {
  if (shape.others.empty() && shape.attachments.empty()) return;
  const Node empty = besides_emptied(node);
  const Node& there = emptied ? empty : node;
  for (const model::ShapeAmount& need : shape.others) {
    const auto at = std::ranges::find(there.others, need.name, &model::OtherResource::name);
    const int64_t free = at == there.others.end() ? 0 : at->free();
    if (free < need.amount) out.push_back({inventory.name(need.name), need.amount - free});
  }
  if (!model::volumes_fit(shape, there)) out.push_back({"volumes", 1});
}

NodeLook look_at(const model::Inventory& inventory, const Node& node, const Shape& shape,
                 std::span<const model::LevelIx> levels) {
  NodeLook look;
  Devices devices;
  if (shape.gpu_count > 0) {
    devices = shape.whole ? count_whole(node, shape) : count_shares(node, shape);
  }
  look.free_devices = devices.fitting;
  look.free_share = devices.free_share;
  look.barrier = static_barrier(inventory, node, shape, levels, devices);
  if (!look.barrier) {
    look_at_free(node, shape, devices, look);
  } else if (look.barrier == NodeTest::kOutsideDomain) {
    // The level is asked for last, after what is free.
    const Resources missing = shortfall(shape.request, free_resources(node));
    look.first_failed =
        lack_of_free(node, shape, devices, missing).value_or(NodeTest::kOutsideDomain);
  } else {
    look.first_failed = look.barrier;
    if (look.barrier >= NodeTest::kGpuCount) {
      look.deficit.gpus = std::max<int64_t>(0, int64_t{shape.gpu_count} - devices.suited);
      look.deficit.resources = shortfall(shape.request, node.allocatable);
    }
  }
  if (!node.usable()) look.first_failed = NodeTest::kUnavailable;
  return look;
}

int64_t fit_count_emptied(const Node& node, const Shape& shape) {
  std::array<Gpu, model::kGpusPerNodeMax> gpus;
  size_t count = 0;
  for (const Gpu& gpu : node.gpus) {
    if (!gpu.present) continue;
    gpus[count++] = {
        .memory_bytes = gpu.memory_bytes, .model = gpu.model, .resource = gpu.resource};
  }
  const int64_t most = besides_fit_emptied(shape, node, INT32_MAX);
  return fit_count(shape, node.allocatable, std::span(gpus.data(), count), most);
}

}  // namespace mainspring::placement
