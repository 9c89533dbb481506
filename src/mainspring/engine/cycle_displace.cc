// SPDX-License-Identifier: Apache-2.0
// The parts of a cycle that displace others, and that give to jobs what was promised to them.
#include <algorithm>
#include <utility>

#include "mainspring/base/check.h"
#include "mainspring/engine/cycle.h"
#include "mainspring/engine/decisions.h"
#include "mainspring/model/gang.h"
#include "mainspring/policy/admission.h"

namespace mainspring::engine {

using base::Instant;
using model::ClusterState;
using model::JobIx;
using model::Plan;

namespace {

// A job that could not be helped by moving others is not tried again at once: the pause grows with
// its wait, so that the number of tries grows with the logarithm of it.
constexpr int64_t kMovePauseMsMin = 30'000;
constexpr int64_t kMovePauseMsMax = 3'600'000;
constexpr int64_t kMovePausesPerWait = 4;

base::Duration move_pause(const model::Job& job, Instant now) {
  const int64_t waited = (now - job.submitted_at).ms;
  return {std::clamp(waited / kMovePausesPerWait, kMovePauseMsMin, kMovePauseMsMax)};
}

bool some_queue_holds_too_much(const ClusterState& state, const policy::QueueShares& shares) {
  for (uint32_t slot = 0; slot < state.queues().rows().size(); ++slot) {
    const model::Queue& queue = state.queues().rows()[slot];
    if (!queue.rooted || !queue.children.empty()) continue;
    for (const size_t dimension : shares.dimensions()) {
      if (queue.held(dimension) > shares.share(model::QueueIx{slot}, dimension)) return true;
    }
  }
  return false;
}

}  // namespace

bool Engine::may_redeem(const ClusterState& state, JobIx index) {
  const model::Job& job = state.job(index);
  if (job.promise_broken || job.releasing || !promises_.worth_asking(state, index)) return false;
  ++counts_.promises_asked;
  // A job that moves waits until the last of its old pods is gone.
  if (state.promise_clear(index)) return policy::within_limits(state, shares_, index);
  promises_.found_blocked(index);
  return false;
}

void Engine::redeem(ClusterState& state, Instant now, Plan& plan) {
  promises_.catch_up(state);
  std::vector<std::pair<Instant, uint32_t>> promised(queue_.promised().begin(),
                                                     queue_.promised().end());
  // Slots differ after a restart; ids do not.
  std::ranges::sort(promised, [&state](const auto& left, const auto& right) {
    if (left.first != right.first) return left.first < right.first;
    return state.jobs()[left.second].id < state.jobs()[right.second].id;
  });
  for (const auto& [until, slot] : promised) {
    const JobIx index = state.job_index(slot);
    const model::Job& job = state.job(index);
    if (!may_redeem(state, index)) {
      if (job.promise_broken || until <= now) end_promise(state, index, now, plan);
      continue;
    }
    model::Bind decision{.job = job.id, .pods = {}};
    std::vector<model::PodIx> pods;
    pods.reserve(job.promises.size());
    for (const model::Promise& place : job.promises) pods.push_back(place.pod);
    state.redeem(index);
    for (const model::PodIx pod : pods) decision.pods.push_back(binding_of(state, pod));
    MAINSPRING_CHECK(minimum_met(state, job, model::Counts::kHolding),
                     "a job was promised less than its minimum");
    if (is_gang(job)) {
      state.set_start_deadline(index, now + state.config().gang_start_timeout);
    }
    ++counts_.jobs_started;
    counts_.pods_bound += static_cast<int64_t>(decision.pods.size());
    plan.decisions.emplace_back(std::move(decision));
  }
  queue_.sync(state, now);
}

void Engine::end_promise(ClusterState& state, JobIx index, Instant now, Plan& plan) {
  const model::Job& job = state.job(index);
  const Instant retry_at = now + model::retry_backoff(state.config(), job.failed_starts);
  plan.decisions.emplace_back(model::PromiseEnded{
      .job = job.id,
      .why = job.promise_broken ? model::PromiseEnd::kBroken : model::PromiseEnd::kLate,
      .retry_at = retry_at});
  state.end_promise(index, retry_at);
}

bool Engine::try_displace(ClusterState& state, JobIx index, Instant now, Plan& plan,
                          policy::Refusal& refusal) {
  const policy::Rights rights(state, shares_, index, now);
  if (rights.from() > now) {
    refusal.retry_at = rights.from();
    return false;
  }
  refusal.may_displace = true;
  const auto room = find_room(state, index, rights, now, refusal);
  if (!room) return false;
  carry_out_room(state, *room, index, now, plan);
  return true;
}

policy::VictimPool& Engine::victims(const ClusterState& state, Instant now) {
  if (!victims_) victims_ = std::make_unique<policy::VictimPool>(state, now);
  return *victims_;
}

void Engine::carry_out_room(ClusterState& state, const policy::Room& room, JobIx winner,
                            Instant now, Plan& plan) {
  counts_.jobs_displaced += static_cast<int64_t>(room.victims.size());
  for (const policy::RoomVictim& victim : room.victims) {
    victims(state, now).add_stopping(victim.pods);
  }
  plan.decisions.emplace_back(carry_out(state, room, winner, now));
}

// Cheap tests that rule out most searches.
bool Engine::room_is_thinkable(const ClusterState& state, JobIx index,
                               const policy::Rights& rights) const {
  const model::Job& job = state.job(index);
  const auto lowest = queue_.lowest_held(state, job.queue);
  if (lowest && *lowest < job.priority) return true;
  return rights.starved() && some_queue_holds_too_much(state, shares_);
}

std::optional<policy::Room> Engine::find_room(ClusterState& state, JobIx index,
                                              const policy::Rights& rights, Instant now,
                                              policy::Refusal& refusal) {
  const bool thinkable = room_is_thinkable(state, index, rights);
  if (thinkable) {
    auto room = policy::await_room(state, *search_, victims(state, now), rights, index, now);
    if (room) return room;
  }
  // Moving costs less than stopping, where there is enough room in sum.
  const model::Job& job = state.job(index);
  const int64_t free_milli = state.inventory().total_free().gpu_milli;
  const int64_t least = rights.least()[model::kGpuDimension];
  const bool may_move = state.config().consolidate_lost_max.ms > 0 && least > 0 &&
                        least <= free_milli && (rights.starved() || !state.queues().declared());
  if (may_move && job.move_retry_at <= now) {
    ++counts_.rooms_sought;
    auto hole =
        policy::make_hole(state, *search_, victims(state, now), rights, index, now, options_.room);
    if (hole.room) return std::move(hole.room);
    state.set_move_retry(index, now + move_pause(job, now));
  }
  if (may_move) refusal.retry_at = job.move_retry_at;
  return thinkable ? stop_others(state, index, rights, now, refusal) : std::nullopt;
}

std::optional<policy::Room> Engine::stop_others(ClusterState& state, JobIx index,
                                                const policy::Rights& rights, Instant now,
                                                policy::Refusal& refusal) {
  ++counts_.rooms_sought;
  auto answer =
      policy::make_room(state, *search_, victims(state, now), rights, index, now, options_.room);
  refusal.retry_at = std::min(refusal.retry_at, answer.retry_at);
  return std::move(answer.room);
}

}  // namespace mainspring::engine
