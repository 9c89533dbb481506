// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mainspring/base/check.h"
#include "mainspring/base/name_table.h"
#include "mainspring/model/tables.h"

// Shapes: what makes pods interchangeable, compiled for comparison against nodes and counted as
// demand.

namespace mainspring::model {

using TagIx = base::Symbol<struct PodTagTag>;

struct ShapeRequirement {
  NameIx key = 0;
  SelectorOp op = SelectorOp::kIn;
  std::vector<NameIx> values;
  int64_t number = 0;    // for kGt and kLt
  bool on_name = false;  // it is the node's name that is looked at
};

using ShapeTerm = std::vector<ShapeRequirement>;

// Which nodes are neighbours for a rule among pods.
struct RuleLevel {
  enum class Kind : uint8_t { kNode, kLabel, kCluster };
  Kind kind = Kind::kNode;
  NameIx label = 0;  // kLabel: equal values make neighbours
  friend auto operator<=>(const RuleLevel&, const RuleLevel&) = default;
};

struct ShapeRule {
  PodRuleKind kind = PodRuleKind::kApart;
  TagIx tag;
  RuleLevel level;
  int32_t max_skew = 1;
  int32_t min_domains = 1;
  bool honor_requirements = true;
  bool honor_taints = false;
};

struct ShapeAmount {
  NameIx name = 0;
  int64_t amount = 0;
};

struct ShapeToleration {
  NameIx key = 0;  // of the empty name: any key
  NameIx value = 0;
  bool any_key = false;
  bool exists = false;
  bool any_effect = true;
  TaintEffect effect = TaintEffect::kNoSchedule;
};

struct Shape {
  PodShape spec;
  Resources request;
  uint32_t gpu_count = 0;
  int32_t gpu_milli = 0;  // per device; 1000 for whole ones; 0 when the share is by memory
  int64_t gpu_memory_bytes = 0;
  int64_t device_memory_bytes_min = 0;
  uint8_t gpu_resource = 0;     // kNoGpuResource where unknown
  uint64_t gpu_models = ~0ULL;  // bit per known model
  bool whole = false;
  std::vector<ShapeRequirement> requirements;
  std::vector<std::vector<ShapeTerm>> choices;
  std::vector<ShapeToleration> tolerations;
  std::vector<ShapeAmount> others;          // sorted by name
  std::vector<TagIx> tags;                  // sorted
  std::vector<ShapeRule> rules;             // as in the spec
  std::vector<AttachedVolume> attachments;  // sorted
  int64_t arrivals = 0;                     // pods of this shape ever submitted
  int64_t arrivals_priced = 0;              // of these, known when prices were last made

  static constexpr uint8_t kNoGpuResource = 255;

  // Whether it cares on which node it is, whatever is free there.
  [[nodiscard]] bool asks_labels() const { return !requirements.empty() || !choices.empty(); }
  // Whether its pods take something that is no amount of Free, or are taken note of by others.
  [[nodiscard]] bool takes_besides() const {
    return !others.empty() || !attachments.empty() || !tags.empty() || !rules.empty();
  }
  [[nodiscard]] bool carries(TagIx tag) const;
};

// The number of the node's domain at this level; kNowhere where it lacks the label.
inline constexpr uint32_t kNowhere = UINT32_MAX;
uint32_t rule_domain(const RuleLevel& level, const Node& node, uint32_t node_slot);

// How many pods of the shape have room side by side for what they ask of `others`, and whether the
// volumes of one more pod can be attached to the node; pods of one shape share their volumes.
int64_t others_fit(const Shape& shape, std::span<const OtherResource> others, int64_t limit);
bool volumes_fit(const Shape& shape, const Node& node);

// What one device gives to one pod.
struct GpuTake {
  int32_t milli = 0;
  int64_t memory_bytes = 0;
};

// Rounding: a share by milli implies ⌊memory × milli / 1000⌋ bytes, a share by memory ⌊1000 × bytes
// / memory⌋ milli. Both counters are checked, so that neither kind over-commits a device and 23
// shares of 2,000 MiB fit into 46,068 MiB.
inline GpuTake gpu_take(const Shape& shape, const Gpu& gpu) {
  if (shape.whole) return {kWholeGpuMilli, gpu.memory_bytes};
  if (shape.gpu_memory_bytes > 0) {
    MAINSPRING_CHECK(gpu.memory_bytes > 0, "a share by memory on a device of unknown memory");
    const int64_t milli = shape.gpu_memory_bytes * kWholeGpuMilli / gpu.memory_bytes;
    return {static_cast<int32_t>(milli), shape.gpu_memory_bytes};
  }
  return {shape.gpu_milli, gpu.memory_bytes * shape.gpu_milli / kWholeGpuMilli};
}

// Whether the device could serve the shape (be one of its `gpu_count` devices) if it were idle and
// healthy.
inline bool device_suits(const Shape& shape, const Gpu& gpu) {
  if (gpu.resource != shape.gpu_resource) return false;
  if ((shape.gpu_models >> gpu.model & 1) == 0) return false;
  if (gpu.memory_bytes < shape.device_memory_bytes_min) return false;
  return shape.gpu_memory_bytes == 0 || gpu.memory_bytes >= shape.gpu_memory_bytes;
}

// Whether it can in its present state.
inline bool device_fits(const Shape& shape, const Gpu& gpu) {
  if (!device_suits(shape, gpu) || !gpu.usable()) return false;
  if (shape.whole) return gpu.wholly_free();
  const GpuTake take = gpu_take(shape, gpu);
  return take.milli <= gpu.free_milli() && take.memory_bytes <= gpu.free_memory_bytes();
}

// Whether the node's labels and name meet the requirements and the choices. O(requirements × log
// labels).
bool labels_match(const Shape& shape, const Node& node, const base::NameTable& names);

// Whether every NoSchedule and NoExecute taint is tolerated.
bool taints_tolerated(const Shape& shape, const Node& node);

}  // namespace mainspring::model
