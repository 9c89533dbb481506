// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/model/cluster_state.h"
#include "mainspring/model/plan.h"
#include "mainspring/policy/least_charge.h"
#include "mainspring/policy/queue_shares.h"

// Who may displace whom.
//
//   preempt      inside one queue: a job of lower priority
//   reclaim      from another queue: where the two paths part, and below, the other side holds more
//                than its share of something that the claimant asks for, and the claimant's side
//                less than its own
//   consolidate  anybody, if it is moved: the claimant's queues are within their shares afterwards
//
// and never so that some queue above the claimant exceeds its share, or exceeds it by more than
// before.
//
// Why nothing loops. Let the overshoot be the sum, over queues and shared resources, of what is
// held above the share. A reclaim lowers it: the claimant adds nothing, and each victim's queue was
// above. A preempt or a move does not raise it, and the jobs that run afterwards are worth more:
// compared by the number of milli-GPU that run at the highest priority, then the next, and so on,
// they are ahead. So each displacement lowers the pair (overshoot, worth of what waits), which has
// a smallest value. For as long as a promise lasts, whoever was displaced displaces nobody, and
// whoever was given its place by others is not displaced: one cycle ends the matter, and nobody
// turns its displacer around.

namespace mainspring::policy {

class Rights {
 public:
  // Looks at the state before anything is tried. O(pods of the claimant + depth × resources).
  Rights(const model::ClusterState& state, const QueueShares& shares, model::JobIx claimant,
         base::Instant now);

  // From when on others may be displaced for the claimant; never: not at all.
  [[nodiscard]] base::Instant from() const { return from_; }
  // Whether reclaiming can be right at all: each of its queues has room within its share.
  [[nodiscard]] bool starved() const { return starved_; }

  // By which right the job may be displaced as things stand (in a Trial: with what was taken so
  // far), leaving out protection. O(depth × resources).
  [[nodiscard]] std::optional<model::DisplaceRule> rule_for(const model::Job& victim) const;
  // Until when it is protected against that; not after now: it is not.
  [[nodiscard]] base::Instant protected_until(const model::Job& victim,
                                              model::DisplaceRule rule) const;
  // After the claimant was placed in a Trial: whether no queue above it exceeds its share by more
  // than before, and no limit is broken.
  [[nodiscard]] bool holds_after() const;
  // The same, and every queue above it is within its share.
  [[nodiscard]] bool within_shares_after() const;

  [[nodiscard]] const LeastCharge& least() const { return least_; }
  // With it its queue is within what it is promised.
  [[nodiscard]] bool within_quota() const { return within_quota_; }

 private:
  [[nodiscard]] bool shared(size_t dimension) const { return asks(asked_, dimension); }
  [[nodiscard]] bool may_reclaim(const model::Job& victim) const;
  [[nodiscard]] bool room_within_share(model::QueueIx queue) const;

  const model::ClusterState& state_;
  const QueueShares& shares_;
  const model::Job& job_;
  model::JobIx claimant_;
  base::Instant now_;
  base::Instant from_ = base::Instant::never();
  LeastCharge least_{};
  Asks asked_{};
  bool starved_ = false;
  bool within_quota_ = true;
  struct Before {
    model::QueueIx queue;
    std::vector<int64_t> held;  // by position in the shared dimensions
    bool room = false;          // below its share of everything that is asked for
  };
  std::vector<Before> path_;  // from the claimant's queue to the root
};

}  // namespace mainspring::policy
