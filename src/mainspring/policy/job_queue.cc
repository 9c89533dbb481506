// SPDX-License-Identifier: Apache-2.0
#include "mainspring/policy/job_queue.h"

#include <algorithm>

#include "mainspring/base/check.h"
#include "mainspring/model/gang.h"

namespace mainspring::policy {
namespace {

Want want_of(const model::ClusterState& state, const model::Job& job) {
  if (!job.alive || job.removed || job.releasing || job.promised()) return Want::kNothing;
  const bool pending = job.pods_pending > 0;
  if (job.pods_holding == 0 && job.pods_succeeded == 0) {
    return pending ? Want::kStart : Want::kNothing;
  }
  // A gang whose lost members have no successors yet is broken too, and not for ever.
  if (!pending && !job.pods_awaited) return Want::kNothing;
  if (!minimum_met(state, job, model::Counts::kHolding)) return Want::kRepair;
  return pending ? Want::kGrow : Want::kNothing;
}

}  // namespace

void JobQueue::sync(const model::ClusterState& state, base::Instant now) {
  if (!started_ || !state.job_changes().holds(cursor_)) {
    reset(state);
    for (uint32_t slot = 0; slot < state.jobs().size(); ++slot) update(state, slot, now);
  } else {
    ++round_;
    for (const uint32_t slot : state.job_changes().since(cursor_)) {
      if (places_.size() < state.jobs().size()) places_.resize(state.jobs().size());
      // A gang of thousands is named once per pod, and looking at it costs its size.
      if (std::exchange(places_[slot].round, round_) != round_) update(state, slot, now);
    }
  }
  cursor_ = state.job_changes().end();
  while (!backoffs_.empty() && backoffs_.begin()->first <= now) {
    update(state, backoffs_.begin()->second, now);
  }
}

void JobQueue::reset(const model::ClusterState& state) {
  *this = JobQueue{};
  started_ = true;
  places_.resize(state.jobs().size());
}

void JobQueue::update(const model::ClusterState& state, uint32_t slot, base::Instant now) {
  const model::Job& job = state.jobs()[slot];
  Place next;
  next.round = places_[slot].round;
  next.want = want_of(state, job);
  next.displaceable =
      job.alive && job.preemptible && !job.removed && !job.releasing && job.pods_holding > 0;
  if (next.want != Want::kNothing || next.displaceable) next.key = key_of(job, slot);
  next.signature = job.signature;
  next.queue = job.queue;
  if (job.alive) next.promise_until = job.promise_until;
  next.deadline = job.start_deadline;
  next.backoff_until = job.backoff_until;
  next.backing_off =
      (next.want == Want::kStart || next.want == Want::kRepair) && job.backoff_until > now;
  Place& place = places_[slot];
  const bool same = place.want == next.want && place.signature == next.signature &&
                    place.deadline == next.deadline && place.backing_off == next.backing_off &&
                    place.backoff_until == next.backoff_until && place.key == next.key &&
                    place.queue == next.queue && place.displaceable == next.displaceable &&
                    place.promise_until == next.promise_until;
  if (same) return;
  remove(place, slot);
  place = std::move(next);
  insert(place, slot);
}

void JobQueue::remove(Place& place, uint32_t slot) {
  if (place.deadline != base::Instant::never()) deadlines_.erase({place.deadline, slot});
  if (place.promise_until != base::Instant::never()) promised_.erase({place.promise_until, slot});
  if (place.backing_off) backoffs_.erase({place.backoff_until, slot});
  if (place.displaceable) count_displaceable(place, -1);
  if (place.want == Want::kRepair && !place.backing_off) repairs_.erase(place.key);
  if (place.want == Want::kGrow) growing_.erase(place.key);
  if (place.want != Want::kStart || place.backing_off) return;
  const auto line = lines_.find(place.signature);
  MAINSPRING_CHECK(line != lines_.end(), "a waiting job stands in no line");
  const bool was_head = line->second.jobs.begin()->slot == slot;
  close(place.signature, line->second);
  line->second.jobs.erase(place.key);
  if (!line->second.jobs.empty()) {
    // Another head has another age and priority, and asks for itself.
    if (was_head && line->second.refused) {
      reopen(place.signature, line->second);
    } else {
      open(place.signature, line->second);
    }
    return;
  }
  if (line->second.refused) {
    retries_.erase({line->second.refused->retry_at, place.signature});
  }
  lines_.erase(line);
}

void JobQueue::insert(Place& place, uint32_t slot) {
  if (place.deadline != base::Instant::never()) deadlines_.insert({place.deadline, slot});
  if (place.promise_until != base::Instant::never()) promised_.insert({place.promise_until, slot});
  if (place.backing_off) backoffs_.insert({place.backoff_until, slot});
  if (place.displaceable) count_displaceable(place, 1);
  if (place.want == Want::kRepair && !place.backing_off) repairs_.insert(place.key);
  if (place.want == Want::kGrow) growing_.insert(place.key);
  if (place.want != Want::kStart || place.backing_off) return;
  Line& line = lines_[place.signature];
  line.queue = place.queue;
  close(place.signature, line);
  line.jobs.insert(place.key);
  // Somebody else at its head may displace whom the others could not, or earlier than they.
  const bool asks_rights = line.refused && (line.refused->may_displace ||
                                            line.refused->retry_at != base::Instant::never());
  if (asks_rights && line.jobs.begin()->slot == slot) {
    reopen(place.signature, line);
  } else {
    open(place.signature, line);
  }
  arrivals_.push_back(slot);
}

void JobQueue::open(uint32_t signature, const Line& line) {
  if (!line.refused) open_[line.queue.slot].insert({*line.jobs.begin(), signature});
}

void JobQueue::close(uint32_t signature, const Line& line) {
  if (line.refused || line.jobs.empty()) return;
  const auto heads = open_.find(line.queue.slot);
  if (heads == open_.end()) return;
  heads->second.erase({*line.jobs.begin(), signature});
  if (heads->second.empty()) open_.erase(heads);
}

void JobQueue::reopen(uint32_t signature, Line& line) {
  retries_.erase({line.refused->retry_at, signature});
  line.refused.reset();
  open(signature, line);
}

void JobQueue::count_displaceable(const Place& place, int64_t by) {
  const auto count = [by](auto& counts, const auto& key) {
    int64_t& number = counts[key];
    number += by;
    if (number == 0) counts.erase(key);
  };
  count(displaceable_, std::pair{place.queue.slot, place.key.priority});
  count(displaceable_of_all_, place.key.priority);
}

std::optional<std::pair<JobKey, uint32_t>> JobQueue::next_open(const Moment& moment,
                                                               const QueueOrder& order) {
  const bool other = moment.gains != opened_at_.gains || moment.claims != opened_at_.claims;
  opened_at_ = moment;
  if (other) {
    for (auto& [signature, line] : lines_) {
      if (!line.refused) continue;
      const bool freed = line.refused->gains != moment.gains;
      const bool claims = line.refused->may_displace && line.refused->claims != moment.claims;
      if (freed || claims) reopen(signature, line);
    }
  }
  while (!retries_.empty() && retries_.begin()->first <= moment.now) {
    const uint32_t signature = retries_.begin()->second;
    reopen(signature, lines_.at(signature));
  }
  const std::set<std::pair<JobKey, uint32_t>>* best = nullptr;
  uint32_t best_queue = 0;
  for (const auto& [queue, heads] : open_) {
    const bool better =
        best == nullptr ||
        (order.one_queue() ? heads.begin()->first < best->begin()->first
                           : order.before(model::QueueIx{queue}, model::QueueIx{best_queue}));
    if (!better) continue;
    best = &heads;
    best_queue = queue;
  }
  if (best == nullptr) return std::nullopt;
  return *best->begin();
}

void JobQueue::refuse(uint32_t signature, const Refusal& refusal) {
  Line& line = lines_.at(signature);
  close(signature, line);
  line.refused = refusal;
  if (refusal.retry_at != base::Instant::never()) retries_.insert({refusal.retry_at, signature});
}

base::Instant JobQueue::first_retry() const {
  base::Instant first = base::Instant::never();
  if (!backoffs_.empty()) first = backoffs_.begin()->first;
  if (!retries_.empty()) first = std::min(first, retries_.begin()->first);
  return first;
}

std::optional<int32_t> JobQueue::lowest_held(const model::ClusterState& state,
                                             model::QueueIx queue) const {
  if (!state.queues().declared()) {
    if (displaceable_of_all_.empty()) return std::nullopt;
    return displaceable_of_all_.begin()->first;
  }
  const auto first = displaceable_.lower_bound({queue.slot, INT32_MIN});
  if (first == displaceable_.end() || first->first.first != queue.slot) return std::nullopt;
  return first->first.second;
}

}  // namespace mainspring::policy
