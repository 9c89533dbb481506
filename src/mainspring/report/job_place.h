// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/model/cluster_state.h"
#include "mainspring/model/verdict.h"
#include "mainspring/policy/queue_shares.h"

// Everything that decides about one job's turn and about its protection, at one moment.

namespace mainspring::report {

// A queue on the way from the root to the job's own. Siblings are compared in this order: below
// quota, priority, what is held of the share, name.
struct QueueStep {
  std::string queue;
  bool below_quota = false;
  int32_t priority = 0;
  // Of the resource of which it has used up most of its share.
  int64_t held = 0;
  int64_t share = 0;
  int64_t rank = 1;  // among its siblings
  int64_t siblings = 1;
};

struct JobPlace {
  std::string job;
  std::string queue;
  std::string tenant;
  bool waits = false;           // some of its minimum has no place
  std::vector<QueueStep> path;  // empty where there is no tree, or the queue is not in it
  // Within its queue: displaced in vain, priority, time of entry, name.
  bool goes_first = false;
  int32_t priority = 0;
  base::Instant submitted_at;
  // Places among the jobs that wait, from 1; 0 for a job that does not.
  int64_t position_in_queue = 0;
  int64_t waiting_in_queue = 0;
  int64_t position = 0;
  int64_t waiting = 0;
  model::Verdict admission;
  uint32_t failed_starts = 0;
  base::Instant backoff_until;
  base::Instant promised_until = base::Instant::never();
  std::vector<std::string> displaced_for_it;
  // When others may be displaced for it; never: not at all.
  base::Instant displaces_from = base::Instant::never();
  bool may_reclaim = false;  // with it each of its queues is within its share
  // Until when it is protected, once it runs.
  bool preemptible = true;
  base::Instant running_since = base::Instant::never();
  base::Instant safe_from_preempt_until;
  base::Instant safe_from_reclaim_until;
  int64_t displacements = 0;  // within the window
  int64_t displacements_max = 0;
};

// O(jobs × depth × resources).
JobPlace job_place(const model::ClusterState& state, const policy::QueueShares& shares,
                   model::JobIx job, base::Instant now);

}  // namespace mainspring::report
