// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/gang_search.h"

#include <algorithm>

#include "mainspring/base/check.h"

namespace mainspring::placement {

using model::Job;
using model::ReasonCode;
using model::Verdict;
using model::VerdictKind;

GangSearch::GangSearch(const Scorer& scorer, const GangSearchOptions& options)
    : options_(options), index_(scorer, options.index_costs_max), search_(scorer, index_) {}

Verdict GangSearch::place(model::Trial& trial, const model::PlaceRequest& request) {
  const model::ClusterState& state = trial.state();
  const Job& job = state.job(request.job);
  demand_.compile(state, job);
  search_.begin(state.inventory(), demand_);
  if (demand_.unknown_level()) {
    return {.kind = VerdictKind::kNever, .code = ReasonCode::kUnknownLevel};
  }
  const GroupDemand& root = demand_.group(0);
  if (root.need > 0) {
    if (!root.least.within(state.inventory().total_free())) {
      return refusal(state, job, SearchEnd::kImpossible);
    }
    const SearchEnd end = find_least();
    if (end != SearchEnd::kFound) return refusal(state, job, end);
  }
  if (request.grow) grow();
  book(trial, request.when);
  return {};
}

// Wishes multiply what there is to try. Where that ended the search, it starts once more without
// them: nobody waits because of a preference.
SearchEnd GangSearch::find_least() {
  const bool wishes = std::ranges::any_of(
      demand_.groups(), [](const GroupDemand& group) { return group.preferred.valid(); });
  SearchLimits limits = options_.limits;
  if (wishes) limits.steps_max /= 4;
  const SearchEnd end = search_.find(0, Scopes::kEverywhere, wishes, limits);
  if (end != SearchEnd::kCutShort || !wishes) return end;
  return search_.find(0, Scopes::kEverywhere, false, options_.limits);
}

// Above the minimum: every group that runs takes what fits of its other children, as they come.
void GangSearch::grow() {
  const size_t count = demand_.groups().size();
  scope_of_group_.assign(count, Scopes::kNone);
  search_.ignore_bounds();
  used_of_run_.assign(demand_.runs().size(), 0);
  moves_counted_ = 0;
  for (const Backtrack::Entered& entered : search_.entered()) {
    scope_of_group_[entered.group] = entered.scope;
  }
  for (uint32_t group = 0; group < count; ++group) {
    uint32_t& scope = scope_of_group_[group];
    if (scope == Scopes::kNone && demand_.group(group).need == 0) {
      // It had its minimum before the search.
      const uint32_t around =
          group == 0 ? Scopes::kEverywhere : scope_of_group_[demand_.parent(group)];
      if (around != Scopes::kNone) scope = search_.growth_scope(group, around);
    }
    if (scope != Scopes::kNone) grow_group(group, scope);
  }
}

void GangSearch::count_used() {
  for (; moves_counted_ < search_.moves().size(); ++moves_counted_) {
    const Backtrack::Move& move = search_.moves()[moves_counted_];
    used_of_run_[move.run] += move.pods;
  }
}

void GangSearch::grow_group(uint32_t group, uint32_t scope) {
  for (const Item& item : demand_.items(demand_.group(group))) {
    if (item.is_run) {
      count_used();
      const uint32_t left = item.available - used_of_run_[item.index];
      if (left > 0) search_.fill(item.index, scope, left);
      continue;
    }
    const GroupClass& members = demand_.group_class(item.index);
    for (uint32_t i = 0; i < members.count; ++i) {
      const uint32_t member = demand_.member(members.first + i);
      if (scope_of_group_[member] != Scopes::kNone) continue;
      const SearchLimits limits{options_.growth_steps_max, options_.limits.steps_per_wish};
      const size_t entered = search_.entered().size();
      if (search_.find(member, scope, true, limits) != SearchEnd::kFound) break;
      for (const Backtrack::Entered& row : search_.entered().subspan(entered)) {
        scope_of_group_[row.group] = row.scope;
      }
    }
  }
}

void GangSearch::book(model::Trial& trial, base::Interval when) {
  used_of_run_.assign(demand_.runs().size(), 0);
  for (const Backtrack::Move& move : search_.moves()) {
    // Dealt round by round: no pod gets a device twice, since no device has more parts than pods.
    masks_.assign(move.pods, 0);
    size_t next = 0;
    for (const Backtrack::Unit& unit : search_.units(move)) {
      for (uint32_t i = 0; i < unit.pods; ++i) {
        masks_[next++ % move.pods] |= model::DeviceMask{1} << unit.device;
      }
    }
    const model::NodeIx node = trial.state().inventory().index_of(move.node);
    for (const model::DeviceMask devices : masks_) {
      const Run& run = demand_.run(move.run);
      trial.place(demand_.pod(run.first + used_of_run_[move.run]++), node, devices, when);
    }
  }
}

Verdict GangSearch::refusal(const model::ClusterState& state, const Job& job, SearchEnd end) const {
  const model::Inventory& inventory = state.inventory();
  Verdict verdict{.kind = VerdictKind::kNotNow, .code = ReasonCode::kFragmented};
  if (end == SearchEnd::kCutShort) {
    verdict.code = ReasonCode::kSearchCutShort;
  } else if (inventory.node_count() == 0) {
    verdict.code = ReasonCode::kNoNodes;
  } else if (!demand_.group(0).least.within(inventory.total_free())) {
    verdict.code = ReasonCode::kNotEnoughFree;
  }
  if (search_.culprit_run() < demand_.runs().size()) {
    verdict.culprit = state.pod(demand_.pod(demand_.run(search_.culprit_run()).first)).id;
  } else if (search_.culprit_group() < job.groups.size()) {
    verdict.culprit = inventory.name(job.groups[search_.culprit_group()].name);
  }
  return verdict;
}

}  // namespace mainspring::placement
