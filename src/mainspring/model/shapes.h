// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "mainspring/base/name_table.h"
#include "mainspring/model/tables.h"

// Shapes: what makes pods interchangeable, compiled for comparison against nodes and counted as
// demand.

namespace mainspring::model {

struct ShapeRequirement {
  NameIx key = 0;
  SelectorOp op = SelectorOp::kIn;
  std::vector<NameIx> values;
  int64_t number = 0;  // for kGt and kLt
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
  std::vector<ShapeToleration> tolerations;
  int64_t arrivals = 0;         // pods of this shape ever submitted
  int64_t arrivals_priced = 0;  // of these, known when prices were last made

  static constexpr uint8_t kNoGpuResource = 255;
};

// What one device gives to one pod.
struct GpuTake {
  int32_t milli = 0;
  int64_t memory_bytes = 0;
};

// Rounding: a share by milli implies ⌊memory × milli / 1000⌋ bytes, a share by memory ⌊1000 × bytes
// / memory⌋ milli. Both counters are checked, so that neither kind over-commits a device and 23
// shares of 2,000 MiB fit into 46,068 MiB.
GpuTake gpu_take(const Shape& shape, const Gpu& gpu);

// Whether this device, in its present state, can serve the shape (one of its `gpu_count` devices).
bool device_fits(const Shape& shape, const Gpu& gpu);

// Whether the device could if it were idle and healthy.
bool device_suits(const Shape& shape, const Gpu& gpu);

// Whether the node's labels meet the requirements. O(requirements × log labels).
bool labels_match(const Shape& shape, const Node& node, const base::NameTable& names);

// Whether every NoSchedule and NoExecute taint is tolerated.
bool taints_tolerated(const Shape& shape, const Node& node);

}  // namespace mainspring::model
