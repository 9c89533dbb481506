// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "mainspring/placement/small_worlds.h"

// The plain truth about a small world: tries every way of giving each pod a node or none.

namespace mainspring::placement {

class BruteForce {
 public:
  static constexpr int kPodsMax = 8;
  static constexpr int kNodesMax = 6;
  // By pod: the number of its node, or the number of nodes for none.
  using Where = std::array<int, kPodsMax>;

  BruteForce(const SmallNodes& nodes, const SmallGang& gang) : nodes_(nodes), gang_(gang) {
    fixed_.fill(kFree);
  }

  // The pod is on that node already and stays there.
  void fix(size_t pod, int node) { fixed_[pod] = node; }

  bool feasible() { return try_pods(0); }

  // Whether this placement keeps every level and gives every group that counts its minimum.
  [[nodiscard]] bool holds(const Where& where) const {
    std::array<int, 16> satisfied{};
    std::array<int, 16> domain{};
    domain.fill(-1);
    for (size_t pod = 0; pod < gang_.pods.size(); ++pod) {
      if (where[pod] == none()) continue;
      ++satisfied[static_cast<size_t>(gang_.pods[pod].group)];
      for (int group = gang_.pods[pod].group; group >= 0; group = row(group).parent) {
        const int here = domain_of(row(group).required, where[pod]);
        int& known = domain[static_cast<size_t>(group)];
        if (known != -1 && known != here) return false;
        known = here;
      }
    }
    for (int group = static_cast<int>(gang_.groups.size()) - 1; group > 0; --group) {
      if (satisfied[static_cast<size_t>(group)] >= row(group).min) {
        ++satisfied[static_cast<size_t>(row(group).parent)];
      }
    }
    return satisfied[0] >= row(0).min;
  }

 private:
  static constexpr int kFree = -1;

  [[nodiscard]] int none() const { return static_cast<int>(nodes_.size()); }
  [[nodiscard]] const SmallGroup& row(int group) const {
    return gang_.groups[static_cast<size_t>(group)];
  }

  [[nodiscard]] int domain_of(SmallLevel level, int node) const {
    const SmallNode& here = nodes_[static_cast<size_t>(node)];
    switch (level) {
      case SmallLevel::kNone:
        return 0;
      case SmallLevel::kRow:
        return here.row;
      case SmallLevel::kRack:
        return here.rack;
      case SmallLevel::kNode:
        return node;
    }
    return 0;
  }

  // Whether what was put on the node so far fits: halves go on broken GPUs first, then two on a
  // whole one.
  [[nodiscard]] bool fits(int node) const {
    const SmallNode& here = nodes_[static_cast<size_t>(node)];
    const SmallNode& used = used_[static_cast<size_t>(node)];
    const int halves = used.half > here.half ? used.half - here.half : 0;
    return used.cpus <= here.cpus && used.whole + (halves + 1) / 2 <= here.whole;
  }

  void put(const SmallPod& pod, int node, int sign) {
    SmallNode& used = used_[static_cast<size_t>(node)];
    used.cpus += sign;
    used.whole += sign * pod.shape.whole;
    used.half += pod.shape.half ? sign : 0;
  }

  bool try_pods(size_t pod) {
    if (pod == gang_.pods.size()) return holds(where_);
    const SmallPod& here = gang_.pods[pod];
    // Of equal pods, the later one never has the node with the smaller number.
    const bool equal = pod > 0 && fixed_[pod] == kFree && fixed_[pod - 1] == kFree &&
                       gang_.pods[pod - 1].group == here.group &&
                       gang_.pods[pod - 1].shape == here.shape;
    for (int node = equal ? where_[pod - 1] : 0; node <= none(); ++node) {
      if (fixed_[pod] != kFree && fixed_[pod] != node) continue;
      where_[pod] = node;
      if (node == none()) return try_pods(pod + 1);
      put(here, node, 1);
      const bool found = fits(node) && try_pods(pod + 1);
      put(here, node, -1);
      if (found) return true;
    }
    return false;
  }

  const SmallNodes& nodes_;
  const SmallGang& gang_;
  std::array<SmallNode, kNodesMax> used_{};
  Where where_{};
  Where fixed_{};
};

}  // namespace mainspring::placement
