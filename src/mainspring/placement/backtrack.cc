// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/backtrack.h"

#include <algorithm>

#include "mainspring/base/check.h"
#include "mainspring/placement/mixing.h"

namespace mainspring::placement {

void Backtrack::begin(const model::Inventory& inventory, const JobDemand& demand) {
  inventory_ = &inventory;
  demand_ = &demand;
  demand.held_nodes(0, named_);
  std::ranges::sort(named_);
  shapes_.clear();
  for (const Run& run : demand.runs()) shapes_.push_back(run.shape);
  rules_.begin(inventory, shapes_);
  bins_.begin(inventory, {.levels = demand.levels(),
                          .label_keys = demand.label_keys(),
                          .named = named_,
                          .besides = demand.asks_besides(),
                          .rules = rules_.any() ? &rules_ : nullptr});
  scopes_.begin(inventory);
  index_.begin();
  failed_.clear();
  tasks_.assign(1, Task{});
  frame_count_ = 0;
  devices_.clear();
  alternatives_.clear();
  moves_.clear();
  units_.clear();
  entered_.clear();
  choices_.clear();
  asked_runs_.clear();
  asked_groups_.clear();
  steps_ = 0;
  culprit_group_ = culprit_run_ = kNone;
}

SearchEnd Backtrack::find(uint32_t group, uint32_t scope, bool wishes, const SearchLimits& limits) {
  const Mark before = mark();
  limits_ = limits;
  limits_.steps_max += steps_;
  wishes_ = wishes;
  turned_back_ = cut_ = false;
  soft_ = kNone;
  choices_.clear();
  failed_.clear();
  current_ = push_task(TaskKind::kGroup, group, 0, 0, scope, 0);
  const bool found = run_to_end();
  choices_.clear();
  if (found) return SearchEnd::kFound;
  restore(before);
  return cut_ ? SearchEnd::kCutShort : SearchEnd::kImpossible;
}

Backtrack::Mark Backtrack::mark() const {
  return {.bins = bins_.mark(),
          .scopes = scopes_.mark(),
          .tasks = static_cast<uint32_t>(tasks_.size()),
          .frames = frame_count_,
          .devices = static_cast<uint32_t>(devices_.size()),
          .alternatives = static_cast<uint32_t>(alternatives_.size()),
          .moves = static_cast<uint32_t>(moves_.size()),
          .units = static_cast<uint32_t>(units_.size()),
          .entered = static_cast<uint32_t>(entered_.size())};
}

void Backtrack::restore(const Mark& mark) {
  bins_.undo(mark.bins);
  scopes_.undo(mark.scopes);
  tasks_.resize(mark.tasks);
  frame_count_ = mark.frames;
  devices_.resize(mark.devices);
  alternatives_.resize(mark.alternatives);
  for (size_t i = moves_.size(); rules_.any() && i-- > mark.moves;) {
    const Move& move = moves_[i];
    rules_.add(demand_->run(move.run).shape, move.node, -static_cast<int32_t>(move.pods));
  }
  moves_.resize(mark.moves);
  units_.resize(mark.units);
  entered_.resize(mark.entered);
}

uint32_t Backtrack::push_task(TaskKind kind, uint32_t index, uint32_t from, uint32_t count,
                              uint32_t scope, uint32_t next) {
  uint64_t hash = mix(tasks_[next].hash, static_cast<uint32_t>(kind));
  hash = mix(mix(mix(hash, index), from), count);
  tasks_.push_back({.kind = kind,
                    .index = index,
                    .from = from,
                    .count = count,
                    .scope = scope,
                    .next = next,
                    .hash = mix(hash, scopes_.hash(scope))});
  return static_cast<uint32_t>(tasks_.size() - 1);
}

bool Backtrack::run_to_end() {
  while (tasks_[current_].kind != TaskKind::kEnd) {
    if (step()) continue;
    note_failure(tasks_[current_]);
    if (hopeless(tasks_[current_]) || !turn_back()) return false;
  }
  return true;
}

bool Backtrack::step() {
  switch (tasks_[current_].kind) {
    case TaskKind::kEnd:
      break;
    case TaskKind::kGroup:
      return enter_group(current_);
    case TaskKind::kWish:
      return enter_wish(current_);
    case TaskKind::kPick:
      return enter_pick(current_);
    case TaskKind::kMembers:
      return enter_members(current_);
    case TaskKind::kRun:
      return enter_run(current_);
  }
  MAINSPRING_CHECK(false, "a search stepped past its end");
  return false;
}

// The first dead end names what to look at: what was placed before it had found its place.
void Backtrack::note_failure(const Task& task) {
  if (turned_back_ || culprit_group_ != kNone || culprit_run_ != kNone) return;
  if (task.kind == TaskKind::kRun) {
    culprit_run_ = task.index;
  } else if (task.kind == TaskKind::kGroup || task.kind == TaskKind::kWish) {
    culprit_group_ = task.index;
  }
}

bool Backtrack::turn_back() {
  turned_back_ = true;
  while (!choices_.empty()) {
    if (soft_ != kNone && steps_ > choices_[soft_].deadline) {
      // The allowance of this wish is used up: nothing is known about what was left untried.
      while (choices_.size() > size_t{soft_} + 1) choices_.pop_back();
      choices_.back().abandoned = true;
    }
    if (steps_ >= limits_.steps_max) {
      cut_ = true;
      return false;
    }
    ++steps_;
    restore(choices_.back().mark);
    if (advance()) return true;
  }
  return false;
}

bool Backtrack::advance() {
  switch (choices_.back().kind) {
    case ChoiceKind::kFailedState:
      failed_.insert(choices_.back().key);
      pop_choice();
      return false;
    case ChoiceKind::kAlternative:
      return next_alternative();
    case ChoiceKind::kPick: {
      Choice& choice = choices_.back();
      const uint32_t task = choice.index;
      const int64_t count = --choice.tried;
      if (count == choice.least) pop_choice();
      return pick(task, count);
    }
    case ChoiceKind::kSpread:
      return advance_spread();
    case ChoiceKind::kSplit:
      return advance_split();
  }
  return false;
}

void Backtrack::pop_choice() {
  if (soft_ + size_t{1} == choices_.size()) soft_ = choices_.back().soft_before;
  choices_.pop_back();
}

Backtrack::Choice& Backtrack::push_choice(ChoiceKind kind) {
  choices_.emplace_back();
  choices_.back().kind = kind;
  choices_.back().mark = mark();
  return choices_.back();
}

uint64_t Backtrack::state_key(const Task& task) const {
  return mix(mix(task.hash, bins_.hash()), scopes_.opened_hash());
}

bool Backtrack::watch(const Task& task) {
  const uint64_t key = state_key(task);
  if (failed_.contains(key)) return false;
  push_choice(ChoiceKind::kFailedState).key = key;
  return true;
}

}  // namespace mainspring::placement
