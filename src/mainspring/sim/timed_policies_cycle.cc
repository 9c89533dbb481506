// SPDX-License-Identifier: Apache-2.0
// When the periodic policy acts, and how long that takes.
#include <algorithm>

#include "mainspring/sim/timed_amounts.h"
#include "mainspring/sim/timed_policies.h"

namespace mainspring::sim {

using base::Instant;
using model::ClusterState;

namespace {

// A cycle's cost is reckoned from so many waiting jobs at most.
constexpr int kJobsReckoned = 1000;

base::Duration duration_of(int64_t microseconds) {
  return base::milliseconds((microseconds + 999) / 1000);
}

}  // namespace

void TimedPolicy::pass_cycle(ClusterState& state, Instant now, model::Plan& plan) {
  const bool changed = state.job_changes().end() != seen_changes_;
  if (!acts_at_ && lines_.anybody_waits() && changed) {
    const Instant begin = next_cycle(now);
    if (begin > now) {
      plan.next_wake = begin;
      return;
    }
    acts_at_ = now + cost_of_cycle(state);
  }
  if (acts_at_ && *acts_at_ <= now) {
    acts_at_.reset();
    cycle_from_ = now + rules_.cycles->period;
    decide_now(state, now, plan);
    lines_.sync(state);
    seen_changes_ = state.job_changes().end();
  }
  if (acts_at_) plan.next_wake = *acts_at_;
}

// While nothing changes it cycles all the same: whoever arrives then waits for the next beginning.
Instant TimedPolicy::next_cycle(Instant now) const {
  if (now <= cycle_from_) return cycle_from_;
  const int64_t step_ms = rules_.cycles->period.ms + duration_of(rules_.cycles->cycle_us).ms;
  const int64_t steps = ((now - cycle_from_).ms + step_ms - 1) / step_ms;
  return cycle_from_ + base::milliseconds(steps * step_ms);
}

// What the cycle will do, by counting GPUs alone.
base::Duration TimedPolicy::cost_of_cycle(const ClusterState& state) const {
  const PeriodicCosts& costs = *rules_.cycles;
  int64_t cost_us = costs.cycle_us;
  int64_t free = state.inventory().total_free().gpus;
  for (const auto& [id, owed] : owed_) {
    const model::JobIx index = state.find_job(id);
    if (!index.valid()) continue;
    if (any_stops(state, owed)) {
      free -= owed.from_free;
      continue;
    }
    const model::Job& job = state.job(index);
    free -= gpus_wanted(state, job);
    cost_us += std::ssize(owed.victims) * costs.settle_us + job.pods_pending * costs.bind_us;
  }
  int looked_at = 0;
  for (const auto& [signature, line] : lines_.lines()) {
    if (line.refused_at_gains == state.inventory().gains()) continue;
    for (const ArrivalKey& key : line.jobs) {
      if (++looked_at > kJobsReckoned) break;
      const model::Job& job = state.jobs()[key.slot];
      if (owed_.contains(job.id)) continue;
      const int64_t wanted = gpus_wanted(state, job);
      if (wanted <= free) {
        free -= wanted;
        cost_us += job.pods_pending * costs.bind_us;
        continue;
      }
      if (within_quota(state, job, wanted)) {
        cost_us += pods_to_evict(state, job, wanted - free) * (costs.plan_us + costs.evict_us);
      }
      break;
    }
  }
  return duration_of(cost_us);
}

int64_t TimedPolicy::pods_to_evict(const ClusterState& state, const model::Job& winner,
                                   int64_t gpus) const {
  int64_t pods = 0;
  for (const model::JobIx index : candidates(state, winner)) {
    if (gpus <= 0) break;
    const model::Job& victim = state.job(index);
    gpus -= gpus_held(state, victim);
    pods += victim.pods_holding;
  }
  return gpus > 0 ? 0 : pods;
}

}  // namespace mainspring::sim
