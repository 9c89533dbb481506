// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/model/cluster_state.h"
#include "mainspring/policy/queue_shares.h"

// The ownership tree at one moment: what each queue is promised and due, what it holds, and what it
// used. Amounts as in model/queues.h: thousandths of devices and cores, and bytes.

namespace mainspring::report {

struct QueueAmounts {
  std::string resource;  // as in QueueResource
  int64_t quota = 0;     // model::kUnlimited: as much as it asks for
  int64_t limit = 0;     // model::kUnlimited: none
  int64_t weight = 1;
  int64_t weight_milli = 1000;  // as past use has shifted it
  int64_t share = 0;            // what it is due
  int64_t held = 0;             // by pods that were not asked to stop, or promised
  int64_t stopping = 0;         // by pods that were
  int64_t borrowed = 0;         // held beyond the quota
  // Asked for by pods that hold nothing and are promised nothing. Of one GPU model always 0: which
  // model a pod will get is known in its place only.
  int64_t pending = 0;
  int64_t past_seconds = 0;  // past use that still counts: amount (of memory, MiB) × seconds
  int64_t past_milli = 0;    // its part of that of all its siblings, in thousandths
};

struct QueueLine {
  std::string name;
  std::string parent;
  uint32_t depth = 0;
  int32_t priority = 0;
  bool leaf = true;
  int64_t jobs_running = 0;  // jobs whose minimum runs; of an inner queue: below it
  int64_t jobs_waiting = 0;  // all others
  std::vector<QueueAmounts> amounts;
};

struct QueueTree {
  std::vector<std::string> resources;
  std::vector<int64_t> capacity;  // by resource
  std::vector<QueueLine> queues;  // along the tree; siblings by name
};

// O(jobs × depth + queues × resources). Empty where no queue was declared.
QueueTree queue_tree(const model::ClusterState& state, const policy::QueueShares& shares,
                     base::Instant now);

}  // namespace mainspring::report
