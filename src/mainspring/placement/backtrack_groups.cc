// SPDX-License-Identifier: Apache-2.0
// Groups: which domain, and which of the children.
#include <algorithm>
#include <tuple>

#include "mainspring/base/check.h"
#include "mainspring/placement/backtrack.h"

namespace mainspring::placement {

using model::LevelIx;

bool Backtrack::narrower(LevelIx level, LevelIx wide) const {
  if (level == wide) return false;
  if (level == inventory_->node_level()) return true;
  while (level.valid() && level != wide) level = inventory_->levels()[level.slot].wider;
  return level.valid();
}

uint32_t Backtrack::fixed_scope(uint32_t group, uint32_t scope) {
  const GroupDemand& demand = demand_->group(group);
  if (!demand.required.valid() || !demand.anchor.valid()) return scope;
  const uint32_t domain = scopes_.domain_of(demand.required, demand.anchor.slot);
  return domain == Scopes::kNone ? scope : scopes_.in_one(scope, demand.required, domain);
}

uint32_t Backtrack::growth_scope(uint32_t group, uint32_t scope) {
  const GroupDemand& demand = demand_->group(group);
  if (!demand.required.valid() || demand.anchor.valid()) return fixed_scope(group, scope);
  scopes_.domains(scope, demand.required, choosable_);
  const bool nodes = demand.required == inventory_->node_level();
  uint32_t roomiest = kNone;
  std::pair<int64_t, int64_t> most{-1, -1};
  for (const uint32_t slot : choosable_) {
    const model::Free& free = nodes ? bins_.free(slot) : bins_.domain_free(model::DomainIx{slot});
    const std::pair room{free.gpu_milli, free.resources[model::Resource::kCpuMilli]};
    if (room > most) most = room, roomiest = slot;
  }
  return roomiest == kNone ? kNone : scopes_.in_one(scope, demand.required, roomiest);
}

bool Backtrack::enter_group(uint32_t task) {
  const Task entered = tasks_[task];
  if (demand_->group(entered.index).need == 0) {
    current_ = entered.next;
    return true;
  }
  return watch(entered) && open_stages(task);
}

bool Backtrack::enter_wish(uint32_t task) { return open_stages(task); }

// The order of what is tried; see the header of the class. Where the preferred level is narrower
// than a required one of the same topology, both are chosen at once: the domain that the group
// must have is the one in which its wish comes true.
Backtrack::Stage Backtrack::stage_of(const Task& task, uint32_t number) const {
  const GroupDemand& group = demand_->group(task.index);
  const bool anchored = group.anchor.valid() && group.required.valid();
  const bool wish = group.preferred.valid() && (group.pods_least > 1 || group.anchor.valid());
  const bool both =
      wish && group.required.valid() && !anchored && narrower(group.preferred, group.required);
  const LevelIx few = wish ? group.preferred : LevelIx{};
  if (task.kind == TaskKind::kGroup && !both) {
    return {.level = anchored ? LevelIx{} : group.required, .last = true};
  }
  const LevelIx outermost = both ? group.required : LevelIx{};
  if (!both && group.preferred.valid() && scopes_.inside_one(task.scope, group.preferred)) {
    return {.last = true};
  }
  if (!wish) {
    // Its minimum is one pod, but it may grow.
    return {.few = group.items_available > 1 ? group.preferred : LevelIx{}, .last = true};
  }
  const Stage last{.level = outermost, .few = few, .last = true};
  if (!wishes_) return last;
  uint32_t at = 0;
  LevelIx level = few;
  if (group.anchor.valid()) level = LevelIx{};
  for (; level.valid() && level != outermost; level = inventory_->levels()[level.slot].wider) {
    if (scopes_.inside_one(task.scope, level)) break;
    if (at++ == number) {
      return {.level = level, .few = level == few ? LevelIx{} : few, .bounded = true, .soft = true};
    }
  }
  if (at == number) return {.level = outermost, .few = few, .bounded = true, .soft = true};
  return last;
}

bool Backtrack::open_stages(uint32_t task) {
  const Stage first = stage_of(tasks_[task], 0);
  if (first.last && !first.level.valid()) {
    return apply_alternative(tasks_[task], first, {});
  }
  Choice& choice = push_choice(ChoiceKind::kAlternative);
  choice.index = task;
  choice.candidate = static_cast<uint32_t>(alternatives_.size());
  choice.key = state_key(tasks_[task]);
  list_alternatives(tasks_[task], first);
  choice.mark.alternatives = static_cast<uint32_t>(alternatives_.size());
  if (first.soft) {
    choice.soft_before = soft_;
    soft_ = static_cast<uint32_t>(choices_.size() - 1);
  }
  return next_alternative();
}

bool Backtrack::next_alternative() {
  for (;;) {
    Choice& choice = choices_.back();
    const Task task = tasks_[choice.index];
    const Stage stage = stage_of(task, choice.stage);
    const uint32_t first = choice.candidate;
    if (choice.position == 1) {
      std::ranges::sort(std::span(alternatives_).subspan(first + 1), comes_first);
    }
    if (choice.position > 0 && stage.level.valid()) skip_likes(choice, stage);
    if (first + choice.position < choice.mark.alternatives) {
      const Alternative alternative = alternatives_[first + choice.position++];
      choice.deadline = steps_ + limits_.steps_per_wish;
      return apply_alternative(task, stage, alternative);
    }
    if (stage.last) {
      pop_choice();
      return false;
    }
    ++choice.stage;
    choice.position = 0;
    alternatives_.resize(first);
    const Stage next = stage_of(task, choice.stage);
    if (!next.soft && soft_ + size_t{1} == choices_.size()) soft_ = choice.soft_before;
    list_alternatives(task, next);
    choice.mark.alternatives = static_cast<uint32_t>(alternatives_.size());
  }
}

bool Backtrack::apply_alternative(const Task& task, const Stage& stage,
                                  const Alternative& alternative) {
  const GroupDemand& group = demand_->group(task.index);
  uint32_t scope = task.scope;
  if (stage.level.valid()) scope = scopes_.in_one(scope, stage.level, alternative.slot);
  if (task.kind == TaskKind::kGroup && !stage.level.valid()) {
    scope = fixed_scope(task.index, scope);
  }
  if (stage.few.valid()) {
    scope = scopes_.in_few(scope, stage.few, stage.bounded ? alternative.most : Scopes::kAnyNumber);
    if (group.anchor.valid()) open_held(task.index, scope);
  }
  const bool wish_is_open = task.kind == TaskKind::kGroup && group.preferred.valid() &&
                            !stage.few.valid() && !(stage.soft && stage.level == group.preferred);
  if (wish_is_open) {
    current_ = push_task(TaskKind::kWish, task.index, 0, 0, scope, task.next);
    return true;
  }
  entered_.push_back({task.index, scope});
  current_ = push_task(TaskKind::kPick, task.index, 0, group.need, scope, task.next);
  return true;
}

void Backtrack::open_held(uint32_t group, uint32_t scope) {
  demand_->held_nodes(group, slots_);
  for (const uint32_t slot : slots_) scopes_.open(scope, slot);
}

int64_t Backtrack::weight_of(const model::Free& free, const Demand& demand) const {
  if (demand.gpu_milli > 0) return free.gpu_milli;
  return free.resources[model::Resource::kCpuMilli];
}

bool Backtrack::comes_first(const Alternative& left, const Alternative& right) {
  return std::tuple(left.most, left.cramped, left.weight, left.rank) <
         std::tuple(right.most, right.cramped, right.weight, right.rank);
}

// Tightest first among those whose sums suffice for the whole group, then the roomiest of those
// that have its minimum, since it may grow; with a bound on the number of narrower domains, the
// fewest first.
void Backtrack::list_alternatives(const Task& task, const Stage& stage) {
  const GroupDemand& group = demand_->group(task.index);
  const size_t first = alternatives_.size();
  const auto add = [&](Alternative alternative) {
    if (!stage.bounded || !stage.few.valid()) {
      alternatives_.push_back(alternative);
      return;
    }
    constexpr uint32_t kMoreDomains = 3;
    const Scopes::Mark before = scopes_.mark();
    const uint32_t scope = stage.level.valid()
                               ? scopes_.in_one(task.scope, stage.level, alternative.slot)
                               : task.scope;
    const uint32_t fewest = fewest_domains(task, stage.few, scope);
    scopes_.undo(before);
    if (fewest == kNone) return;
    for (uint32_t extra = 0; extra < kMoreDomains; ++extra) {
      alternative.most = fewest + extra;
      alternatives_.push_back(alternative);
    }
  };
  if (!stage.level.valid()) {
    add({});
    return;
  }
  scopes_.domains(task.scope, stage.level, choosable_);
  const bool nodes = stage.level == inventory_->node_level();
  // Counted where it can end the search at once, and wherever it turned back.
  const bool counts = stage.last && task.count > 1 && (task.from == 0 || turned_back_);
  int64_t members = 0;
  for (const uint32_t slot : choosable_) {
    const model::Free& free = nodes ? bins_.free(slot) : bins_.domain_free(model::DomainIx{slot});
    if (!group.least.within(free)) continue;
    if (counts && members < task.count) {
      members += members_that_fit(group, task.count, task.scope, stage.level, slot);
    }
    const bool cramped = !group.full.within(free);
    const int64_t weight = weight_of(free, group.full);
    add({.slot = slot,
         .cramped = cramped,
         .weight = cramped ? -weight : weight,
         .rank = scopes_.rank_of(stage.level, slot)});
  }
  // This group and its likes, which come next, each need a domain of this level.
  if (counts && members < task.count) alternatives_.resize(first);
  // The first descent needs the best one only; the rest is sorted when it is asked for.
  const auto own = std::span(alternatives_).subspan(first);
  if (!own.empty()) std::iter_swap(own.begin(), std::ranges::min_element(own, comes_first));
}

bool Backtrack::enter_pick(uint32_t task) {
  const Task entered = tasks_[task];
  const GroupDemand& group = demand_->group(entered.index);
  if (entered.count == 0 || entered.from == group.item_count) {
    MAINSPRING_CHECK(entered.count == 0, "a group ran out of children");
    current_ = entered.next;
    return true;
  }
  const Item& item = demand_->items(group)[entered.from];
  const uint32_t most = std::min(item.available, entered.count);
  const uint32_t least = entered.count - std::min(entered.count, item.available_after);
  if (most > least) {
    Choice& choice = push_choice(ChoiceKind::kPick);
    choice.index = task;
    choice.tried = most;
    choice.least = least;
  }
  return pick(task, most);
}

// Lighter children are picked first and stand behind the heavier ones: those are placed first.
bool Backtrack::pick(uint32_t task, int64_t count) {
  const Task entered = tasks_[task];
  const Item& item = demand_->items(demand_->group(entered.index))[entered.from];
  uint32_t next = entered.next;
  const auto taken = static_cast<uint32_t>(count);
  if (taken > 0 && item.is_run) {
    next = push_task(TaskKind::kRun, item.index, 0, taken, entered.scope, next);
  } else if (taken > 0) {
    next = push_task(TaskKind::kMembers, item.index, 0, taken, entered.scope, next);
  }
  current_ = push_task(TaskKind::kPick, entered.index, entered.from + 1, entered.count - taken,
                       entered.scope, next);
  return true;
}

bool Backtrack::enter_members(uint32_t task) {
  const Task entered = tasks_[task];
  uint32_t next = entered.next;
  if (entered.count > 1) {
    next = push_task(TaskKind::kMembers, entered.index, entered.from + 1, entered.count - 1,
                     entered.scope, next);
  }
  const uint32_t group = demand_->member(demand_->group_class(entered.index).first + entered.from);
  current_ = push_task(TaskKind::kGroup, group, entered.from, entered.count, entered.scope, next);
  return true;
}

}  // namespace mainspring::placement
