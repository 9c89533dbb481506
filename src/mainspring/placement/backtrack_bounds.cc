// SPDX-License-Identifier: Apache-2.0
// What cuts the search short without losing anything: bounds and likenesses.
#include <algorithm>
#include <functional>
#include <utility>

#include "mainspring/placement/backtrack.h"
#include "mainspring/placement/mixing.h"
#include "mainspring/placement/node_fit.h"

namespace mainspring::placement {

using model::LevelIx;

// How many of `sums_`, largest first, make up `wanted`: raises `fewest`; false if all do not.
bool Backtrack::fewest_of(int64_t wanted, uint32_t& fewest) {
  std::ranges::sort(sums_, std::greater{});
  uint32_t used = 0;
  while (wanted > 0 && used < sums_.size() && sums_[used] > 0) wanted -= sums_[used++];
  fewest = std::max(fewest, used);
  return wanted <= 0;
}

std::span<const uint32_t> Backtrack::nodes_of(LevelIx level, const uint32_t& slot) const {
  if (level == inventory_->node_level()) return {&slot, 1};
  return inventory_->domains()[slot].nodes;
}

// How many pods of the run these nodes take, alone, up to `enough`.
int64_t Backtrack::fits(uint32_t run, std::span<const uint32_t> nodes, uint32_t scope,
                        int64_t enough) const {
  const model::Shape& shape = inventory_->shape(demand_->run(run).shape);
  int64_t sum = 0;
  for (const uint32_t slot : nodes) {
    if (sum >= enough) break;
    if (!scopes_.contains(scope, slot)) continue;
    if (!eligible(*inventory_, shape, inventory_->nodes()[slot])) continue;
    sum += bins_.fit(shape, slot, enough);
  }
  return sum;
}

// A bound from above on how many groups like this one the domain can take side by side: by its
// sums, and, once the search had to turn back, also by what its nodes take of each run.
int64_t Backtrack::members_that_fit(const GroupDemand& group, int64_t count, uint32_t scope,
                                    LevelIx level, uint32_t slot) const {
  const model::Free& free = level == inventory_->node_level()
                                ? bins_.free(slot)
                                : bins_.domain_free(model::DomainIx{slot});
  int64_t most = count;
  const auto bound = [&most](int64_t there, int64_t each) {
    if (each > 0) most = std::min(most, there / each);
  };
  bound(free.gpus, group.least.gpus);
  bound(free.gpu_milli, group.least.gpu_milli);
  for (size_t i = 0; i < model::kResourceCount; ++i) {
    bound(free.resources.amounts[i], group.least.resources.amounts[i]);
  }
  if (!turned_back_) return most;
  for (const Item& item : demand_->items(group)) {
    const int64_t forced = forced_of(group, item);
    if (!item.is_run || forced == 0) continue;
    bound(fits(item.index, nodes_of(level, slot), scope, forced * count), forced);
  }
  return most;
}

// How many of the item's pods or groups every choice of the group's children has.
int64_t Backtrack::forced_of(const GroupDemand& group, const Item& item) {
  const uint32_t others = group.items_available - item.available;
  return group.need > others ? group.need - others : 0;
}

// Equal for domains of one level that can be swapped without any difference to what is left to do.
uint64_t Backtrack::likeness(LevelIx level, uint32_t slot, uint32_t scope) const {
  uint64_t sum = 0;
  for (const uint32_t node : nodes_of(level, slot)) {
    uint64_t key = bins_.key_without(node, level);
    for (uint32_t at = scopes_.counting(scope); at != Scopes::kNone;
         at = scopes_.counting_beyond(at)) {
      const uint32_t counted = scopes_.domain_of(scopes_.level(at), node);
      key = mix(key, scopes_.in_use(at, counted) ? uint64_t{1} : uint64_t{0});
    }
    sum += mix(key);
  }
  return sum;
}

// The alternative before failed: those that are like it would fail as well.
void Backtrack::skip_likes(Choice& choice, const Stage& stage) {
  const uint32_t scope = tasks_[choice.index].scope;
  const auto key_of = [&](const Alternative& alternative) {
    const uint64_t key = mix(mix(choice.key, choice.stage), alternative.most);
    return mix(key, likeness(stage.level, alternative.slot, scope));
  };
  if (!choice.abandoned) {
    failed_.insert(key_of(alternatives_[choice.candidate + choice.position - 1]));
  }
  choice.abandoned = false;
  while (choice.candidate + choice.position < choice.mark.alternatives &&
         failed_.contains(key_of(alternatives_[choice.candidate + choice.position]))) {
    ++choice.position;
  }
}

// Whether what failed cannot be placed even if it came first, though every solution has it. Asked
// once for each run and each group; not where nothing was placed before it, since then the search
// ends anyway.
bool Backtrack::hopeless(const Task& task) {
  if (moves_.empty()) return false;
  const bool is_run = task.kind == TaskKind::kRun;
  if (!is_run && task.kind != TaskKind::kGroup && task.kind != TaskKind::kWish) return false;
  std::vector<uint8_t>& asked = is_run ? asked_runs_ : asked_groups_;
  asked.resize(is_run ? demand_->runs().size() : demand_->groups().size(), 0);
  if (std::exchange(asked[task.index], 1) != 0) return false;
  const uint32_t owner = is_run ? demand_->run(task.index).group : task.index;
  if (!demand_->group(owner).in_every_solution) return false;
  if (is_run) return !fits_alone(owner, task.index, inventory_->nodes_by_rank());
  const GroupDemand& group = demand_->group(owner);
  if (!group.required.valid() || group.anchor.valid()) return false;
  scopes_.domains(Scopes::kEverywhere, group.required, choosable_);
  return std::ranges::none_of(choosable_, [&](const uint32_t& slot) {
    return fits_alone(owner, kNone, nodes_of(group.required, slot));
  });
}

// Whether these nodes, as they were before the search, take what the group needs in any case of the
// run (kNone: of each of its runs, one by one).
bool Backtrack::fits_alone(uint32_t group_number, uint32_t run,
                           std::span<const uint32_t> nodes) const {
  const GroupDemand& group = demand_->group(group_number);
  return std::ranges::all_of(demand_->items(group), [&](const Item& item) {
    if (!item.is_run || (run != kNone && item.index != run)) return true;
    const model::Shape& shape = inventory_->shape(demand_->run(item.index).shape);
    int64_t missing = forced_of(group, item);
    for (size_t i = 0; i < nodes.size() && missing > 0; ++i) {
      const model::Node& node = inventory_->nodes()[nodes[i]];
      const int64_t most = fit_count(shape, node, missing);
      if (most > 0 && eligible(*inventory_, shape, node)) missing -= most;
    }
    return missing <= 0;
  });
}

// A lower bound of the number of domains that the group needs; kNone if all together do not do.
uint32_t Backtrack::fewest_domains(const Task& task, LevelIx few, uint32_t scope) {
  const GroupDemand& group = demand_->group(task.index);
  if (group.anchor.valid()) {
    demand_->held_nodes(task.index, slots_);
    for (uint32_t& slot : slots_) slot = scopes_.domain_of(few, slot);
    std::ranges::sort(slots_);
    return std::max(
        1U, static_cast<uint32_t>(std::unique(slots_.begin(), slots_.end()) - slots_.begin()));
  }
  scopes_.domains(scope, few, domain_list_);
  uint32_t fewest = 1;
  const auto bound = [&](int64_t wanted, auto amount) {
    if (wanted <= 0) return true;
    sums_.clear();
    for (const uint32_t slot : domain_list_) {
      sums_.push_back(amount(few == inventory_->node_level()
                                 ? bins_.free(slot)
                                 : bins_.domain_free(model::DomainIx{slot})));
    }
    return fewest_of(wanted, fewest);
  };
  bool enough =
      bound(group.least.gpus, [](const model::Free& free) { return free.gpus; }) &&
      bound(group.least.gpu_milli, [](const model::Free& free) { return free.gpu_milli; });
  for (size_t i = 0; enough && i < model::kResourceCount; ++i) {
    enough = bound(group.least.resources.amounts[i],
                   [i](const model::Free& free) { return free.resources.amounts[i]; });
  }
  for (const Item& item : demand_->items(group)) {
    const int64_t forced = forced_of(group, item);
    if (!enough || forced == 0) continue;
    sums_.clear();
    if (item.is_run) {
      for (const uint32_t& slot : domain_list_) {
        sums_.push_back(fits(item.index, nodes_of(few, slot), scope, forced));
      }
    } else if (!sum_members(item, forced, few, scope)) {
      continue;
    }
    enough = fewest_of(forced, fewest);
  }
  return enough ? fewest : kNone;
}

// Into `sums_`: how many members of the class each domain of the level takes, where each member
// needs one narrower domain. False where that is not so.
bool Backtrack::sum_members(const Item& item, int64_t forced, LevelIx few, uint32_t scope) {
  const GroupDemand& member =
      demand_->group(demand_->member(demand_->group_class(item.index).first));
  if (!member.required.valid() || member.anchor.valid() || !narrower(member.required, few)) {
    return false;
  }
  scopes_.domains(scope, member.required, domain_list_);
  sum_of_domain_.assign(inventory_->domains().size(), 0);
  for (const uint32_t& slot : domain_list_) {
    const uint32_t outer = scopes_.domain_of(few, nodes_of(member.required, slot).front());
    if (outer == Scopes::kNone) continue;
    sum_of_domain_[outer] += members_that_fit(member, forced, scope, member.required, slot);
  }
  scopes_.domains(scope, few, domain_list_);
  for (const uint32_t slot : domain_list_) sums_.push_back(sum_of_domain_[slot]);
  return true;
}

}  // namespace mainspring::placement
