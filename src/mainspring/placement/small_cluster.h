// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mainspring/base/check.h"
#include "mainspring/model/cluster_state.h"

// Clusters and gangs in a few lines, for the tests of this room.

namespace mainspring::placement {

inline constexpr int64_t kCpu = 1000;  // milli-CPU

class SmallCluster {
 public:
  // Levels from wide to narrow, each named like its node label.
  explicit SmallCluster(const std::vector<std::string>& levels = {"rack"}) {
    if (!levels.empty()) add_topologies({levels});
  }

  void add_topologies(const std::vector<std::vector<std::string>>& topologies) {
    model::CoreConfig config;
    for (const auto& levels : topologies) {
      model::TopologySpec topology{.name = "topology-" + levels.front(), .levels = {}};
      for (const std::string& level : levels) topology.levels.push_back({level, level});
      config.topologies.push_back(topology);
    }
    apply(model::ConfigChanged{config});
  }

  model::NodeIx add_node(const std::string& name, int64_t cpus, int gpus,
                         const std::vector<model::Label>& labels = {}) {
    model::NodeSpec node{.name = name, .labels = labels, .taints = {}, .gpus = {}};
    node.allocatable.amounts = {cpus * kCpu, int64_t{1} << 40, int64_t{1} << 40, 1000};
    for (int i = 0; i < gpus; ++i) {
      node.gpus.push_back(
          {.id = "gpu-" + std::to_string(i), .model = "H100", .memory_bytes = int64_t{80} << 30});
    }
    apply(model::NodeChanged{node});
    return state_.inventory().find_node(name);
  }

  // Runs a pod of somebody else on the node.
  void occupy(const std::string& node, int64_t cpus, uint32_t gpus) {
    const std::string id = "occupant-" + std::to_string(occupants_++);
    add_job({.id = id,
             .groups = {{.name = "all"}},
             .shapes = {shape(cpus, gpus)},
             .pods = {{.id = id, .group = 0, .shape = 0}}});
    const model::Node& row = state_.inventory().node(state_.inventory().find_node(node));
    model::PodFound found{.pod = id, .node = node, .gpus = {}, .phase = 3};
    for (const model::Gpu& gpu : row.gpus) {
      if (found.gpus.size() < gpus && gpu.wholly_free()) {
        found.gpus.push_back(state_.inventory().name(gpu.id));
      }
    }
    apply(found);
  }

  model::JobIx add_job(const model::JobSpec& job) {
    apply(model::JobChanged{job});
    return state_.find_job(job.id);
  }

  static model::PodShape shape(int64_t cpus, uint32_t gpus, int32_t gpu_milli = 1000) {
    model::PodShape shape;
    shape.request.amounts = {cpus * kCpu, 0, 0, 1};
    shape.gpu.count = gpus;
    shape.gpu.milli = gpu_milli;
    return shape;
  }

  void apply(model::EventBody body) {
    const auto done = state_.apply({.sequence = ++sequence_, .at = {}, .body = std::move(body)});
    MAINSPRING_CHECK(done.has_value(), "the test's event was refused");
  }

  model::ClusterState& state() { return state_; }

 private:
  model::ClusterState state_;
  uint64_t sequence_ = 0;
  int occupants_ = 0;
};

// A gang, group by group; the pods of each are added behind it.
class GangSpec {
 public:
  explicit GangSpec(const std::string& id) { job_.id = id; }

  // Returns the group's number. parent -1: the root.
  uint32_t group(int32_t parent, uint32_t min_count = 0, const std::string& required = "",
                 const std::string& preferred = "") {
    job_.groups.push_back({.name = "group-" + std::to_string(job_.groups.size()),
                           .parent = parent,
                           .min_count = min_count,
                           .required_level = required,
                           .preferred_level = preferred});
    return static_cast<uint32_t>(job_.groups.size() - 1);
  }
  void pods(uint32_t group, int count, const model::PodShape& shape) {
    job_.shapes.push_back(shape);
    for (int i = 0; i < count; ++i) {
      job_.pods.push_back({.id = job_.id + "-" + std::to_string(job_.pods.size()),
                           .group = group,
                           .shape = static_cast<uint32_t>(job_.shapes.size() - 1)});
    }
  }
  [[nodiscard]] const model::JobSpec& spec() const { return job_; }

 private:
  model::JobSpec job_;
};

}  // namespace mainspring::placement
