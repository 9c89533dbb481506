// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/model/cluster_state.h"
#include "mainspring/model/spec.h"

// Clusters and jobs for the benchmarks, made through events like everything else.

namespace mainspring::cli {

struct TreeShape {
  int64_t zones = 1;
  int64_t blocks = 1;
  int64_t racks = 1;
  int64_t nodes = 1;  // in each rack

  [[nodiscard]] int64_t node_count() const { return zones * blocks * racks * nodes; }
};

struct NodeForm {
  int64_t gpus = 8;
  int64_t cpu_milli = 128'000;
  int64_t memory_bytes = int64_t{2} << 40;
};

// A state that learned of these nodes; they are called "node-0", "node-1", ….
void add_tree(model::ClusterState& state, const TreeShape& tree, const NodeForm& form);

// One group, equal pods, all of them needed.
model::JobSpec uniform_job(const std::string& id, int64_t pods, const model::PodShape& shape);
model::PodShape gpu_shape(uint32_t gpus, int64_t cpu_milli = 1000);

// Applies one event; that it is accepted is part of the benchmark.
void feed(model::ClusterState& state, model::EventBody body, base::Instant at = {});

}  // namespace mainspring::cli
