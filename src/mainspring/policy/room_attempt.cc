// SPDX-License-Identifier: Apache-2.0
#include "mainspring/policy/room_attempt.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "mainspring/base/check.h"
#include "mainspring/model/gang.h"
#include "mainspring/policy/lost_work.h"

namespace mainspring::policy {

using model::DisplaceRule;
using model::Job;
using model::JobIx;
using model::Pod;
using model::PodIx;
using model::VerdictKind;

namespace {

base::Interval interval_of(const Job& job, base::Instant now) {
  return {now, job.expected_run.ms > 0 ? now + job.expected_run : base::Instant::never()};
}

std::vector<model::Promise> proposed(const model::ClusterState& state, const Job& job) {
  std::vector<model::Promise> places;
  for (const PodIx index : job.pods) {
    const Pod& pod = state.pod(index);
    if (pod.holding != model::HoldingState::kProposed) continue;
    places.push_back({.pod = index, .node = pod.node, .devices = pod.devices});
  }
  return places;
}

}  // namespace

RoomAttempt::RoomAttempt(model::ClusterState& state, model::Placer& placer, const VictimPool& pool,
                         const Rights& rights, JobIx claimant, base::Instant now, bool moves)
    : state_(state),
      placer_(placer),
      pool_(pool),
      rights_(rights),
      claimant_(claimant),
      now_(now),
      moves_(moves),
      trial_(state) {
  if (!moves) {
    for (const PodIx pod : pool.stopping()) {
      if (state.pod(pod).holds()) trial_.vacate(pod);
    }
  }
  base_ = trial_.mark();
}

bool RoomAttempt::find(std::span<const uint32_t> units, uint32_t strict_units_max) {
  marks_.assign(1, trial_.mark());
  taken_before_.assign(1, 0);
  if (!shortest_prefix(units)) return false;
  join_whole_jobs();
  put_back_spared();
  return try_without_each(strict_units_max) && !taken_.empty();
}

void RoomAttempt::take(uint32_t number) {
  const VictimUnit& unit = pool_.units()[number];
  const Job& job = state_.job(unit.job);
  DisplaceRule rule = DisplaceRule::kConsolidate;
  if (!moves_) {
    const auto right = rights_.rule_for(job);
    if (!right) return;
    rule = *right;
  }
  Taken taken{.unit = number, .rule = rule, .pods = {}};
  for (const PodIx pod : pool_.pods(unit)) {
    // A pod above the minimum may have gone before its whole job, here or for somebody else.
    const bool stays =
        state_.pod(pod).holds() && state_.pod(pod).phase != model::PodPhase::kStopping;
    if (stays) taken.pods.push_back(pod);
  }
  taken.gpu_milli = gpu_milli_of(state_, taken.pods);
  for (const PodIx pod : taken.pods) trial_.vacate(pod);
  if (!taken.pods.empty()) taken_.push_back(std::move(taken));
}

// The Trial with exactly the first `count` units gone, as far as they may go, and nothing placed.
void RoomAttempt::advance(std::span<const uint32_t> units, size_t count) {
  const size_t known = marks_.size() - 1;
  if (count <= known) {
    trial_.rollback(marks_[count]);
    taken_.resize(taken_before_[count]);
    marks_.resize(count + 1);
    taken_before_.resize(count + 1);
    return;
  }
  trial_.rollback(marks_[known]);
  for (size_t i = known; i < count; ++i) {
    take(units[i]);
    marks_.push_back(trial_.mark());
    taken_before_.push_back(taken_.size());
  }
}

bool RoomAttempt::enough_in_sum() const {
  const model::Free& free = state_.inventory().total_free();
  const LeastCharge& least = rights_.least();
  return free.gpu_milli >= least[model::kGpuDimension] &&
         free.resources[model::Resource::kCpuMilli] >= least[model::kCpuDimension] &&
         free.resources[model::Resource::kMemoryBytes] >= least[model::kMemoryDimension];
}

bool RoomAttempt::holds() const {
  return moves_ ? rights_.within_shares_after() : rights_.holds_after();
}

// Places the claimant, and those that move; on false the Trial is as it was.
bool RoomAttempt::fits() {
  if (!enough_in_sum()) return false;
  const model::Trial::Mark mark = trial_.mark();
  const Job& job = state_.job(claimant_);
  const model::Verdict verdict =
      placer_.place(trial_, {.job = claimant_, .when = interval_of(job, now_), .grow = false});
  // The search reckons with members that stop; the minimum does not.
  const bool placed =
      verdict.kind == VerdictKind::kNow && minimum_met(state_, job, model::Counts::kHolding);
  if (placed && (!moves_ || move_others()) && holds()) return true;
  trial_.rollback(mark);
  return false;
}

// Largest first, as they are the hardest to place.
bool RoomAttempt::move_others() {
  std::vector<const Taken*> order;
  order.reserve(taken_.size());
  for (const Taken& taken : taken_) order.push_back(&taken);
  std::ranges::stable_sort(order, [this](const Taken* left, const Taken* right) {
    return pool_.units()[left->unit].gpu_milli > pool_.units()[right->unit].gpu_milli;
  });
  return std::ranges::all_of(order, [this](const Taken* taken) {
    const JobIx index = pool_.units()[taken->unit].job;
    const Job& job = state_.job(index);
    const size_t held = taken->pods.size();
    const model::Verdict verdict =
        placer_.place(trial_, {.job = index, .when = interval_of(job, now_), .grow = true});
    if (verdict.kind != VerdictKind::kNow) return false;
    // All that ran goes on running, and nothing of it stays where it is.
    const std::vector<model::Promise> places = proposed(state_, job);
    return places.size() >= held && minimum_met(state_, job, model::Counts::kHolding);
  });
}

bool RoomAttempt::shortest_prefix(std::span<const uint32_t> units) {
  size_t count = 0;
  while (count < units.size() && (count == 0 || !enough_in_sum())) advance(units, ++count);
  size_t failed = count - 1;
  size_t step = 1;
  while (!fits()) {
    if (count == units.size()) return false;
    failed = count;
    count = std::min(count + step, units.size());
    step *= 2;
    advance(units, count);
  }
  size_t found = count;
  while (found - failed > 1) {
    const size_t middle = failed + (found - failed) / 2;
    advance(units, middle);
    if (fits()) {
      found = middle;
    } else {
      failed = middle;
    }
  }
  advance(units, found);
  const bool again = fits();
  MAINSPRING_CHECK(again, "a placement was not found a second time");
  return true;
}

// Where a whole job goes, its pods above the minimum go with it and not by themselves.
void RoomAttempt::join_whole_jobs() {
  for (size_t i = 0; i < taken_.size(); ++i) {
    const VictimUnit& unit = pool_.units()[taken_[i].unit];
    if (!unit.whole) continue;
    Taken whole = std::move(taken_[i]);
    const auto of_same_job = [&](const Taken& other) {
      if (other.unit == whole.unit || pool_.units()[other.unit].job != unit.job) return false;
      whole.pods.insert(whole.pods.end(), other.pods.begin(), other.pods.end());
      whole.gpu_milli += other.gpu_milli;
      return true;
    };
    const auto erased = std::erase_if(taken_, of_same_job);
    i -= erased;  // they stand before it: pods above a minimum are cheaper
    taken_[i] = std::move(whole);
  }
}

// Units whose places nobody took, the dearest first.
void RoomAttempt::put_back_spared() {
  if (moves_) return;  // their places may be taken by each other; each is tried below
  for (size_t i = taken_.size(); i-- > 0;) {
    if (put_back(taken_[i])) taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

bool RoomAttempt::put_back(const Taken& taken) {
  const model::Trial::Mark mark = trial_.mark();
  for (const PodIx pod : taken.pods) {
    if (trial_.put_back(pod)) continue;
    trial_.rollback(mark);
    return false;
  }
  if (holds()) return true;
  trial_.rollback(mark);
  return false;
}

bool RoomAttempt::needed_in_sum(const Taken& taken) const {
  // With the claimant placed: what is left would have to make up for the unit.
  const int64_t spare = state_.inventory().total_free().gpu_milli;
  return taken.gpu_milli > spare;
}

// The claimant could lie elsewhere if a unit stayed: each is tried, the dearest first. What cannot
// go without one unit cannot go without it either when fewer are gone, so one pass is enough. False
// where nothing is found in the end.
bool RoomAttempt::try_without_each(uint32_t strict_units_max) {
  std::vector<uint32_t> kept;
  kept.reserve(taken_.size());
  for (const Taken& taken : taken_) kept.push_back(taken.unit);
  const auto again = [this](const std::vector<uint32_t>& units) {
    trial_.rollback(base_);
    taken_.clear();
    for (const uint32_t unit : units) take(unit);
    return taken_.size() == units.size() && fits();
  };
  if (kept.size() > 1 && kept.size() <= strict_units_max) {
    for (size_t i = kept.size(); i-- > 0 && kept.size() > 1;) {
      const auto place = std::ranges::find(taken_, kept[i], &Taken::unit);
      if (!moves_ && place != taken_.end() && needed_in_sum(*place)) continue;
      std::vector<uint32_t> fewer = kept;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (again(fewer)) {
        kept = std::move(fewer);
      } else if (!again(kept)) {
        // Where rules among pods play a part, who stays decides which place is the best, and the
        // next job may not fit beside it.
        return false;
      }
    }
  }
  return true;
}

int64_t RoomAttempt::lost_gpu_ms() const {
  int64_t lost = 0;
  for (const Taken& taken : taken_) lost += pool_.units()[taken.unit].lost_gpu_ms;
  return lost;
}

int32_t RoomAttempt::highest_priority() const {
  int32_t highest = INT32_MIN;
  for (const Taken& taken : taken_) {
    highest = std::max(highest, state_.job(pool_.units()[taken.unit].job).priority);
  }
  return highest;
}

int64_t RoomAttempt::displaced_gpu_milli() const {
  int64_t milli = 0;
  for (const Taken& taken : taken_) milli += taken.gpu_milli;
  return milli;
}

int64_t RoomAttempt::largest_gpu_milli() const {
  int64_t most = 0;
  for (const Taken& taken : taken_) most = std::max(most, taken.gpu_milli);
  return most;
}

Room RoomAttempt::room() const {
  Room room{.rule = taken_.empty() ? DisplaceRule::kHold : DisplaceRule::kPreempt,
            .lost_gpu_ms = lost_gpu_ms()};
  room.promised.emplace_back(claimant_, proposed(state_, state_.job(claimant_)));
  std::map<std::string, RoomVictim> victims;
  for (const Taken& taken : taken_) {
    const VictimUnit& unit = pool_.units()[taken.unit];
    RoomVictim& victim = victims[state_.job(unit.job).id];
    if (victim.pods.empty())
      victim = {.job = unit.job, .pods = {}, .whole = false, .rule = taken.rule};
    victim.pods.insert(victim.pods.end(), taken.pods.begin(), taken.pods.end());
    victim.whole = victim.whole || unit.whole;
    room.rule = std::max(room.rule, taken.rule);
  }
  for (auto& [id, victim] : victims) {
    if (moves_) room.promised.emplace_back(victim.job, proposed(state_, state_.job(victim.job)));
    room.victims.push_back(std::move(victim));
  }
  return room;
}

}  // namespace mainspring::policy
