// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/base/result.h"

// The ownership tree as its owner writes it: what each queue is promised, how much it may use, and
// how its jobs are protected.

namespace mainspring::model {

inline constexpr int64_t kUnlimited = -1;

// What a queue says of one resource: "gpu" in thousandths of a device, "cpu" in thousandths of a
// core, "memory" in bytes, or "gpu:MODEL" in thousandths of a device of that model.
struct QueueResource {
  std::string name;
  int64_t quota = 0;  // promised; kUnlimited: as much as it asks for
  // Not 0: instead of `quota`, so many millionths of its parent's quota; of a root, of the cluster.
  int32_t quota_ppm = 0;
  int64_t limit = kUnlimited;  // never more than that
  int64_t weight = 1;          // its part of what others leave: 1..kWeightMax
  friend auto operator<=>(const QueueResource&, const QueueResource&) = default;
};

// A resource that a queue does not name: no quota, no limit, weight 1.
struct QueueSpec {
  std::string name;
  std::string parent;    // empty: a root of the tree
  int32_t priority = 0;  // among its siblings: the higher one takes first of what is left over
  std::vector<QueueResource> resources;
  // Who may name the queue; empty: everyone. Of an inner queue: of all below it.
  std::vector<std::string> tenants;
  // How long a job runs before it may be displaced inside its queue, and by another one.
  base::Duration min_run_before_preempt;
  base::Duration min_run_before_reclaim;
  // How long a job of this queue waits before others are displaced for it.
  base::Duration displace_after;
  friend auto operator<=>(const QueueSpec&, const QueueSpec&) = default;
};

inline constexpr size_t kQueuesMax = 20'000;
inline constexpr size_t kQueueDepthMax = 16;
inline constexpr int64_t kWeightMax = 1'000'000'000;

// One queue by itself. Errors name the field.
base::Status validate(const QueueSpec& queue);

// The whole tree: names that occur twice, parents that are not there, circles, a quota above the
// limit of the queue. Errors name the queue and the field. O(n log n).
base::Status validate(std::span<const QueueSpec> queues);

// What is legal, but should be known: children that are promised more than their parent, or more
// than its limit. One sentence each, in order of the queues.
std::vector<std::string> warnings(std::span<const QueueSpec> queues);

}  // namespace mainspring::model
