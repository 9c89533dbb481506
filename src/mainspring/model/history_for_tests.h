// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "mainspring/base/rng.h"
#include "mainspring/model/trial.h"

// For tests: a random life of a small cluster. Everything is drawn by name, never by slot, so that
// two histories from one seed do the same to two equal states, whatever their slots.

namespace mainspring::model {

class RandomHistory {
 public:
  explicit RandomHistory(uint64_t seed) : rng_(seed) {}

  // One event, or one decision of a careless scheduler. False: the event was refused.
  bool step(ClusterState& state) {
    switch (rng_.below(16)) {
      case 0:
      case 1:
        return apply(state, NodeChanged{node()});
      case 2:
        return rng_.chance(1, 3) ? apply(state, NodeGone{node_name()}) : apply(state, Tick{});
      case 3:
        return apply(state, sample());
      case 4:
      case 5:
        return apply(state, JobChanged{job()});
      case 6:
        return rng_.chance(1, 4) ? apply(state, JobGone{job_name()}) : apply(state, Tick{});
      case 7:
        return rng_.chance(1, 4) ? apply(state, ConfigChanged{config()}) : decide(state);
      case 8:
      case 9:
      case 10:
        return decide(state);
      default:
        return pod_event(state);
    }
  }

  // As many pods of the job, in order, as fit first-fit. Returns what was placed.
  static std::vector<PodIx> place_first_fit(Trial& trial, JobIx job) {
    std::vector<PodIx> placed;
    const ClusterState& state = trial.state();
    for (const PodIx pod : state.job(job).pods) {
      if (state.pod(pod).phase != PodPhase::kPending || state.pod(pod).withdrawn) continue;
      const Shape& shape = state.inventory().shape(state.pod(pod).shape);
      for (const uint32_t slot : state.inventory().nodes_by_rank()) {
        const Node& node = state.inventory().nodes()[slot];
        const DeviceMask devices = devices_for(shape, node);
        if (std::popcount(devices) != static_cast<int>(shape.gpu_count)) continue;
        if (!node.usable() || !shape.request.within(node.free.resources)) continue;
        trial.place(pod, state.inventory().index_of(slot), devices, {state.now()});
        placed.push_back(pod);
        break;
      }
    }
    return placed;
  }

  JobSpec job() {
    JobSpec spec{.id = job_name(),
                 .queue = "q" + std::to_string(rng_.below(2)),
                 .priority = static_cast<int32_t>(rng_.between(-1, 1)),
                 .submitted_at = base::Instant{rng_.between(0, 9999)},
                 .expected_run = base::seconds(rng_.between(0, 9))};
    spec.groups.push_back({.name = "root", .required_level = level()});
    const size_t groups = rng_.below(3);
    for (size_t i = 0; i < groups; ++i) {
      spec.groups.push_back({.name = "g" + std::to_string(i),
                             .parent = 0,
                             .min_count = 0,
                             .preferred_level = level()});
    }
    for (int i = 0; i < 2; ++i) spec.shapes.push_back(shape());
    const size_t pods = 1 + rng_.below(4);
    for (size_t i = 0; i < pods; ++i) {
      spec.pods.push_back({.id = spec.id + "-" + std::to_string(rng_.below(2) + 2 * i),
                           .group = static_cast<uint32_t>(rng_.below(spec.groups.size())),
                           .shape = static_cast<uint32_t>(rng_.below(2))});
    }
    return spec;
  }

  NodeSpec node() {
    NodeSpec spec{
        .name = node_name(), .schedulable = !rng_.chance(1, 8), .ready = !rng_.chance(1, 8)};
    spec.allocatable.amounts = {8000, 1 << 20, 1 << 20, 8};
    spec.labels.push_back({"rack", "r" + std::to_string(rng_.below(3))});
    if (rng_.chance(3, 4)) spec.labels.push_back({"zone", "z" + std::to_string(rng_.below(2))});
    if (rng_.chance(1, 8)) spec.taints.push_back({"keep", "out", TaintEffect::kNoExecute});
    const size_t gpus = rng_.below(5);
    for (size_t i = 0; i < gpus; ++i) {
      spec.gpus.push_back({.id = "gpu" + std::to_string((i + rng_.below(2)) * 2 + i % 2),
                           .resource = rng_.chance(1, 9) ? "amd.com/gpu" : "nvidia.com/gpu",
                           .model = rng_.chance(1, 4) ? "A" : "B",
                           .memory_bytes = 1000 + rng_.between(0, 1) * 1000,
                           .healthy = !rng_.chance(1, 9)});
      if (i > 0 && spec.gpus[i].id == spec.gpus[i - 1].id) spec.gpus.pop_back(), i = gpus;
    }
    return spec;
  }

  base::Rng& rng() { return rng_; }
  std::string job_name() { return "j" + std::to_string(rng_.below(8)); }
  std::string node_name() { return "n" + std::to_string(rng_.below(6)); }

 private:
  static DeviceMask devices_for(const Shape& shape, const Node& node) {
    DeviceMask devices = 0;
    for (size_t i = 0; i < node.gpus.size(); ++i) {
      if (std::popcount(devices) == static_cast<int>(shape.gpu_count)) break;
      if (device_fits(shape, node.gpus[i])) devices |= DeviceMask{1} << i;
    }
    return devices;
  }

  bool apply(ClusterState& state, EventBody body) {
    now_ms_ += rng_.between(-500, 2000);  // some come late
    const base::Instant at{now_ms_ > 0 ? now_ms_ : 0};
    return state.apply({++sequence_, at, std::move(body)}).has_value();
  }

  GpuSampled sample() {
    return {.node = node_name(),
            .gpu = "gpu" + std::to_string(rng_.below(5)),
            .healthy = !rng_.chance(1, 4),
            .foreign_memory_bytes = rng_.chance(1, 2) ? 0 : rng_.between(-1, 2000)};
  }

  PodShape shape() {
    PodShape shape;
    shape.request.amounts = {rng_.between(0, 3) * 1000, rng_.between(0, 2) * 1000, 0, 1};
    switch (rng_.below(4)) {
      case 0:
        break;
      case 1:
        shape.gpu.count = static_cast<uint32_t>(rng_.between(1, 2));
        break;
      case 2:
        shape.gpu = {.count = 1, .milli = static_cast<int32_t>(rng_.between(1, 9) * 100)};
        break;
      default:
        shape.gpu = {.count = 1, .memory_bytes = rng_.between(1, 3) * 300};
        break;
    }
    if (rng_.chance(1, 8)) shape.gpu.models = {"A", "C"};
    if (rng_.chance(1, 8)) shape.node_requirements.push_back({"zone", SelectorOp::kIn, {"z1"}});
    if (rng_.chance(1, 8)) shape.tolerations.push_back({.key = "keep", .exists = true});
    return shape;
  }

  std::string level() {
    static constexpr const char* kLevels[] = {"", "rack", "zone", "node", "unheard-of"};
    return kLevels[rng_.below(5)];
  }

  CoreConfig config() {
    CoreConfig config;
    if (rng_.chance(3, 4)) {
      config.topologies.push_back({"wide", {{"zone", "zone"}, {"rack", "rack"}}});
    } else {
      config.topologies.push_back({"flat", {{"rack", "rack"}}});
    }
    if (rng_.chance(1, 4)) config.gpu_resources = {"nvidia.com/gpu", "other.example/gpu"};
    config.gang_start_timeout = base::seconds(rng_.between(30, 90));
    return config;
  }

  bool decide(ClusterState& state) {
    const JobIx job = state.find_job(job_name());
    const bool keep = rng_.chance(7, 8);
    const bool release = rng_.chance(1, 8);
    if (rng_.chance(1, 8)) state.mark_demand_priced();
    if (!job.valid()) return true;
    if (release && state.job(job).pods_holding > 0 && !state.job(job).releasing) {
      state.begin_release(job, state.now() + base::seconds(10));
      return true;
    }
    Trial trial(state);
    if (place_first_fit(trial, job).empty() || !keep) return true;
    trial.commit();
    state.set_start_deadline(job, state.now() + base::seconds(60));
    return true;
  }

  bool pod_event(ClusterState& state) {
    const std::string pod = job_name() + "-" + std::to_string(rng_.below(8));
    const PodIx index = state.find_pod(pod);
    uint32_t life = index.valid() ? state.pod(index).incarnation : 0;
    if (rng_.chance(1, 8)) ++life;
    if (life > 0 && rng_.chance(1, 8)) --life;
    switch (rng_.below(7)) {
      case 0:
        return apply(state, PodBound{pod, life});
      case 1:
      case 2:
        return apply(state, PodStarted{pod, life});
      case 3:
        return apply(state, PodStopping{pod, life});
      case 4:
        return apply(state, BindRefused{pod, life, "taken"});
      default:
        return apply(state, PodGone{pod, life, static_cast<PodEnd>(rng_.below(3))});
    }
  }

  base::Rng rng_;
  int64_t now_ms_ = 0;
  uint64_t sequence_ = 0;
};

}  // namespace mainspring::model
