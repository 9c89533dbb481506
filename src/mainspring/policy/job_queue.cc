// SPDX-License-Identifier: Apache-2.0
#include "mainspring/policy/job_queue.h"

#include "mainspring/base/check.h"
#include "mainspring/model/gang.h"

namespace mainspring::policy {
namespace {

Want want_of(const model::ClusterState& state, const model::Job& job) {
  if (!job.alive || job.removed || job.releasing || job.pods_pending == 0) return Want::kNothing;
  if (job.pods_holding == 0 && job.pods_succeeded == 0) return Want::kStart;
  return minimum_met(state, job, model::Counts::kHolding) ? Want::kGrow : Want::kRepair;
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
  if (next.want != Want::kNothing) next.key = key_of(job, slot);
  next.signature = job.signature;
  next.deadline = job.start_deadline;
  next.backoff_until = job.backoff_until;
  next.backing_off = next.want == Want::kStart && job.backoff_until > now;
  Place& place = places_[slot];
  const bool same = place.want == next.want && place.signature == next.signature &&
                    place.deadline == next.deadline && place.backing_off == next.backing_off &&
                    place.backoff_until == next.backoff_until && place.key == next.key;
  if (same) return;
  remove(place, slot);
  place = std::move(next);
  insert(place, slot);
}

void JobQueue::remove(Place& place, uint32_t slot) {
  if (place.deadline != base::Instant::never()) deadlines_.erase({place.deadline, slot});
  if (place.backing_off) backoffs_.erase({place.backoff_until, slot});
  if (place.want == Want::kRepair) repairs_.erase(place.key);
  if (place.want == Want::kGrow) growing_.erase(place.key);
  if (place.want != Want::kStart || place.backing_off) return;
  const auto line = lines_.find(place.signature);
  MAINSPRING_CHECK(line != lines_.end(), "a waiting job stands in no line");
  if (line->second.jobs.begin()->slot == slot) {
    open_.erase({place.key, place.signature});
  }
  line->second.jobs.erase(place.key);
  if (line->second.jobs.empty()) {
    lines_.erase(line);
  } else if (!line->second.refused_at_gains) {
    open_.insert({*line->second.jobs.begin(), place.signature});
  }
}

void JobQueue::insert(Place& place, uint32_t slot) {
  if (place.deadline != base::Instant::never()) deadlines_.insert({place.deadline, slot});
  if (place.backing_off) backoffs_.insert({place.backoff_until, slot});
  if (place.want == Want::kRepair) repairs_.insert(place.key);
  if (place.want == Want::kGrow) growing_.insert(place.key);
  if (place.want != Want::kStart || place.backing_off) return;
  Line& line = lines_[place.signature];
  if (!line.jobs.empty()) open_.erase({*line.jobs.begin(), place.signature});
  line.jobs.insert(place.key);
  if (!line.refused_at_gains) open_.insert({*line.jobs.begin(), place.signature});
  arrivals_.push_back(slot);
}

std::optional<std::pair<JobKey, uint32_t>> JobQueue::next_open(uint64_t gains) {
  if (gains != open_gains_) {
    open_gains_ = gains;
    for (auto& [signature, line] : lines_) {
      if (!line.refused_at_gains || *line.refused_at_gains == gains) continue;
      line.refused_at_gains.reset();
      open_.insert({*line.jobs.begin(), signature});
    }
  }
  if (open_.empty()) return std::nullopt;
  return *open_.begin();
}

void JobQueue::refuse(uint32_t signature, uint64_t gains) {
  Line& line = lines_.at(signature);
  line.refused_at_gains = gains;
  open_.erase({*line.jobs.begin(), signature});
}

base::Instant JobQueue::first_backoff_end() const {
  return backoffs_.empty() ? base::Instant::never() : backoffs_.begin()->first;
}

}  // namespace mainspring::policy
