// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "mainspring/base/result.h"
#include "mainspring/sim/openb_trace.h"

namespace mainspring::sim {

// The world of the published baselines: pods arrive one by one, are placed or refused at once, and
// never leave. Plain structs; the real engine has its own model and does not use this.

inline constexpr size_t kStaticDevicesMax = 8;  // the baselines' scores are scaled to 8 GPUs a node
inline constexpr int32_t kStaticPodsPerNodeMax = 1001;

// What a pod asks for. Two pods with equal shapes are the same to every baseline.
struct StaticShape {
  int64_t cpu_milli = 0;
  int64_t memory_mib = 0;
  int32_t gpu_count = 0;
  int32_t gpu_milli = 0;    // of each GPU
  uint64_t model_mask = 0;  // bit of each node model that is allowed

  [[nodiscard]] bool is_share() const { return gpu_count == 1 && gpu_milli < kMilliPerGpu; }
  friend auto operator<=>(const StaticShape&, const StaticShape&) = default;
};

struct StaticNode {
  int64_t cpu_free_milli = 0;
  int64_t memory_free_mib = 0;
  int64_t cpu_capacity_milli = 0;
  int32_t pod_count = 0;
  uint8_t model = 0;  // number of the model
  uint8_t gpu_count = 0;
  // Free thousandths of each GPU; zero beyond gpu_count.
  std::array<int16_t, kStaticDevicesMax> gpu_free_milli{};
  // How many pods hold a share (0) or n whole GPUs (n).
  std::array<int32_t, kStaticDevicesMax + 1> pods_by_gpus{};

  [[nodiscard]] int32_t gpu_free_milli_total() const;
  [[nodiscard]] int32_t whole_free_count() const;
  // The pod fits: CPU, memory, pod count, model, devices. Model and devices matter to GPU pods
  // only.
  [[nodiscard]] bool fits(const StaticShape& shape) const;
};

// Which devices of which node a pod gets. Devices as bits.
struct StaticPlacement {
  static constexpr int32_t kNoNode = -1;
  int32_t node = kNoNode;  // position in visiting order
  uint8_t devices = 0;
};

class StaticWorld {
 public:
  // Nodes in visiting order. Errors: over 8 GPUs on a node, over 64 models, no GPU at all.
  static base::Result<StaticWorld> make(const std::vector<OpenbNode>& nodes,
                                        const std::vector<uint32_t>& visiting_order);

  // The shape of a pod here; a model that no node has is not in the mask.
  [[nodiscard]] StaticShape shape_of(const OpenbPod& pod) const;

  [[nodiscard]] const std::vector<StaticNode>& nodes() const { return nodes_; }
  [[nodiscard]] int64_t capacity_milli() const { return capacity_milli_; }
  [[nodiscard]] int64_t allocated_milli() const { return allocated_milli_; }
  [[nodiscard]] size_t model_count() const { return models_.size(); }

  // Aborts if the placement does not fit: a baseline with a bug must not make figures.
  void place(const StaticShape& shape, const StaticPlacement& placement);

 private:
  std::vector<StaticNode> nodes_;
  std::vector<std::string> models_;
  int64_t capacity_milli_ = 0;
  int64_t allocated_milli_ = 0;
};

// The first wholly free devices; the caller knows that there are enough.
[[nodiscard]] uint8_t first_free_devices(const StaticNode& node, int32_t count);
// Share: the device with the least sufficient room, the first of equals. Whole GPUs: the first
// free.
[[nodiscard]] uint8_t smallest_sufficient_devices(const StaticNode& node, const StaticShape& shape);

inline int32_t StaticNode::gpu_free_milli_total() const {
  int32_t total = 0;
  for (const int16_t free : gpu_free_milli) total += free;
  return total;
}

inline int32_t StaticNode::whole_free_count() const {
  int32_t count = 0;
  for (const int16_t free : gpu_free_milli) count += free == kMilliPerGpu ? 1 : 0;
  return count;
}

inline bool StaticNode::fits(const StaticShape& shape) const {
  if (cpu_free_milli < shape.cpu_milli || memory_free_mib < shape.memory_mib ||
      pod_count >= kStaticPodsPerNodeMax) {
    return false;
  }
  if (shape.gpu_count == 0) return true;
  if ((shape.model_mask >> model & 1) == 0) return false;
  int32_t enough = 0;
  for (const int16_t free : gpu_free_milli) enough += free >= shape.gpu_milli ? 1 : 0;
  return enough >= shape.gpu_count;
}

}  // namespace mainspring::sim
