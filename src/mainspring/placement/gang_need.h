// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "mainspring/model/cluster_state.h"

// What a job must have at the very least, group by group: lower bounds that hold whichever of the
// optional children are left out. What these bounds rule out is impossible; what they allow may
// still be, because they look at one measure at a time.

namespace mainspring::placement {

// Pods of one shape in one group: interchangeable, and bound by the same levels.
struct PodClass {
  model::ShapeIx shape;
  uint32_t group = 0;
  model::PodIx sample;  // the first of them, a waiting one if there is one
  int64_t pods = 0;
  int64_t waiting = 0;
  std::vector<model::LevelIx> levels;  // required by the group or a group around it, where known
};

// At most this many classes of a job are looked at, those with the largest requests.
inline constexpr size_t kClassesMax = 16;

// The job's classes, the largest request first. O(pods + groups).
std::vector<PodClass> pod_classes(const model::ClusterState& state, const model::Job& job);

enum class Standing : uint8_t {
  kAsItIs,     // pods that hold a place or have done their work need nothing
  kFromStart,  // only pods that have done their work need nothing
};

class GangNeed {
 public:
  // O(pods + groups × classes × log groups).
  GangNeed(const model::ClusterState& state, const model::Job& job,
           const std::vector<PodClass>& classes, Standing standing);

  // Whether the job cannot run without this group.
  [[nodiscard]] bool necessary(uint32_t group) const { return necessary_[group]; }
  // How many pods of the class the group needs at least.
  [[nodiscard]] int64_t pods(uint32_t group, size_t pod_class) const {
    return least_[group][kAmounts + pod_class];
  }
  [[nodiscard]] model::Resources resources(uint32_t group) const;
  // Whole devices, and shares of devices by milli together with whole ones.
  [[nodiscard]] int64_t gpus(uint32_t group) const { return least_[group][model::kResourceCount]; }
  [[nodiscard]] int64_t gpu_milli(uint32_t group) const {
    return least_[group][model::kResourceCount + 1];
  }

 private:
  static constexpr size_t kAmounts = model::kResourceCount + 2;

  std::vector<std::vector<int64_t>> least_;  // by group; amounts, then classes
  std::vector<bool> necessary_;
};

}  // namespace mainspring::placement
