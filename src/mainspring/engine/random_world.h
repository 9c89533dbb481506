// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mainspring/base/check.h"
#include "mainspring/base/rng.h"
#include "mainspring/model/cluster_state.h"

// Small random clusters and jobs for the tests of explanations: nodes in racks and zones, GPUs of
// two models, shares, taints, labels, some of it full, cordoned or broken; jobs of one pod and
// gangs. A world is a description, so that a test can change it and build the changed one from
// nothing.

namespace mainspring::engine {

struct RunningPod {
  model::JobSpec job;
  model::PodFound found;
};

struct World {
  model::CoreConfig config;
  std::vector<model::NodeSpec> nodes;
  std::vector<model::GpuSampled> samples;
  std::vector<RunningPod> running;
  model::JobSpec job;

  void build(model::ClusterState& state) const {
    uint64_t sequence = 0;
    const auto apply = [&](model::EventBody body) {
      const auto done = state.apply({.sequence = ++sequence, .at = {}, .body = std::move(body)});
      MAINSPRING_CHECK(done.has_value(), "an event of a random world was refused");
    };
    apply(model::ConfigChanged{config});
    for (const model::NodeSpec& node : nodes) apply(model::NodeChanged{node});
    for (const RunningPod& pod : running) {
      apply(model::JobChanged{pod.job});
      apply(pod.found);
    }
    for (const model::GpuSampled& sample : samples) apply(sample);
    if (!job.id.empty()) apply(model::JobChanged{job});
  }
};

class WorldMaker {
 public:
  explicit WorldMaker(uint64_t seed) : rng_(seed) {}

  World make() {
    World world;
    world.config.topologies = {{.name = "place", .levels = {{"zone", "zone"}, {"rack", "rack"}}}};
    if (rng_.chance(1, 4)) {
      world.config.topologies.push_back({.name = "network", .levels = {{"leaf", "leaf"}}});
    }
    const int64_t nodes = rng_.chance(1, 60) ? 0 : rng_.between(1, 12);
    for (int64_t i = 0; i < nodes; ++i) world.nodes.push_back(node(i));
    fill(world);
    world.job = rng_.chance(2, 5) ? single() : gang();
    return world;
  }

 private:
  static constexpr int64_t kGiB = int64_t{1} << 30;

  template <class T>
  T one_of(std::initializer_list<T> items) {
    return *(items.begin() + rng_.below(items.size()));
  }

  model::NodeSpec node(int64_t number) {
    model::NodeSpec spec{.name = "node-" + std::to_string(number)};
    if (rng_.chance(9, 10)) spec.labels.push_back({"zone", one_of<const char*>({"a", "b"})});
    if (rng_.chance(9, 10)) spec.labels.push_back({"rack", one_of<const char*>({"0", "1"})});
    if (rng_.chance(3, 4)) spec.labels.push_back({"leaf", one_of<const char*>({"x", "y", "z"})});
    if (rng_.chance(1, 2)) spec.labels.push_back({"pool", one_of<const char*>({"red", "blue"})});
    if (rng_.chance(1, 6)) spec.taints.push_back(taint());
    if (rng_.chance(1, 20)) spec.taints.push_back(taint());
    spec.schedulable = !rng_.chance(1, 10);
    spec.ready = !rng_.chance(1, 12);
    spec.allocatable.amounts = {1000 * rng_.between(2, 16), kGiB * rng_.between(8, 64),
                                kGiB * rng_.between(20, 100), rng_.between(3, 10)};
    const int64_t gpus = rng_.between(0, 4);
    const bool mixed = rng_.chance(1, 8);
    const bool large = rng_.chance(1, 2);
    for (int64_t i = 0; i < gpus; ++i) {
      const bool this_large = mixed ? rng_.chance(1, 2) : large;
      spec.gpus.push_back({.id = "gpu-" + std::to_string(i),
                           .model = this_large ? "large" : "small",
                           .memory_bytes = this_large ? 40 * kGiB : 16 * kGiB,
                           .healthy = !rng_.chance(1, 20)});
    }
    return spec;
  }

  model::Taint taint() {
    return {.key = one_of<const char*>({"team", "spot", "maintenance"}),
            .value = one_of<const char*>({"", "x"}),
            .effect = one_of({model::TaintEffect::kNoSchedule, model::TaintEffect::kNoExecute,
                              model::TaintEffect::kPreferNoSchedule})};
  }

  model::GpuRequest gpu_request() {
    model::GpuRequest gpu;
    const uint64_t form = rng_.below(6);
    if (form == 0) return gpu;
    gpu.count = rng_.chance(1, 5) ? 2 : 1;
    if (form == 1) gpu.milli = static_cast<int32_t>(rng_.between(1, 19) * 50);
    if (form == 2) gpu.memory_bytes = rng_.between(1, 80) * kGiB / 4;
    if (form > 2)
      gpu.count = static_cast<uint32_t>(rng_.chance(1, 8) ? 4 + rng_.below(3) : 1 + rng_.below(3));
    if (rng_.chance(1, 5)) {
      gpu.models = {one_of<const char*>({"large", "large", "small", "huge"})};
    }
    if (rng_.chance(1, 10)) gpu.device_memory_bytes_min = one_of({16, 32, 64}) * kGiB;
    return gpu;
  }

  model::PodShape shape(bool picky) {
    model::PodShape out;
    out.request.amounts = {100 * rng_.between(0, 60), kGiB / 4 * rng_.between(0, 60),
                           rng_.chance(1, 4) ? kGiB * rng_.between(0, 60) : 0, 1};
    if (rng_.chance(1, 15)) out.request[model::Resource::kCpuMilli] = 1000 * rng_.between(6, 20);
    out.gpu = gpu_request();
    if (!picky) {
      out.gpu.models.clear();
      out.gpu.device_memory_bytes_min = 0;
      return out;
    }
    if (rng_.chance(1, 8)) {
      const bool listed = rng_.chance(2, 3);
      out.node_requirements.push_back(
          {.key = "pool",
           .op = listed ? one_of({model::SelectorOp::kIn, model::SelectorOp::kNotIn})
                        : one_of({model::SelectorOp::kExists, model::SelectorOp::kDoesNotExist}),
           .values = {}});
      if (listed) out.node_requirements.back().values = {one_of<const char*>({"red", "green"})};
    }
    if (rng_.chance(1, 3)) {
      out.tolerations.push_back(
          {.key = one_of<const char*>({"team", "spot"}), .value = "", .exists = rng_.chance(3, 4)});
    }
    return out;
  }

  // Puts pods of others where they fit.
  void fill(World& world) {
    model::ClusterState state;
    world.build(state);
    const uint64_t fullness = rng_.below(5);
    const auto tries = static_cast<int64_t>(world.nodes.size() * fullness);
    for (int64_t i = 0; i < tries; ++i) {
      RunningPod pod;
      pod.job.id = "running-" + std::to_string(i);
      pod.job.groups.resize(1);
      pod.job.shapes = {shape(false)};
      pod.job.pods = {{.id = pod.job.id, .group = 0, .shape = 0}};
      const auto& spec = world.nodes[rng_.below(world.nodes.size())];
      if (!find_devices(state, spec, pod)) continue;
      if (rng_.chance(1, 2)) pod.found.until = base::Instant{1000 * rng_.between(1, 5000)};
      world.running.push_back(pod);
      const bool ok = state.apply({.at = {}, .body = model::JobChanged{pod.job}}) &&
                      state.apply({.at = {}, .body = pod.found});
      MAINSPRING_CHECK(ok, "a running pod was refused");
    }
    for (const model::NodeSpec& spec : world.nodes) {
      for (const model::GpuSpec& gpu : spec.gpus) {
        if (!rng_.chance(1, 25)) continue;
        world.samples.push_back({.node = spec.name,
                                 .gpu = gpu.id,
                                 .healthy = gpu.healthy,
                                 .foreign_memory_bytes = rng_.between(1, 8) * kGiB});
      }
    }
  }

  static bool find_devices(const model::ClusterState& state, const model::NodeSpec& spec,
                           RunningPod& pod) {
    const model::Node& node = state.inventory().node(state.inventory().find_node(spec.name));
    const model::PodShape& wanted = pod.job.shapes[0];
    if (!wanted.request.within(node.allocatable - node.used)) return false;
    model::Inventory compiled;  // knows the shape without a job that has it
    MAINSPRING_CHECK(compiled.set_gpu_resources(state.config().gpu_resources).has_value(), "names");
    const model::Shape& shape = compiled.shape(compiled.intern_shape(wanted));
    pod.found = {.pod = pod.job.id, .node = spec.name, .gpus = {}, .phase = 3};
    for (size_t i = 0; i < node.gpus.size() && pod.found.gpus.size() < shape.gpu_count; ++i) {
      if (model::device_fits(shape, node.gpus[i])) pod.found.gpus.push_back(spec.gpus[i].id);
    }
    return pod.found.gpus.size() == shape.gpu_count;
  }

  model::JobSpec single() {
    model::JobSpec job{.id = "job", .groups = {}, .shapes = {shape(true)}, .pods = {}};
    job.groups.push_back({.name = "all", .required_level = level(6)});
    job.pods.push_back({.id = "job-0", .group = 0, .shape = 0});
    return job;
  }

  std::string level(uint64_t one_in) {
    if (rng_.chance(1, 80)) return "row";  // no such level
    if (!rng_.chance(1, one_in)) return "";
    return one_of<const char*>({"zone", "rack", "rack", "node"});
  }

  model::JobSpec gang() {
    model::JobSpec job{.id = "job", .groups = {}, .shapes = {}, .pods = {}};
    const int64_t groups = one_of({1, 1, 2, 3, 4});
    std::vector<uint32_t> children(static_cast<size_t>(groups), 0);
    for (int64_t i = 0; i < groups; ++i) {
      model::GroupSpec group{.name = "group-" + std::to_string(i), .required_level = level(3)};
      if (rng_.chance(1, 4)) group.preferred_level = one_of<const char*>({"zone", "rack"});
      group.parent = i == 0 ? -1 : static_cast<int32_t>(rng_.below(static_cast<uint64_t>(i)));
      if (i > 0) ++children[static_cast<size_t>(group.parent)];
      job.groups.push_back(std::move(group));
    }
    const int64_t shapes = one_of({1, 1, 2, 3});
    for (int64_t i = 0; i < shapes; ++i) {
      job.shapes.push_back(shape(rng_.chance(1, 2)));
      model::GpuRequest& gpu = job.shapes.back().gpu;
      if (gpu.count > 2 && rng_.chance(3, 4)) gpu.count = 1;
    }
    const int64_t pods = rng_.between(groups, groups + 4);
    for (int64_t i = 0; i < pods; ++i) {
      const auto group = static_cast<uint32_t>(
          i < groups ? i : static_cast<int64_t>(rng_.below(static_cast<uint64_t>(groups))));
      job.pods.push_back({.id = "job-" + std::to_string(i),
                          .group = group,
                          .shape = static_cast<uint32_t>(rng_.below(job.shapes.size()))});
      ++children[group];
    }
    for (size_t i = 0; i < job.groups.size(); ++i) {
      if (rng_.chance(1, 3)) {
        job.groups[i].min_count = static_cast<uint32_t>(rng_.between(1, children[i]));
      }
    }
    return job;
  }

  base::Rng rng_;
};

}  // namespace mainspring::engine
