// SPDX-License-Identifier: Apache-2.0
#include "mainspring/engine/promise_watch.h"

#include <algorithm>

namespace mainspring::engine {
namespace {

void note(const model::ChangeLog& log, uint64_t& cursor, size_t rows, uint64_t round,
          std::vector<uint64_t>& at, uint64_t& everything_at) {
  at.resize(std::max(at.size(), rows));
  if (log.holds(cursor)) {
    for (const uint32_t slot : log.since(cursor)) at[slot] = round;
  } else {
    everything_at = round;
  }
  cursor = log.end();
}

}  // namespace

void PromiseWatch::catch_up(const model::ClusterState& state) {
  ++round_;
  const model::Inventory& inventory = state.inventory();
  note(inventory.node_changes(), node_cursor_, inventory.nodes().size(), round_, node_at_,
       everything_at_);
  note(state.job_changes(), job_cursor_, state.jobs().size(), round_, job_at_, everything_at_);
}

bool PromiseWatch::worth_asking(const model::ClusterState& state, model::JobIx job) const {
  const uint64_t blocked = job.slot < blocked_at_.size() ? blocked_at_[job.slot] : 0;
  if (blocked == 0 || everything_at_ > blocked || job_at_[job.slot] > blocked) return true;
  return std::ranges::any_of(state.job(job).promises, [&](const model::Promise& place) {
    return node_at_[place.node.slot] > blocked;
  });
}

void PromiseWatch::found_blocked(model::JobIx job) {
  blocked_at_.resize(std::max<size_t>(blocked_at_.size(), job.slot + 1));
  blocked_at_[job.slot] = round_;
}

}  // namespace mainspring::engine
