// SPDX-License-Identifier: Apache-2.0
#include "mainspring/report/audit.h"

#include <algorithm>
#include <utility>

namespace mainspring::report {

using base::Instant;
using model::ClusterState;

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOpen:
      return "open";
    case Outcome::kStarted:
      return "started";
    case Outcome::kLate:
      return "late";
    case Outcome::kBroken:
      return "broken";
    case Outcome::kReleased:
      return "released";
    case Outcome::kWithdrawn:
      return "withdrawn";
  }
  return "unknown";
}

void Audit::observe(const model::Event& event, const ClusterState& state) {
  if (open_.empty()) return;
  if (const auto* started = std::get_if<model::PodStarted>(&event.body)) {
    const model::PodIx pod = state.find_pod(started->pod);
    if (pod.valid()) look_at(state.job(state.pod(pod).job).id, state, state.now());
  } else if (const auto* gone = std::get_if<model::JobGone>(&event.body)) {
    if (!open_.contains(gone->job)) return;
    const model::JobIx job = state.find_job(gone->job);
    const bool ran = job.valid() && state.job(job).running_since != Instant::never();
    settle(gone->job, ran ? Outcome::kStarted : Outcome::kWithdrawn, state.now());
  }
}

void Audit::observe(const model::Plan& plan, const ClusterState& state, Instant now) {
  // What events of this instant brought about comes before what is decided on it.
  for (auto next = open_.begin(); next != open_.end();) {
    const std::string winner = (next++)->first;
    look_at(winner, state, now);
  }
  for (const model::Decision& decision : plan.decisions) {
    if (const auto* displace = std::get_if<model::Displace>(&decision)) {
      add(*displace, state, now);
    } else if (const auto* ended = std::get_if<model::PromiseEnded>(&decision)) {
      const bool late = ended->why == model::PromiseEnd::kLate;
      settle(ended->job, late ? Outcome::kLate : Outcome::kBroken, now);
    } else if (const auto* released = std::get_if<model::Release>(&decision)) {
      settle(released->job, Outcome::kReleased, now);
    }
  }
}

void Audit::add(const model::Displace& decision, const ClusterState& state, Instant now) {
  // Others are displaced for it a second time: the first time came to nothing.
  settle(decision.job, Outcome::kReleased, now);
  Displacement& made = kept_.emplace_back();
  made.at = now;
  made.winner = decision.job;
  made.winner_queue = decision.queue;
  if (const model::JobIx job = state.find_job(decision.job); job.valid()) {
    made.winner_tenant = state.inventory().name(state.job(job).tenant);
  }
  made.rule = decision.rule;
  made.victims = decision.victims;
  made.alternatives = decision.alternatives;
  made.until = decision.until;
  open_[decision.job] = first_ + kept_.size() - 1;
  ++totals_.displacements;
  ++totals_.by_outcome[static_cast<size_t>(Outcome::kOpen)];
  for (const model::Victim& victim : made.victims) {
    ++totals_.victims;
    ++totals_.victims_kept;
    totals_.lost_gpu_ms += victim.lost_gpu_ms;
    ++totals_.by_rule[static_cast<size_t>(victim.rule)];
  }
  // Places may be held without a victim: displacements count as well.
  const auto too_many = [this] {
    return std::max(totals_.victims_kept, static_cast<int64_t>(kept_.size())) > victims_max_;
  };
  while (too_many() && kept_.size() > 1) {
    totals_.victims_kept -= static_cast<int64_t>(kept_.front().victims.size());
    kept_.pop_front();
    ++first_;
  }
}

void Audit::look_at(const std::string& winner, const ClusterState& state, Instant now) {
  if (!open_.contains(winner)) return;
  const model::JobIx job = state.find_job(winner);
  // One that ended without being taken away has done its work.
  const bool ran = !job.valid() || state.job(job).running_since != Instant::never();
  if (ran) settle(winner, Outcome::kStarted, now);
}

void Audit::settle(const std::string& winner, Outcome outcome, Instant now) {
  const auto found = open_.find(winner);
  if (found == open_.end()) return;
  const uint64_t number = found->second;
  open_.erase(found);
  --totals_.by_outcome[static_cast<size_t>(Outcome::kOpen)];
  ++totals_.by_outcome[static_cast<size_t>(outcome)];
  if (number < first_) return;
  Displacement& settled = kept_[static_cast<size_t>(number - first_)];
  settled.outcome = outcome;
  settled.settled_at = now;
}

}  // namespace mainspring::report
