// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/job_demand.h"

#include <algorithm>
#include <tuple>

#include "mainspring/base/check.h"
#include "mainspring/placement/mixing.h"

namespace mainspring::placement {

using model::ClusterState;
using model::Job;
using model::Pod;
using model::PodPhase;

namespace {

constexpr uint32_t kNone = UINT32_MAX;

Demand demand_of(const model::Shape& shape) {
  Demand demand{.resources = shape.request};
  const auto count = static_cast<int64_t>(shape.gpu_count);
  demand.gpus = shape.whole ? count : 0;
  demand.gpu_milli = count * shape.gpu_milli;
  return demand;
}

// Saturates: only compared with sums over the cluster, which are at most this.
int64_t plus_times(int64_t sum, int64_t each, int64_t times) {
  if (times > 0 && each > (model::kTotalMax - sum) / times) return model::kTotalMax;
  return sum + each * times;
}

// Calls `amount` with a reference to each component.
template <class Visit>
void each_component(Visit visit) {
  for (size_t i = 0; i < model::kResourceCount; ++i) {
    visit([i](auto& demand) -> auto& { return demand.resources.amounts[i]; });
  }
  visit([](auto& demand) -> auto& { return demand.gpus; });
  visit([](auto& demand) -> auto& { return demand.gpu_milli; });
}

}  // namespace

bool Demand::lighter_than(const Demand& other) const {
  if (gpu_milli != other.gpu_milli) return gpu_milli < other.gpu_milli;
  return resources < other.resources;
}

namespace {

bool follows_others(const model::Shape& shape) {
  return std::ranges::any_of(shape.rules, [&](const model::ShapeRule& rule) {
    return rule.kind == model::PodRuleKind::kNear && !shape.carries(rule.tag);
  });
}

}  // namespace

void JobDemand::compile(const ClusterState& state, const Job& job) {
  groups_.assign(job.groups.size(), GroupDemand{});
  runs_.clear();
  classes_.clear();
  members_.clear();
  items_.clear();
  pods_.clear();
  held_.clear();
  parents_.assign(job.groups.size(), 0);
  unknown_level_ = false;
  // A child stands behind its parent, so that backwards is bottom-up.
  for (auto group = static_cast<uint32_t>(job.groups.size()); group-- > 0;) {
    const model::Group& row = job.groups[group];
    GroupDemand& demand = groups_[group];
    if (row.parent > 0) parents_[group] = static_cast<uint32_t>(row.parent);
    demand.need = row.min_count;
    demand.required = row.required_level;
    demand.preferred = row.preferred_level;
    if (!row.required_level.valid() && !state.inventory().name(row.required_level_name).empty()) {
      unknown_level_ = true;
    }
    demand.first_item = static_cast<uint32_t>(items_.size());
    read_pods(state, job, group);
    read_children(job, group);
    finish_group(group);
  }
  for (uint32_t group = 0; group < groups_.size(); ++group) {
    const GroupDemand& parent = groups_[parents_[group]];
    groups_[group].in_every_solution =
        group == 0 || (parent.in_every_solution && parent.need == parent.items_available);
  }
  collect_names(state.inventory());
}

void JobDemand::read_pods(const ClusterState& state, const Job& job, uint32_t group) {
  GroupDemand& demand = groups_[group];
  const std::vector<uint32_t>& own = job.groups[group].pods;
  if (run_of_shape_.size() < state.inventory().shapes().size()) {
    run_of_shape_.resize(state.inventory().shapes().size(), kNone);
  }
  const auto first_run = static_cast<uint32_t>(runs_.size());
  run_of_pod_.assign(own.size(), kNone);
  for (size_t i = 0; i < own.size(); ++i) {
    const Pod& pod = state.pod(job.pods[own[i]]);
    if (pod.holds() || pod.phase == PodPhase::kGone) {
      demand.touched = true;
      demand.need -= demand.need > 0 ? 1 : 0;
      if (pod.holds()) {
        if (!demand.anchor.valid()) demand.anchor = pod.node;
        held_.emplace_back(group, pod.node.slot);
      }
      continue;
    }
    uint32_t& run = run_of_shape_[pod.shape.slot];
    if (run == kNone) {
      run = static_cast<uint32_t>(runs_.size());
      runs_.push_back({.group = group, .shape = pod.shape});
    }
    ++runs_[run].count;
    run_of_pod_[i] = run;
  }
  auto next = static_cast<uint32_t>(pods_.size());
  for (uint32_t run = first_run; run < runs_.size(); ++run) {
    runs_[run].first = next;
    next += runs_[run].count;
    items_.push_back({.is_run = true,
                      .index = run,
                      .available = runs_[run].count,
                      .order = run - first_run,
                      .follows = follows_others(state.inventory().shape(runs_[run].shape)),
                      .each = demand_of(state.inventory().shape(runs_[run].shape)),
                      .each_full = demand_of(state.inventory().shape(runs_[run].shape))});
    run_of_shape_[runs_[run].shape.slot] = kNone;
    runs_[run].count = 0;
  }
  pods_.resize(next);
  for (size_t i = 0; i < own.size(); ++i) {
    if (run_of_pod_[i] == kNone) continue;
    Run& run = runs_[run_of_pod_[i]];
    pods_[run.first + run.count++] = job.pods[own[i]];
  }
}

void JobDemand::read_children(const Job& job, uint32_t group) {
  GroupDemand& demand = groups_[group];
  order_.clear();
  for (const uint32_t child : job.groups[group].children) {
    const GroupDemand& below = groups_[child];
    demand.touched = demand.touched || below.touched;
    if (!demand.anchor.valid()) demand.anchor = below.anchor;
    if (below.need == 0) {
      demand.need -= demand.need > 0 ? 1 : 0;
    } else {
      order_.push_back(child);
    }
  }
  std::ranges::sort(order_, [this](uint32_t left, uint32_t right) {
    const GroupDemand& a = groups_[left];
    const GroupDemand& b = groups_[right];
    return std::tuple(!a.touched, a.likeness, left) < std::tuple(!b.touched, b.likeness, right);
  });
  for (const uint32_t child : order_) {
    const GroupDemand& below = groups_[child];
    const bool alike = !members_.empty() && items_.size() > demand.first_item &&
                       !items_.back().is_run && !below.touched &&
                       !groups_[members_.back()].touched &&
                       groups_[members_.back()].likeness == below.likeness;
    if (!alike) {
      items_.push_back({.is_run = false,
                        .index = static_cast<uint32_t>(classes_.size()),
                        .available = 0,
                        .order = (1U << 31) + child,
                        .follows = below.follows,
                        .each = below.least,
                        .each_full = below.full});
      classes_.push_back({.first = static_cast<uint32_t>(members_.size())});
    }
    members_.push_back(child);
    ++classes_.back().count;
    ++items_.back().available;
  }
}

void JobDemand::finish_group(uint32_t group) {
  GroupDemand& demand = groups_[group];
  demand.item_count = static_cast<uint32_t>(items_.size()) - demand.first_item;
  const std::span<Item> own = std::span(items_).subspan(demand.first_item);
  std::ranges::stable_sort(own, [](const Item& left, const Item& right) {
    if (left.follows != right.follows) return left.follows;
    return left.each.lighter_than(right.each);
  });
  demand.follows = std::ranges::any_of(own, &Item::follows);
  uint32_t after = 0;
  uint64_t likeness = mix(mix(demand.need, demand.required.slot), demand.preferred.slot);
  uint64_t children = 0;
  for (size_t i = own.size(); i-- > 0;) {
    own[i].available_after = after;
    after += own[i].available;
    const uint64_t child = own[i].is_run
                               ? uint64_t{runs_[own[i].index].shape.slot}
                               : mix(groups_[members_[classes_[own[i].index].first]].likeness);
    children += mix(child, own[i].available);
  }
  demand.likeness = mix(likeness, children);
  demand.items_available = after;
  MAINSPRING_CHECK(demand.need <= after, "a group needs more children than it has");
  // The cheapest choice differs from component to component; each bounds from below.
  const auto least_sum = [&](auto amount) {
    order_.resize(own.size());
    for (uint32_t i = 0; i < own.size(); ++i) order_[i] = i;
    if (demand.need < after) {
      std::ranges::sort(order_, {}, [&](uint32_t i) { return std::pair(amount(own[i]), i); });
    }
    int64_t sum = 0;
    uint32_t left = demand.need;
    for (const uint32_t i : order_) {
      const uint32_t taken = std::min(left, own[i].available);
      sum = plus_times(sum, amount(own[i]), taken);
      left -= taken;
    }
    return sum;
  };
  each_component([&](auto amount) {
    amount(demand.least) = least_sum([&](const Item& item) { return amount(item.each); });
    for (const Item& item : own) {
      amount(demand.full) = plus_times(amount(demand.full), amount(item.each_full), item.available);
    }
  });
  demand.pods_least = static_cast<uint32_t>(least_sum([&](const Item& item) -> int64_t {
    return item.is_run ? 1 : groups_[members_[classes_[item.index].first]].pods_least;
  }));
}

void JobDemand::held_nodes(uint32_t group, std::vector<uint32_t>& node_slots) const {
  node_slots.clear();
  for (const auto& [holder, slot] : held_) {
    uint32_t at = holder;
    while (at > group) at = parents_[at];
    if (at == group) node_slots.push_back(slot);
  }
}

void JobDemand::collect_names(const model::Inventory& inventory) {
  levels_.clear();
  for (const GroupDemand& group : groups_) {
    if (group.required.valid()) levels_.push_back(group.required);
    if (group.preferred.valid()) levels_.push_back(group.preferred);
  }
  std::ranges::sort(levels_);
  levels_.erase(std::unique(levels_.begin(), levels_.end()), levels_.end());
  label_keys_.clear();
  asks_besides_ = false;
  for (const Run& run : runs_) {
    const model::Shape& shape = inventory.shape(run.shape);
    for (const auto& need : shape.requirements) label_keys_.push_back(need.key);
    for (const auto& terms : shape.choices) {
      for (const model::ShapeTerm& term : terms) {
        for (const auto& need : term) label_keys_.push_back(need.key);
      }
    }
    asks_besides_ = asks_besides_ || !shape.others.empty() || !shape.attachments.empty();
  }
  std::ranges::sort(label_keys_);
  label_keys_.erase(std::unique(label_keys_.begin(), label_keys_.end()), label_keys_.end());
}

}  // namespace mainspring::placement
