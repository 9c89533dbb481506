// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mainspring/model/spec.h"

// The simulator's and its checker's own reading of a job's tree and of shares of a device: written
// from the specification, not from the core, so that a mistake there cannot hide here.

namespace mainspring::sim {

// Whether every group on the way down has its minimum, where `counts[i]` says that pod i of the job
// counts. O(pods + groups).
[[nodiscard]] bool tree_minimum_met(const model::JobSpec& job, std::span<const uint8_t> counts);

// What one device of this memory gives to one pod that asks so.
struct DeviceShare {
  int64_t milli = 0;
  int64_t memory_bytes = 0;
  bool whole = false;
};
[[nodiscard]] DeviceShare device_share(const model::GpuRequest& request, int64_t memory_bytes);

// Which domain of a level a node lies in, by its labels: "zone:a/rack:r1". Empty: in none, or no
// configuration has the level.
[[nodiscard]] std::string domain_of(const model::CoreConfig& config, const model::NodeSpec& node,
                                    const std::string& level);

// Whether the node's labels and taints let the pod in.
[[nodiscard]] bool node_admits(const model::NodeSpec& node, const model::PodShape& shape);

}  // namespace mainspring::sim
