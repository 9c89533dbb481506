// SPDX-License-Identifier: Apache-2.0
#include "mainspring/cli/bench_world.h"

#include <fmt/core.h>

#include "mainspring/base/check.h"

namespace mainspring::cli {

void feed(model::ClusterState& state, model::EventBody body, base::Instant at) {
  const auto ok =
      state.apply({.sequence = state.sequence() + 1, .at = at, .body = std::move(body)});
  MAINSPRING_CHECK(ok.has_value(), "the state refused an event of a benchmark");
}

void add_tree(model::ClusterState& state, const TreeShape& tree, const NodeForm& form) {
  model::CoreConfig config;
  config.topologies = {
      {.name = "network", .levels = {{"zone", "zone"}, {"block", "block"}, {"rack", "rack"}}}};
  feed(state, model::ConfigChanged{config});
  model::NodeSpec node;
  node.allocatable[model::Resource::kCpuMilli] = form.cpu_milli;
  node.allocatable[model::Resource::kMemoryBytes] = form.memory_bytes;
  node.allocatable[model::Resource::kEphemeralBytes] = int64_t{1} << 40;
  node.allocatable[model::Resource::kPods] = 256;
  for (int64_t i = 0; i < form.gpus; ++i) {
    node.gpus.push_back(
        {.id = fmt::format("gpu-{}", i), .model = "H100", .memory_bytes = int64_t{80} << 30});
  }
  for (int64_t i = 0; i < tree.node_count(); ++i) {
    const int64_t rack = i / tree.nodes;
    const int64_t block = rack / tree.racks;
    node.name = fmt::format("node-{}", i);
    node.labels = {{"zone", fmt::format("zone-{}", block / tree.blocks)},
                   {"block", fmt::format("block-{}", block)},
                   {"rack", fmt::format("rack-{}", rack)}};
    feed(state, model::NodeChanged{node});
  }
}

model::PodShape gpu_shape(uint32_t gpus, int64_t cpu_milli) {
  model::PodShape shape;
  shape.request[model::Resource::kCpuMilli] = cpu_milli;
  shape.request[model::Resource::kMemoryBytes] = int64_t{1} << 30;
  shape.request[model::Resource::kPods] = 1;
  shape.gpu.count = gpus;
  return shape;
}

model::JobSpec uniform_job(const std::string& id, int64_t pods, const model::PodShape& shape) {
  model::JobSpec job{.id = id, .groups = {{}}, .shapes = {shape}};
  job.pods.reserve(static_cast<size_t>(pods));
  for (int64_t i = 0; i < pods; ++i) job.pods.push_back({.id = fmt::format("{}/{}", id, i)});
  return job;
}

}  // namespace mainspring::cli
