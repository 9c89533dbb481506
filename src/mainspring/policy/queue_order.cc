// SPDX-License-Identifier: Apache-2.0
#include "mainspring/policy/queue_order.h"

namespace mainspring::policy {

using model::QueueIx;

void part(const model::Queues& queues, QueueIx& left, QueueIx& right) {
  while (queues.row(left).depth > queues.row(right).depth) left = queues.row(left).parent;
  while (queues.row(right).depth > queues.row(left).depth) right = queues.row(right).parent;
  while (queues.row(left).parent != queues.row(right).parent) {
    left = queues.row(left).parent;
    right = queues.row(right).parent;
  }
}

bool below_quota(const model::ClusterState& state, const QueueShares& shares, QueueIx queue) {
  bool below = false;
  for (const size_t dimension : shares.dimensions()) {
    const int64_t quota = shares.quota(queue, dimension);
    if (quota == 0) continue;
    if (quota != model::kUnlimited && state.queues().row(queue).held(dimension) >= quota) {
      return false;
    }
    below = true;
  }
  return below;
}

bool QueueOrder::before(QueueIx left, QueueIx right) const {
  part(state_.queues(), left, right);
  // A leaf that became an inner queue still has jobs, and is compared with one below it.
  if (left == right) return false;
  const bool left_below = below_quota(state_, shares_, left);
  const bool right_below = below_quota(state_, shares_, right);
  if (left_below != right_below) return left_below;
  const Dominant left_used = dominant(state_, shares_, left);
  const Dominant right_used = dominant(state_, shares_, right);
  const bool left_due = left_used.held < left_used.share;
  const bool right_due = right_used.held < right_used.share;
  if (left_due != right_due) return left_due;
  const model::QueueSpec& left_spec = state_.queues().row(left).spec;
  const model::QueueSpec& right_spec = state_.queues().row(right).spec;
  if (left_spec.priority != right_spec.priority) return left_spec.priority > right_spec.priority;
  if (used_less(left_used, right_used)) return true;
  if (used_less(right_used, left_used)) return false;
  return left_spec.name < right_spec.name;
}

}  // namespace mainspring::policy
