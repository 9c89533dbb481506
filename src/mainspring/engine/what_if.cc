// SPDX-License-Identifier: Apache-2.0
#include "mainspring/engine/what_if.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "mainspring/base/check.h"

namespace mainspring::engine {
namespace {

using model::ClusterState;
using model::GpuRequest;
using model::JobIx;
using model::JobSpec;
using model::Node;
using model::PodShape;
using model::Resource;
using model::Trial;

// The amount that the change speaks of, inside a request. A request is only ever lowered.
void lower(PodShape& shape, const Change& change) {
  const auto to = [](int64_t& amount, int64_t wanted) { amount = std::min(amount, wanted); };
  GpuRequest& gpu = shape.gpu;
  if (change.what == "gpu") {
    gpu.count = static_cast<uint32_t>(std::min<int64_t>(gpu.count, change.amount));
  } else if (change.what == "gpu-milli") {
    gpu.milli = static_cast<int32_t>(std::min<int64_t>(gpu.milli, change.amount));
  } else if (change.what == "gpu-memory") {
    to(gpu.memory_bytes, change.amount * kMiB);
  } else if (change.what == "cpu") {
    to(shape.request[Resource::kCpuMilli], change.amount);
  } else if (change.what == "memory") {
    to(shape.request[Resource::kMemoryBytes], change.amount * kMiB);
  } else if (change.what == "ephemeral-storage") {
    to(shape.request[Resource::kEphemeralBytes], change.amount * kMiB);
  }
}

// The pods of a lowered request may have shared a shape with others, so they get one of their own.
void lower_request(JobSpec& spec, const Remedy& remedy) {
  std::map<uint32_t, uint32_t> lowered;
  for (model::PodSpec& pod : spec.pods) {
    if (std::ranges::find(remedy.targets, pod.id) == remedy.targets.end()) continue;
    const auto [at, fresh] =
        lowered.try_emplace(pod.shape, static_cast<uint32_t>(spec.shapes.size()));
    if (fresh) {
      PodShape shape = spec.shapes[pod.shape];
      for (const Change& change : remedy.changes) lower(shape, change);
      spec.shapes.push_back(std::move(shape));
    }
    pod.shape = at->second;
  }
}

void add_resource(const Change& change, model::Resources& amount) {
  if (change.what == "cpu") {
    amount[Resource::kCpuMilli] += change.amount;
  } else if (change.what == "memory") {
    amount[Resource::kMemoryBytes] += change.amount * kMiB;
  } else if (change.what == "ephemeral-storage") {
    amount[Resource::kEphemeralBytes] += change.amount * kMiB;
  } else if (change.what == "pods") {
    amount[Resource::kPods] += change.amount;
  }
}

void add_like(Trial& trial, const Node& like, int64_t count) {
  const auto& inventory = trial.state().inventory();
  model::NodeSpec spec{.allocatable = like.allocatable};
  for (const model::NodeLabel& label : like.labels) {
    spec.labels.push_back({inventory.name(label.key), inventory.name(label.value)});
  }
  for (const model::NodeTaint& taint : like.taints) {
    spec.taints.push_back({inventory.name(taint.key), inventory.name(taint.value), taint.effect});
  }
  for (const model::Gpu& gpu : like.gpus) {
    if (!gpu.present) continue;
    spec.gpus.push_back({.id = inventory.name(gpu.id),
                         .resource = inventory.gpu_resources()[gpu.resource],
                         .model = inventory.gpu_models()[gpu.model],
                         .memory_bytes = gpu.memory_bytes});
  }
  int64_t number = 0;
  for (int64_t i = 0; i < count; ++i) {
    do spec.name = "what-if-" + std::to_string(number++);
    while (inventory.find_node(spec.name).valid());
    trial.add_node(spec);
  }
}

// A device like the first one that serves any pod of the job.
size_t device_like(const ClusterState& state, JobIx job, const Node& node) {
  for (const model::PodIx pod : state.job(job).pods) {
    const model::Shape& shape = state.inventory().shape(state.pod(pod).shape);
    if (shape.gpu_count == 0) continue;
    for (size_t i = 0; i < node.gpus.size(); ++i) {
      if (node.gpus[i].present && model::device_suits(shape, node.gpus[i])) return i;
    }
  }
  MAINSPRING_CHECK(false, "more GPUs were to be had on a node that has none of the kind");
  return 0;
}

void give_more(Trial& trial, JobIx job, model::NodeIx node, const std::vector<Change>& changes) {
  model::Resources amount;
  for (const Change& change : changes) {
    if (change.what == "gpu") {
      const size_t like = device_like(trial.state(), job, trial.state().inventory().node(node));
      trial.add_gpus(node, like, static_cast<uint32_t>(change.amount));
    }
    add_resource(change, amount);
  }
  trial.grow(node, amount);
}

void add_new_node(Trial& trial, const Remedy& remedy) {
  model::NodeSpec spec = new_node(remedy);
  int64_t number = 0;
  do spec.name = "what-if-" + std::to_string(number++);
  while (trial.state().inventory().find_node(spec.name).valid());
  trial.add_node(spec);
}

void repair_gpu(Trial& trial, model::NodeIx index, const std::string& id) {
  const auto& inventory = trial.state().inventory();
  const Node& node = inventory.node(index);
  for (size_t i = 0; i < node.gpus.size(); ++i) {
    if (inventory.name(node.gpus[i].id) == id) trial.set_gpu(index, i, true, 0);
  }
}

JobIx add_changed(Trial& trial, JobIx job, const Remedy& remedy) {
  const ClusterState& state = trial.state();
  JobSpec spec = changed(spec_of(state, job), remedy);
  const auto taken = [&](const std::string& prefix) {
    if (state.find_job(prefix).valid()) return true;
    for (size_t i = 0; i < spec.pods.size(); ++i) {
      if (state.find_pod(prefix + "/" + std::to_string(i)).valid()) return true;
    }
    return false;
  };
  int64_t number = 0;
  do spec.id = "what-if-" + std::to_string(number++);
  while (taken(spec.id));
  for (size_t i = 0; i < spec.pods.size(); ++i) {
    spec.pods[i].id = spec.id + "/" + std::to_string(i);
  }
  return trial.add_job(spec);
}

}  // namespace

JobSpec spec_of(const ClusterState& state, JobIx index) {
  const model::Job& job = state.job(index);
  const auto& inventory = state.inventory();
  JobSpec spec{.id = job.id,
               .queue = state.queues().row(job.queue).spec.name,
               .tenant = inventory.name(job.tenant),
               .priority = job.priority,
               .preemptible = job.preemptible,
               .may_displace = job.may_displace,
               .submitted_at = job.submitted_at,
               .expected_run = job.expected_run,
               .checkpoint_interval = job.checkpoint_interval,
               .restart_time = job.restart_time,
               .groups = {},
               .shapes = {},
               .pods = {}};
  for (const model::Group& group : job.groups) {
    spec.groups.push_back({.name = inventory.name(group.name),
                           .parent = group.parent,
                           .min_count = group.min_count,
                           .required_level = inventory.name(group.required_level_name),
                           .preferred_level = inventory.name(group.preferred_level_name)});
  }
  std::map<uint32_t, uint32_t> shapes;
  for (const model::PodIx pod_index : job.pods) {
    const model::Pod& pod = state.pod(pod_index);
    const auto [at, fresh] =
        shapes.try_emplace(pod.shape.slot, static_cast<uint32_t>(spec.shapes.size()));
    if (fresh) spec.shapes.push_back(inventory.shape(pod.shape).spec);
    spec.pods.push_back({.id = pod.id, .group = pod.group, .shape = at->second});
  }
  return spec;
}

model::NodeSpec new_node(const Remedy& remedy) {
  model::NodeSpec spec{.labels = remedy.node.labels, .allocatable = {}, .gpus = {}};
  int64_t gpus = 0;
  int64_t memory_bytes = 0;
  for (const Change& change : remedy.changes) {
    if (change.what == "gpu") gpus = change.amount;
    if (change.what == "gpu-memory") memory_bytes = change.amount * kMiB;
    add_resource(change, spec.allocatable);
  }
  for (int64_t i = 0; i < gpus; ++i) {
    spec.gpus.push_back(remedy.node.gpus.front());
    spec.gpus.back().id = "gpu-" + std::to_string(i);
    spec.gpus.back().memory_bytes = memory_bytes;
  }
  return spec;
}

bool changes_the_job(RemedyKind kind) {
  return kind >= RemedyKind::kLowerRequest && kind <= RemedyKind::kTolerateTaint;
}

JobSpec changed(JobSpec spec, const Remedy& remedy) {
  switch (remedy.kind) {
    case RemedyKind::kLowerRequest:
      lower_request(spec, remedy);
      break;
    case RemedyKind::kLowerMinimum:
      spec.groups[remedy.group].min_count = static_cast<uint32_t>(remedy.changes.front().amount);
      break;
    case RemedyKind::kWidenLevel:
      spec.groups[remedy.group].required_level = remedy.value;
      break;
    case RemedyKind::kDropSelector:
      for (PodShape& shape : spec.shapes) {
        std::erase_if(shape.node_requirements,
                      [&](const auto& need) { return need.key == remedy.value; });
      }
      break;
    case RemedyKind::kDropGpuModel:
      for (PodShape& shape : spec.shapes) shape.gpu.models.clear();
      break;
    case RemedyKind::kDropGpuMemory:
      for (PodShape& shape : spec.shapes) shape.gpu.device_memory_bytes_min = 0;
      break;
    case RemedyKind::kTolerateTaint:
      for (PodShape& shape : spec.shapes) {
        for (const std::string& key : remedy.targets) {
          shape.tolerations.push_back({.key = key, .value = "", .exists = true});
        }
      }
      break;
    default:
      MAINSPRING_CHECK(false, "this remedy changes the cluster, not the job");
  }
  return spec;
}

JobIx apply(Trial& trial, JobIx job, const Remedy& remedy) {
  if (changes_the_job(remedy.kind)) return add_changed(trial, job, remedy);
  const ClusterState& state = trial.state();
  const auto node = [&](size_t i) { return state.inventory().find_node(remedy.targets[i]); };
  switch (remedy.kind) {
    case RemedyKind::kMoreOnNode:
      give_more(trial, job, node(0), remedy.changes);
      break;
    case RemedyKind::kAddNodes: {
      const Node like = state.inventory().node(node(0));
      add_like(trial, like, remedy.changes.front().amount);
      break;
    }
    case RemedyKind::kNewNode:
      add_new_node(trial, remedy);
      break;
    case RemedyKind::kUncordon:
    case RemedyKind::kMakeReady:
      for (size_t i = 0; i < remedy.targets.size(); ++i) trial.set_usable(node(i), true, true);
      break;
    case RemedyKind::kRepairGpu:
      repair_gpu(trial, node(0), remedy.targets[1]);
      break;
    case RemedyKind::kWaitFor:
      for (const std::string& pod : remedy.targets) trial.vacate(state.find_pod(pod));
      break;
    default:
      MAINSPRING_CHECK(false, "this remedy changes the job, not the cluster");
  }
  return job;
}

std::vector<Remedy> weaker(const Remedy& remedy) {
  std::vector<Remedy> out;
  const bool asks =
      remedy.kind == RemedyKind::kLowerRequest || remedy.kind == RemedyKind::kLowerMinimum;
  for (size_t i = 0; i < remedy.changes.size(); ++i) {
    Remedy weak = remedy;
    weak.changes[i].amount += asks ? 1 : -1;
    if (weak.changes[i].amount == 0)
      weak.changes.erase(weak.changes.begin() + static_cast<long>(i));
    if (!weak.changes.empty()) out.push_back(std::move(weak));
  }
  const bool several = remedy.kind == RemedyKind::kTolerateTaint ||
                       remedy.kind == RemedyKind::kUncordon ||
                       remedy.kind == RemedyKind::kMakeReady || remedy.kind == RemedyKind::kWaitFor;
  for (size_t i = 0; several && remedy.targets.size() > 1 && i < remedy.targets.size(); ++i) {
    Remedy weak = remedy;
    weak.targets.erase(weak.targets.begin() + static_cast<long>(i));
    out.push_back(std::move(weak));
  }
  return out;
}

}  // namespace mainspring::engine
