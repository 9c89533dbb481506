// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/domain_gap.h"

#include <algorithm>
#include <tuple>

namespace mainspring::placement {
namespace {

using model::Free;
using model::LevelIx;
using model::Node;

constexpr uint32_t kNowhere = UINT32_MAX;

// One place that could hold the group: a domain, a node or the cluster.
struct Candidate {
  bool seen = false;
  Free room;
  std::vector<int64_t> fit;  // pods, by class
};

void add_room(const Node& node, Room room, Free& sum) {
  if (room == Room::kFreeNow) {
    sum.resources += node.free.resources;
    sum.gpus += node.free.gpus;
    sum.gpu_milli += node.free.gpu_milli;
    return;
  }
  sum.resources += node.allocatable;
  const auto present = std::ranges::count_if(node.gpus, &model::Gpu::present);
  sum.gpus += present;
  sum.gpu_milli += present * model::kWholeGpuMilli;
}

int64_t positive(int64_t amount) { return std::max<int64_t>(0, amount); }

Gap gap_of(const Candidate& candidate, const GangNeed& need, uint32_t group) {
  Gap gap;
  int64_t worst = -1;
  for (size_t i = 0; i < candidate.fit.size(); ++i) {
    if (need.pods(group, i) == 0) continue;
    const int64_t places = positive(need.pods(group, i) - candidate.fit[i]);
    gap.places += places;
    if (places > worst) {
      worst = places;
      gap.tightest_class = i;
    }
  }
  gap.gpus = positive(need.gpus(group) - candidate.room.gpus);
  gap.gpu_milli = positive(need.gpu_milli(group) - candidate.room.gpu_milli);
  const model::Resources wanted = need.resources(group);
  for (size_t i = 0; i < model::kResourceCount; ++i) {
    gap.resources.amounts[i] = positive(wanted.amounts[i] - candidate.room.resources.amounts[i]);
  }
  return gap;
}

auto size_of(const Gap& gap) {
  return std::tie(gap.places, gap.gpus, gap.gpu_milli, gap.resources);
}

}  // namespace

uint32_t GapSearch::place_of(const Node& node, uint32_t slot, LevelIx level) const {
  if (!level.valid()) return 0;
  if (level == state_.inventory().node_level()) return slot;
  return node.domains[level.slot].slot;
}

uint32_t GapSearch::pinned_place(uint32_t group) const {
  const LevelIx level = job_.groups[group].required_level;
  if (!level.valid()) return kNowhere;
  std::vector<bool> inside(job_.groups.size(), false);
  inside[group] = true;
  for (size_t i = group; i < job_.groups.size(); ++i) {
    const int32_t parent = job_.groups[i].parent;
    if (parent >= 0 && inside[static_cast<size_t>(parent)]) inside[i] = true;
    if (!inside[i]) continue;
    for (const uint32_t local : job_.groups[i].pods) {
      const model::Pod& pod = state_.pod(job_.pods[local]);
      if (!pod.holds() || pod.phase == model::PodPhase::kStopping) continue;
      return place_of(state_.inventory().node(pod.node), pod.node.slot, level);
    }
  }
  return kNowhere;
}

std::string GapSearch::name_of(uint32_t place, LevelIx level) const {
  if (!level.valid()) return "cluster";
  const auto& inventory = state_.inventory();
  if (level == inventory.node_level()) return inventory.nodes()[place].name;
  return inventory.domains()[place].path;
}

Gap GapSearch::nearest_of(LevelIx level, uint32_t group, Room room) const {
  const auto& inventory = state_.inventory();
  std::vector<Candidate> candidates(
      !level.valid() ? 1 : std::max(inventory.domains().size(), inventory.nodes().size()));
  const bool pinnable = level.valid() && room == Room::kFreeNow;
  const uint32_t pinned = pinnable ? pinned_place(group) : kNowhere;
  for (const uint32_t slot : inventory.nodes_by_rank()) {
    const Node& node = inventory.nodes()[slot];
    if (!node.listed || (room == Room::kEmptiedUsable && !node.usable())) continue;
    const uint32_t place = place_of(node, slot, level);
    if (place == kNowhere || (pinned != kNowhere && place != pinned)) continue;
    Candidate& candidate = candidates[place];
    candidate.seen = true;
    candidate.fit.resize(classes_.size(), 0);
    bool serves = false;
    for (size_t i = 0; i < classes_.size(); ++i) {
      const Survey& seen = surveys_[i];
      candidate.fit[i] += room == Room::kFreeNow ? seen.fit_now[slot] : seen.fit_emptied[slot];
      serves = serves || seen.fit_emptied[slot] > 0;
    }
    if (serves) add_room(node, room, candidate.room);
  }
  std::optional<Gap> best;
  for (uint32_t place = 0; place < candidates.size(); ++place) {
    if (!candidates[place].seen) continue;
    Gap gap = gap_of(candidates[place], need_, group);
    if (best && size_of(*best) < size_of(gap)) continue;
    gap.domain = name_of(place, level);
    if (best && size_of(*best) == size_of(gap) && best->domain < gap.domain) continue;
    best = std::move(gap);
  }
  if (best) return *best;
  // No node lies in any domain of the level.
  Candidate nothing;
  nothing.fit.resize(classes_.size(), 0);
  Gap gap = gap_of(nothing, need_, group);
  gap.domain = "cluster";
  return gap;
}

}  // namespace mainspring::placement
