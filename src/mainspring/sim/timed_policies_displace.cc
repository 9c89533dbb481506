// SPDX-License-Identifier: Apache-2.0
// Whom the baseline policies displace.
#include <algorithm>
#include <utility>

#include "mainspring/sim/timed_amounts.h"
#include "mainspring/sim/timed_policies.h"

namespace mainspring::sim {

using base::Instant;
using model::ClusterState;
using model::JobIx;

namespace {

// All pods of the job again, or none.
bool put_back(model::Trial& trial, const model::Job& job) {
  const auto mark = trial.mark();
  for (const model::PodIx pod : job.pods) {
    if (trial.state().pod(pod).phase != model::PodPhase::kPending) continue;
    if (trial.put_back(pod)) continue;
    trial.rollback(mark);
    return false;
  }
  return true;
}

}  // namespace

// Who may be displaced for the job, in the order in which they are taken.
std::vector<JobIx> TimedPolicy::candidates(const ClusterState& state,
                                           const model::Job& winner) const {
  std::vector<JobIx> found;
  std::map<uint32_t, int64_t> excess;  // by queue slot, as victims are taken
  for (auto key = lines_.running().rbegin(); key != lines_.running().rend(); ++key) {
    const model::Job& job = state.jobs()[key->slot];
    if (!job.preemptible) continue;
    const bool later = job.submitted_at > winner.submitted_at;
    if (rules_.takes == Takes::kLaterCome && !later) continue;
    if (rules_.takes == Takes::kLowerPriority && job.priority >= winner.priority) continue;
    if (rules_.takes == Takes::kBeyondQuota) {
      if (job.queue == winner.queue) continue;
      const auto [left, first] = excess.try_emplace(job.queue.slot, 0);
      if (first) left->second = excess_milli(state, job.queue);
      // Not below its quota by more than the last victim is wide.
      if (left->second <= 0) continue;
      left->second -= gpus_held(state, job) * 1000;
    }
    found.push_back(state.job_index(key->slot));
  }
  return found;
}

std::vector<JobIx> TimedPolicy::choose_victims(ClusterState& state, JobIx winner,
                                               const std::vector<JobIx>& candidates,
                                               Instant now) const {
  const int64_t wanted = gpus_wanted(state, state.job(winner));
  model::Trial trial(state);
  std::vector<JobIx> taken;
  bool fits = false;
  for (const JobIx candidate : candidates) {
    for (const model::PodIx pod : state.job(candidate).pods) {
      if (state.pod(pod).holds()) trial.vacate(pod);
    }
    taken.push_back(candidate);
    if (state.inventory().total_free().gpus < wanted) continue;
    fits = place(trial, winner, now);
    if (fits) break;
  }
  if (fits) {
    // Whoever can stay beside the job stays: the first that would have come last.
    std::erase_if(taken, [&](JobIx victim) { return put_back(trial, state.job(victim)); });
  }
  trial.rollback(0);
  if (!fits) taken.clear();
  return taken;
}

void TimedPolicy::displace_for(ClusterState& state, JobIx index, Instant now, model::Plan& plan) {
  const model::Job& job = state.job(index);
  if (!job.may_displace || owed_.contains(job.id)) return;
  const int64_t wanted = gpus_wanted(state, job);
  if (rules_.takes == Takes::kBeyondQuota) {
    const int64_t after = excess_milli(state, job.queue) + wanted * 1000;
    if (!state.queues().row(job.queue).declared || after > 0) return;
  }
  const int64_t free = state.inventory().total_free().gpus;
  const std::vector<JobIx> allowed = candidates(state, job);
  int64_t freed = 0;
  for (const JobIx victim : allowed) freed += gpus_held(state, state.job(victim));
  if (free + freed < wanted) return;
  const std::vector<JobIx> victims = choose_victims(state, index, allowed, now);
  if (victims.empty()) return;
  model::Displace decision{.job = job.id,
                           .queue = state.queues().row(job.queue).spec.name,
                           .rule = rules_.takes == Takes::kBeyondQuota
                                       ? model::DisplaceRule::kReclaim
                                       : model::DisplaceRule::kPreempt,
                           .until = now + base::seconds(1)};
  Owed owed{.from_free = wanted};
  for (const JobIx victim_index : victims) {
    const model::Job& victim = state.job(victim_index);
    model::Victim told{.job = victim.id,
                       .queue = state.queues().row(victim.queue).spec.name,
                       .rule = decision.rule,
                       .gpu_milli = 1000 * gpus_held(state, victim)};
    owed.from_free -= gpus_held(state, victim);
    std::vector<model::PodIx> pods;
    for (const model::PodIx pod : victim.pods) {
      if (!state.pod(pod).holds()) continue;
      pods.push_back(pod);
      told.pods.push_back({.pod = state.pod(pod).id, .incarnation = state.pod(pod).incarnation});
      owed.victims.push_back(state.pod(pod).id);
    }
    state.displace(victim_index, pods, true, victim_index);
    decision.victims.push_back(std::move(told));
  }
  owed.from_free = std::max<int64_t>(owed.from_free, 0);
  owed_[job.id] = std::move(owed);
  plan.decisions.emplace_back(std::move(decision));
}

bool TimedPolicy::any_stops(const ClusterState& state, const Owed& owed) {
  return std::ranges::any_of(owed.victims, [&state](const std::string& id) {
    const model::PodIx pod = state.find_pod(id);
    return pod.valid() && state.pod(pod).phase == model::PodPhase::kStopping;
  });
}

// A debt is paid when the job runs; it is forgotten when the job is gone or what was freed went to
// others.
void TimedPolicy::settle_owed(const ClusterState& state) {
  for (auto owed = owed_.begin(); owed != owed_.end();) {
    const bool stops = any_stops(state, owed->second);
    const bool there = state.find_job(owed->first).valid();
    if (there && stops) {
      ++owed;
      continue;
    }
    // One attempt with all of it, then it asks like everybody else.
    owed->second.victims.clear();
    owed->second.from_free = 0;
    const JobIx job = state.find_job(owed->first);
    auto& lines = lines_.lines();
    const auto line = there ? lines.find(state.job(job).signature) : lines.end();
    const bool tried =
        line != lines.end() && line->second.refused_at_gains == state.inventory().gains();
    owed = !there || tried ? owed_.erase(owed) : std::next(owed);
  }
}

}  // namespace mainspring::sim
