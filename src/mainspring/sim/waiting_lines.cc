// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/waiting_lines.h"

namespace mainspring::sim {

void WaitingLines::sync(const model::ClusterState& state) {
  places_.resize(state.jobs().size());
  if (!started_ || !state.job_changes().holds(cursor_)) {
    for (uint32_t slot = 0; slot < places_.size(); ++slot) update(state, slot);
    started_ = true;
  } else {
    for (const uint32_t slot : state.job_changes().since(cursor_)) update(state, slot);
  }
  cursor_ = state.job_changes().end();
}

void WaitingLines::update(const model::ClusterState& state, uint32_t slot) {
  const model::Job& job = state.jobs()[slot];
  Place next;
  const bool counts = job.alive && !job.removed && !job.releasing;
  next.waits = counts && job.pods_pending > 0;
  next.runs = counts && job.pods_pending == 0 && job.pods_holding > 0;
  if (next.waits || next.runs) {
    next.signature = job.signature;
    next.key = {by_priority_ ? job.priority : 0, job.submitted_at, job.id, slot};
  }
  Place& place = places_[slot];
  if (place.waits == next.waits && place.runs == next.runs && place.key == next.key &&
      place.signature == next.signature) {
    return;
  }
  if (place.runs) running_.erase(place.key);
  if (place.waits) {
    const auto line = lines_.find(place.signature);
    line->second.jobs.erase(place.key);
    if (line->second.jobs.empty()) lines_.erase(line);
  }
  if (next.runs) running_.insert(next.key);
  if (next.waits) lines_[next.signature].jobs.insert(next.key);
  place = std::move(next);
}

}  // namespace mainspring::sim
