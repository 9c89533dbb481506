// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/model/spec.h"

// A change after which a waiting job starts: what it is, as data and in words.

namespace mainspring::engine {

enum class RemedyKind : uint8_t {
  // One target node gets `changes` more, or that much comes free. GPUs are like its first one that
  // serves any pod of the job, the pods taken in their order.
  kMoreOnNode,
  kAddNodes,       // targets: one node; `changes` nodes like it are added, idle
  kNewNode,        // one node with the labels and the GPU of `node`, `changes` of everything
  kLowerRequest,   // targets: pods of one shape; each asks for `changes` instead
  kLowerMinimum,   // targets: one group; its min_count is `changes` instead
  kWidenLevel,     // targets: one group; requires the level `value` (empty: none) instead
  kDropSelector,   // requirements on the node label `value` are left out
  kDropGpuModel,   // any GPU model will do
  kDropGpuMemory,  // the device may have any memory
  kTolerateTaint,  // targets: taint keys; every pod tolerates them
  kUncordon,       // targets: nodes; they take pods again
  kMakeReady,      // targets: nodes; they are ready (and not cordoned)
  kRepairGpu,      // targets: one node, and one of its GPUs; it is healthy and without strangers
  kWaitFor,        // targets: pods; they have ended, by `at` where that is known
};
inline constexpr size_t kRemedyKindCount = 14;
// "more_on_node", "add_nodes", "lower_request", ...
std::string_view to_string(RemedyKind kind);

// A number in a remedy. By `what`, with its unit:
//   "gpu" devices, "gpu-milli" thousandths of each device, "gpu-memory" MiB of each device,
//   "cpu" milli-CPU, "memory" and "ephemeral-storage" MiB, "pods", "nodes", "min_count" children.
struct Change {
  std::string what;
  int64_t amount = 0;
  friend auto operator<=>(const Change&, const Change&) = default;
};
std::string_view unit_of(std::string_view what);

// Applied as it stands it makes the job start. With any one number one unit weaker (less to get,
// more to ask for), or with any one of several targets left out, it does not.
struct Remedy {
  RemedyKind kind = RemedyKind::kMoreOnNode;
  std::string sentence;
  std::vector<std::string> targets;
  std::vector<Change> changes;
  std::string value;
  // In `JobSpec::groups`, for kLowerMinimum and kWidenLevel.
  uint32_t group = 0;
  model::NodeSpec node;  // for kNewNode: its labels, and one GPU if it has any
  base::Instant at = base::Instant::never();
};

}  // namespace mainspring::engine
