// SPDX-License-Identifier: Apache-2.0
// Recounts what ClusterState keeps in sums.
#include <algorithm>
#include <bit>
#include <vector>

#include "mainspring/base/check.h"
#include "mainspring/model/cluster_state.h"

namespace mainspring::model {
namespace {

void book_besides(Node& node, const Shape& shape) {
  for (const ShapeAmount& need : shape.others) {
    const auto at = std::ranges::find(node.others, need.name, &OtherResource::name);
    if (at == node.others.end()) {
      node.others.push_back({.name = need.name, .used = need.amount});
    } else {
      at->used += need.amount;
    }
  }
  for (const AttachedVolume& one : shape.attachments) {
    const auto at = std::ranges::find(node.volumes, one, &VolumeInUse::which);
    if (at == node.volumes.end()) {
      node.volumes.push_back({.which = one, .pods = 1});
    } else {
      ++at->pods;
    }
  }
}

bool same_besides(const Node& node, const Node& counted) {
  const bool others = std::ranges::all_of(node.others, [&](const OtherResource& other) {
    const auto at = std::ranges::find(counted.others, other.name, &OtherResource::name);
    return other.used == (at == counted.others.end() ? 0 : at->used);
  });
  const bool volumes = std::ranges::all_of(node.volumes, [&](const VolumeInUse& volume) {
    const auto at = std::ranges::find(counted.volumes, volume.which, &VolumeInUse::which);
    return at != counted.volumes.end() && at->pods == volume.pods;
  });
  const auto used =
      std::ranges::count_if(node.others, [](const OtherResource& other) { return other.used > 0; });
  return others && volumes && counted.volumes.size() == node.volumes.size() &&
         static_cast<size_t>(used) == counted.others.size();
}

}  // namespace

void ClusterState::check() const {
  inventory_.check_sums();
  queues_.check_sums();
  std::vector<Resources> used(inventory_.nodes().size());
  std::vector<std::vector<Gpu>> gpus(inventory_.nodes().size());
  for (size_t i = 0; i < gpus.size(); ++i) {
    gpus[i] = inventory_.nodes()[i].gpus;
    for (Gpu& gpu : gpus[i]) gpu.holders = 0, gpu.used_milli = 0, gpu.memory_used_bytes = 0;
  }
  std::vector<Node> besides(inventory_.nodes().size());
  std::vector<TagBook::Booked> tagged;
  const auto book = [&](ShapeIx shape_index, NodeIx node, DeviceMask devices, bool staying) {
    const Shape& shape = inventory_.shape(shape_index);
    used[node.slot] += shape.request;
    book_besides(besides[node.slot], shape);
    tagged.push_back({&shape, node.slot, staying});
    for (DeviceMask rest = devices; rest != 0; rest &= rest - 1) {
      Gpu& gpu = gpus[node.slot][static_cast<size_t>(std::countr_zero(rest))];
      const GpuTake take = gpu_take(shape, gpu);
      gpu.used_milli += take.milli;
      gpu.memory_used_bytes += take.memory_bytes;
      ++gpu.holders;
    }
  };
  for (const Pod& pod : pods_) {
    if (!pod.alive || !pod.holds()) continue;
    book(pod.shape, pod.node, pod.devices, pod.phase != PodPhase::kStopping);
  }
  // What is held fits; what is promised besides may still be held by others.
  for (const std::vector<Gpu>& devices : gpus) {
    for (const Gpu& gpu : devices) {
      MAINSPRING_CHECK(gpu.used_milli <= kWholeGpuMilli, "a device is over-committed");
    }
  }
  for (const Job& job : jobs_) {
    for (const Promise& promise : job.promises) {
      book(pod(promise.pod).shape, promise.node, promise.devices, true);
    }
  }
  inventory_.tags().check(tagged);
  for (size_t i = 0; i < gpus.size(); ++i) {
    const Node& node = inventory_.nodes()[i];
    MAINSPRING_CHECK(node.used == used[i], "a node's use is not the sum of its pods");
    MAINSPRING_CHECK(same_besides(node, besides[i]),
                     "a node's other resources and volumes are not those of its pods");
    for (size_t device = 0; device < gpus[i].size(); ++device) {
      const Gpu& counted = gpus[i][device];
      const Gpu& booked = node.gpus[device];
      MAINSPRING_CHECK(counted.used_milli == booked.used_milli &&
                           counted.memory_used_bytes == booked.memory_used_bytes &&
                           counted.holders == booked.holders,
                       "a device's use is not the sum of its holders");
    }
  }
}

}  // namespace mainspring::model
