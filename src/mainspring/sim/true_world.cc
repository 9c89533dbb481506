// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/true_world.h"

#include <algorithm>
#include <utility>

#include "mainspring/base/check.h"
#include "mainspring/sim/gang_tree.h"

namespace mainspring::sim {

TrueWorld::TrueWorld(const std::vector<model::NodeSpec>& nodes)
    : node_capacity_milli_(nodes.size(), 0) {
  for (const model::NodeSpec& spec : nodes) {
    const auto number = static_cast<uint32_t>(nodes_.size());
    node_by_name_.insert(spec.name, number);
    WorldNode& node = nodes_.emplace_back();
    node.spec = spec;
    node.up = spec.ready;
    node.cordoned = !spec.schedulable;
    for (const model::GpuSpec& gpu : spec.gpus) node.devices.push_back({.spec = gpu});
    recount_capacity(number);
  }
}

uint32_t TrueWorld::find_device(uint32_t node, std::string_view id) const {
  const std::vector<WorldDevice>& devices = nodes_[node].devices;
  for (uint32_t i = 0; i < devices.size(); ++i) {
    if (devices[i].spec.id == id) return i;
  }
  return base::IdMap::kNone;
}

uint32_t TrueWorld::add_pods(const model::JobSpec& job, uint32_t job_number) {
  const auto first = static_cast<uint32_t>(pods_.size());
  for (uint32_t i = 0; i < job.pods.size(); ++i) {
    pod_by_id_.insert(job.pods[i].id, static_cast<uint32_t>(pods_.size()));
    pods_.push_back({.id = job.pods[i].id,
                     .job = job_number,
                     .position = i,
                     .shape = job.shapes[job.pods[i].shape]});
  }
  return first;
}

model::NodeSpec TrueWorld::report(const WorldNode& node) const {
  model::NodeSpec spec = node.spec;
  spec.ready = node.up;
  spec.schedulable = !node.cordoned;
  spec.gpus.clear();
  for (const WorldDevice& device : node.devices) {
    if (device.visible) spec.gpus.push_back(device.spec);
  }
  return spec;
}

std::string TrueWorld::why_not(const WorldPod& pod, const model::PodBinding& binding) const {
  const uint32_t number = find_node(binding.node);
  if (number == base::IdMap::kNone || !nodes_[number].up) return "the node is not there";
  const WorldNode& node = nodes_[number];
  if (!(node.used + pod.shape.request).within(node.spec.allocatable)) return "the node is full";
  for (const std::string& id : binding.gpus) {
    const uint32_t position = find_device(number, id);
    if (position == base::IdMap::kNone || !node.devices[position].visible) {
      return "the device is not there";
    }
    const WorldDevice& device = node.devices[position];
    if (!device.spec.healthy) return "the device is not healthy";
    const DeviceShare share = device_share(pod.shape.gpu, device.spec.memory_bytes);
    const bool memory_free =
        device.used_memory_bytes + share.memory_bytes + device.foreign_memory_bytes <=
        device.spec.memory_bytes;
    if (device.used_milli + share.milli > 1000 || !memory_free) return "the device is taken";
    if (share.whole && device.foreign_memory_bytes > 0) return "a stranger uses the device";
  }
  return {};
}

void TrueWorld::occupy(uint32_t pod_number, const model::PodBinding& binding) {
  WorldPod& pod = pods_[pod_number];
  MAINSPRING_CHECK(pod.devices.empty(), "a pod occupies two places in the true world");
  pod.node = find_node(binding.node);
  WorldNode& node = nodes_[pod.node];
  node.used += pod.shape.request;
  node.pods.insert(pod_number);
  for (const std::string& id : binding.gpus) {
    const uint32_t position = find_device(pod.node, id);
    WorldDevice& device = node.devices[position];
    const DeviceShare share = device_share(pod.shape.gpu, device.spec.memory_bytes);
    device.used_milli += share.milli;
    device.used_memory_bytes += share.memory_bytes;
    held_milli_ += share.milli;
    pod.devices.push_back(position);
  }
  touched_.push_back(pod.node);
}

void TrueWorld::vacate(uint32_t pod_number) {
  WorldPod& pod = pods_[pod_number];
  WorldNode& node = nodes_[pod.node];
  node.used -= pod.shape.request;
  node.pods.erase(pod_number);
  for (const uint32_t position : pod.devices) {
    WorldDevice& device = node.devices[position];
    const DeviceShare share = device_share(pod.shape.gpu, device.spec.memory_bytes);
    device.used_milli -= share.milli;
    device.used_memory_bytes -= share.memory_bytes;
    held_milli_ -= share.milli;
  }
  pod.devices.clear();
  touched_.push_back(pod.node);
}

int64_t TrueWorld::held_milli(const WorldPod& pod) const {
  int64_t milli = 0;
  for (const uint32_t position : pod.devices) {
    const int64_t memory = nodes_[pod.node].devices[position].spec.memory_bytes;
    milli += device_share(pod.shape.gpu, memory).milli;
  }
  return milli;
}

void TrueWorld::recount_capacity(uint32_t number) {
  const WorldNode& node = nodes_[number];
  const auto working = std::ranges::count_if(node.devices, [&](const WorldDevice& device) {
    return node.up && device.visible && device.spec.healthy;
  });
  capacity_milli_ += 1000 * working - node_capacity_milli_[number];
  node_capacity_milli_[number] = 1000 * working;
}

std::vector<uint32_t> TrueWorld::take_touched() { return std::exchange(touched_, {}); }

}  // namespace mainspring::sim
