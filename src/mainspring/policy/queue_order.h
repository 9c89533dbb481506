// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mainspring/model/cluster_state.h"
#include "mainspring/policy/queue_shares.h"

// Whose turn it is, among queues.
//
// Two queues are compared where their paths part: first the one that uses less than it is promised,
// then the one below its share (what others borrow it could reclaim), then the one of higher
// priority, then the one that has used less of its share (of the resource of which it uses most),
// then by name. Total, and decided by the state alone.

namespace mainspring::policy {

class QueueOrder {
 public:
  QueueOrder(const model::ClusterState& state, const QueueShares& shares)
      : state_(state), shares_(shares) {}

  // Without a tree every queue is the same, and jobs are compared across them.
  [[nodiscard]] bool one_queue() const { return !state_.queues().declared(); }
  // Two different queues. O(depth × resources).
  [[nodiscard]] bool before(model::QueueIx left, model::QueueIx right) const;

 private:
  const model::ClusterState& state_;
  const QueueShares& shares_;
};

// Whether the queue holds less than its quota of every resource of which it has one.
bool below_quota(const model::ClusterState& state, const QueueShares& shares, model::QueueIx queue);

// Climbs to where the paths of two different queues part: two siblings, or two roots.
void part(const model::Queues& queues, model::QueueIx& left, model::QueueIx& right);

}  // namespace mainspring::policy
