// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mainspring/sim/ledger.h"

// What queues use by the checker's books, against what they may.

namespace mainspring::sim {

struct QueueExcess {
  std::string queue;
  std::string resource;
  bool firm = false;  // of what cannot be displaced, above the quota; otherwise above the limit
  int64_t amount = 0;
  int64_t allowed = 0;
};

// Of the job's queue and all above it, in the resources that the job holds or was promised. What
// pods still hold that were asked to stop counts, unless something is promised to the job: then it
// takes their place. O(pods that hold a place + queues).
[[nodiscard]] std::vector<QueueExcess> queue_excesses(const Ledger& ledger,
                                                      const model::JobSpec& job);

// The job's queue already has all that it is promised of the GPUs, so that any more is beyond.
[[nodiscard]] bool is_beyond_quota(const Ledger& ledger, const model::JobSpec& job);

}  // namespace mainspring::sim
