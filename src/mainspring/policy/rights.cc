// SPDX-License-Identifier: Apache-2.0
#include "mainspring/policy/rights.h"

#include <algorithm>

#include "mainspring/policy/admission.h"
#include "mainspring/policy/queue_order.h"

namespace mainspring::policy {

using base::Instant;
using model::ClusterState;
using model::DisplaceRule;
using model::Job;
using model::Queue;
using model::QueueIx;

Rights::Rights(const ClusterState& state, const QueueShares& shares, model::JobIx claimant,
               Instant now)
    : state_(state),
      shares_(shares),
      job_(state.job(claimant)),
      claimant_(claimant),
      now_(now),
      least_(least_charge(state, job_)),
      asked_(asks_of(state, job_)) {
  const model::Queues& queues = state.queues();
  if (job_.may_displace) {
    from_ = job_.submitted_at + queues.row(job_.queue).spec.displace_after;
    if (!job_.displaced_at.empty()) {
      from_ = std::max(from_, job_.displaced_at.back() + state.config().promise_timeout);
    }
  }
  if (!queues.declared()) return;
  starved_ = true;
  for (QueueIx at = job_.queue; at.valid(); at = queues.row(at).parent) {
    Before& before = path_.emplace_back();
    before.queue = at;
    for (const size_t dimension : shares.dimensions()) {
      before.held.push_back(queues.row(at).held(dimension));
    }
    before.room = room_within_share(at);
  }
  starved_ = path_.front().room;
  for (const size_t dimension : shares.dimensions()) {
    const int64_t quota = shares.quota(job_.queue, dimension);
    if (!shared(dimension) || quota == model::kUnlimited) continue;
    const int64_t more = dimension < least_.size() ? least_[dimension] : 0;
    if (queues.row(job_.queue).held(dimension) + more > quota) within_quota_ = false;
  }
}

bool Rights::room_within_share(QueueIx queue) const {
  for (const size_t dimension : shares_.dimensions()) {
    if (!shared(dimension)) continue;
    const int64_t more = dimension < least_.size() ? least_[dimension] : 0;
    const int64_t held = state_.queues().row(queue).held(dimension);
    if (held + more > shares_.share(queue, dimension)) return false;
  }
  return true;
}

bool Rights::may_reclaim(const Job& victim) const {
  const QueueIx victim_queue = victim.queue;
  QueueIx mine = job_.queue;
  QueueIx theirs = victim_queue;
  part(state_.queues(), mine, theirs);
  if (mine == theirs) return false;
  for (const Before& before : path_) {
    if (!before.room) return false;
    if (before.queue == mine) break;
  }
  // One resource that is wanted, that the victim gives back, and of which all of them hold too
  // much.
  const Asks given = asks_of(state_, victim);
  for (const size_t dimension : shares_.dimensions()) {
    if (!shared(dimension) || !asks(given, dimension)) continue;
    bool over = true;
    for (QueueIx at = victim_queue; over; at = state_.queues().row(at).parent) {
      over = state_.queues().row(at).held(dimension) > shares_.share(at, dimension);
      if (at == theirs) break;
    }
    if (over) return true;
  }
  return false;
}

std::optional<DisplaceRule> Rights::rule_for(const Job& victim) const {
  if (!victim.preemptible || victim.releasing || victim.removed || victim.promised()) {
    return std::nullopt;
  }
  const model::Queues& queues = state_.queues();
  if (!queues.declared() || victim.queue == job_.queue) {
    if (victim.priority < job_.priority) return DisplaceRule::kPreempt;
    return std::nullopt;
  }
  if (!queues.row(victim.queue).rooted) return std::nullopt;
  if (may_reclaim(victim)) return DisplaceRule::kReclaim;
  return std::nullopt;
}

Instant Rights::protected_until(const Job& victim, DisplaceRule rule) const {
  const model::QueueSpec& spec = state_.queues().row(victim.queue).spec;
  const base::Duration run =
      rule == DisplaceRule::kReclaim ? spec.min_run_before_reclaim : spec.min_run_before_preempt;
  Instant until = victim.protected_until;
  if (run.ms > 0) {
    if (victim.running_since == Instant::never()) return Instant::never();
    until = std::max(until, victim.running_since + run);
  }
  if (within_quota_) return until;
  const model::CoreConfig& config = state_.config();
  const auto recent = std::ranges::count_if(
      victim.displaced_at, [&](Instant at) { return at + config.displacements_window > now_; });
  if (recent < config.displacements_max) return until;
  if (config.displacements_max == 0) return Instant::never();
  const size_t oldest = victim.displaced_at.size() - static_cast<size_t>(config.displacements_max);
  return std::max(until, victim.displaced_at[oldest] + config.displacements_window);
}

bool Rights::holds_after() const {
  for (const Before& before : path_) {
    size_t position = 0;
    for (const size_t dimension : shares_.dimensions()) {
      const int64_t was = before.held[position++];
      if (!shared(dimension)) continue;
      const int64_t share = shares_.share(before.queue, dimension);
      if (state_.queues().row(before.queue).held(dimension) > std::max(share, was)) return false;
    }
  }
  return within_limits(state_, shares_, claimant_);
}

bool Rights::within_shares_after() const {
  for (const Before& before : path_) {
    for (const size_t dimension : shares_.dimensions()) {
      if (!shared(dimension)) continue;
      const int64_t held = state_.queues().row(before.queue).held(dimension);
      if (held > shares_.share(before.queue, dimension)) return false;
    }
  }
  return within_limits(state_, shares_, claimant_);
}

}  // namespace mainspring::policy
