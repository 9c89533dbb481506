// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mainspring/placement/gang_need.h"
#include "mainspring/placement/survey.h"

// How far the best domain is from holding a group.

namespace mainspring::placement {

enum class Room : uint8_t {
  kFreeNow,
  kEmptiedUsable,  // the available nodes, emptied
  kEmptied,        // all nodes, emptied and available
};

struct Gap {
  std::string domain;  // a node's name, the path of a domain, or "cluster"
  int64_t places = 0;  // pods that surely find no place there
  // What the domain lacks in sum.
  int64_t gpus = 0;
  int64_t gpu_milli = 0;
  model::Resources resources;
  size_t tightest_class = 0;  // the class with the most pods without a place

  [[nodiscard]] bool enough_in_sum() const {
    return gpus == 0 && gpu_milli == 0 && resources == model::Resources{};
  }
  [[nodiscard]] bool none() const { return places == 0 && enough_in_sum(); }
};

class GapSearch {
 public:
  // Keeps references to all of these. The surveys count fits.
  GapSearch(const model::ClusterState& state, const model::Job& job,
            const std::vector<PodClass>& classes, const std::vector<Survey>& surveys,
            const GangNeed& need)
      : state_(state), job_(job), classes_(classes), surveys_(surveys), need_(need) {}

  // Whether the job cannot run without this group, and all of the group has to lie in one place:
  // a domain, or for the root the cluster.
  [[nodiscard]] bool bound(uint32_t group) const {
    return need_.necessary(group) && (group == 0 || job_.groups[group].required_level.valid());
  }

  // The domain of the group's required level, or the cluster, that lacks the least. A group that
  // holds places stays in its domain while free room is looked at. O(nodes × classes).
  [[nodiscard]] Gap nearest(uint32_t group, Room room) const {
    return nearest_of(job_.groups[group].required_level, group, room);
  }

  // Whether what the group needs is free in sum over all nodes that could take any of its pods.
  [[nodiscard]] bool free_in_sum(uint32_t group) const {
    return nearest_of({}, group, Room::kFreeNow).enough_in_sum();
  }

 private:
  [[nodiscard]] Gap nearest_of(model::LevelIx level, uint32_t group, Room room) const;
  [[nodiscard]] uint32_t place_of(const model::Node& node, uint32_t slot,
                                  model::LevelIx level) const;
  [[nodiscard]] uint32_t pinned_place(uint32_t group) const;
  [[nodiscard]] std::string name_of(uint32_t place, model::LevelIx level) const;

  const model::ClusterState& state_;
  const model::Job& job_;
  const std::vector<PodClass>& classes_;
  const std::vector<Survey>& surveys_;
  const GangNeed& need_;
};

}  // namespace mainspring::placement
