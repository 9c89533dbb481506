// SPDX-License-Identifier: Apache-2.0
#include "mainspring/report/job_place.h"

#include <algorithm>
#include <span>

#include "mainspring/model/gang.h"
#include "mainspring/policy/admission.h"
#include "mainspring/policy/job_order.h"
#include "mainspring/policy/queue_order.h"
#include "mainspring/policy/rights.h"

namespace mainspring::report {

using base::Instant;
using model::ClusterState;
using model::Job;
using model::QueueIx;

namespace {

bool waits(const ClusterState& state, const Job& job) {
  return job.alive && !job.removed && !job.releasing &&
         !minimum_met(state, job, model::Counts::kHolding);
}

std::vector<QueueStep> path_of(const ClusterState& state, const policy::QueueShares& shares,
                               QueueIx leaf) {
  const model::Queues& queues = state.queues();
  std::vector<QueueStep> path;
  if (!queues.row(leaf).rooted) return path;
  const policy::QueueOrder order(state, shares);
  for (QueueIx at = leaf; at.valid(); at = queues.row(at).parent) {
    const model::Queue& queue = queues.row(at);
    const policy::Dominant used = policy::dominant(state, shares, at);
    const auto siblings = queue.parent.valid()
                              ? std::span<const QueueIx>(queues.row(queue.parent).children)
                              : queues.roots();
    const auto ahead = std::ranges::count_if(
        siblings, [&](QueueIx other) { return other != at && order.before(other, at); });
    path.push_back({.queue = queue.spec.name,
                    .below_quota = policy::below_quota(state, shares, at),
                    .priority = queue.spec.priority,
                    .held = used.held,
                    .share = used.share,
                    .rank = ahead + 1,
                    .siblings = static_cast<int64_t>(siblings.size())});
  }
  std::ranges::reverse(path);
  return path;
}

// A queue outside of the tree is in no order.
bool comparable(const ClusterState& state, const Job& job) {
  return !state.queues().declared() || state.queues().row(job.queue).rooted;
}

void count_waiting(const ClusterState& state, const policy::QueueShares& shares, model::JobIx index,
                   JobPlace& place) {
  const policy::QueueOrder order(state, shares);
  const Job& job = state.job(index);
  const policy::JobKey key = policy::key_of(job, index.slot);
  place.position = place.position_in_queue = place.waits ? 1 : 0;
  for (uint32_t slot = 0; slot < state.jobs().size(); ++slot) {
    const Job& other = state.jobs()[slot];
    if (!waits(state, other) || !comparable(state, other)) continue;
    const bool same = other.queue == job.queue;
    const bool by_key = same || order.one_queue();
    const bool ahead = slot != index.slot && (by_key ? policy::key_of(other, slot) < key
                                                     : order.before(other.queue, job.queue));
    ++place.waiting;
    if (same) ++place.waiting_in_queue;
    if (!place.waits || !ahead) continue;
    ++place.position;
    if (same) ++place.position_in_queue;
  }
}

}  // namespace

JobPlace job_place(const ClusterState& state, const policy::QueueShares& shares, model::JobIx index,
                   Instant now) {
  const Job& job = state.job(index);
  const model::Queue& queue = state.queues().row(job.queue);
  JobPlace place;
  place.job = job.id;
  place.queue = queue.spec.name;
  place.tenant = state.inventory().name(job.tenant);
  place.waits = waits(state, job);
  place.goes_first = job.goes_first;
  place.priority = job.priority;
  place.submitted_at = job.submitted_at;
  place.failed_starts = job.failed_starts;
  place.backoff_until = job.backoff_until;
  place.promised_until = job.promise_until;
  place.displaced_for_it = job.displaced;
  place.preemptible = job.preemptible;
  place.running_since = job.running_since;
  const bool runs = job.running_since != Instant::never();
  if (runs) {
    place.safe_from_preempt_until = job.running_since + queue.spec.min_run_before_preempt;
    place.safe_from_reclaim_until = job.running_since + queue.spec.min_run_before_reclaim;
  }
  place.displacements = std::ranges::count_if(
      job.displaced_at, [&](Instant at) { return at + state.config().displacements_window > now; });
  place.displacements_max = state.config().displacements_max;
  if (place.waits) place.admission = policy::admit(state, shares, index);
  if (!comparable(state, job)) return place;
  if (!shares.dimensions().empty()) place.path = path_of(state, shares, job.queue);
  count_waiting(state, shares, index, place);
  const policy::Rights rights(state, shares, index, now);
  place.displaces_from = rights.from();
  place.may_reclaim = rights.starved();
  return place;
}

}  // namespace mainspring::report
