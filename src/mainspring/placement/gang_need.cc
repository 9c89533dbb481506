// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/gang_need.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "mainspring/model/gang.h"

namespace mainspring::placement {
namespace {

using model::ClusterState;
using model::Job;
using model::Pod;
using model::PodPhase;
using model::Resource;
using model::Shape;

// Values and how often each occurs.
using Bag = std::vector<std::pair<int64_t, int64_t>>;

int64_t smallest_sum(Bag& bag, int64_t count) {
  std::ranges::sort(bag);
  int64_t sum = 0;
  for (const auto& [value, times] : bag) {
    const int64_t taken = std::min(times, count);
    sum += value * taken;
    count -= taken;
  }
  return sum;
}

auto size_key(const Shape& shape) {
  return std::tuple(
      int64_t{shape.gpu_count} * (shape.whole ? model::kWholeGpuMilli : shape.gpu_milli),
      int64_t{shape.gpu_count} * shape.gpu_memory_bytes, shape.request[Resource::kCpuMilli],
      shape.request[Resource::kMemoryBytes], shape.request[Resource::kEphemeralBytes]);
}

bool costs_nothing(const Pod& pod, Standing standing) {
  if (standing == Standing::kFromStart) return pod.phase == PodPhase::kGone;
  return pod_counts(pod, model::Counts::kHolding);
}

// What one pod of the shape adds to each measure.
int64_t amount_of(const Shape& shape, size_t measure) {
  if (measure < model::kResourceCount) return shape.request.amounts[measure];
  if (measure == model::kResourceCount) return shape.whole ? shape.gpu_count : 0;
  return int64_t{shape.gpu_count} * (shape.whole ? model::kWholeGpuMilli : shape.gpu_milli);
}

}  // namespace

std::vector<PodClass> pod_classes(const ClusterState& state, const Job& job) {
  std::map<std::pair<uint32_t, uint32_t>, size_t> known;
  std::vector<PodClass> classes;
  for (uint32_t group = 0; group < job.groups.size(); ++group) {
    for (const uint32_t local : job.groups[group].pods) {
      const Pod& pod = state.pod(job.pods[local]);
      const bool waiting = pod.phase == PodPhase::kPending;
      const auto [at, fresh] = known.try_emplace({pod.shape.slot, group}, classes.size());
      if (fresh) {
        classes.push_back({.shape = pod.shape, .group = group, .sample = {}, .levels = {}});
      }
      PodClass& found = classes[at->second];
      ++found.pods;
      if (fresh || (waiting && found.waiting == 0)) found.sample = job.pods[local];
      found.waiting += waiting ? 1 : 0;
    }
  }
  const auto& inventory = state.inventory();
  std::ranges::stable_sort(classes, [&](const PodClass& left, const PodClass& right) {
    return size_key(inventory.shape(left.shape)) > size_key(inventory.shape(right.shape));
  });
  if (classes.size() > kClassesMax) classes.resize(kClassesMax);
  for (PodClass& pod_class : classes) {
    for (auto group = static_cast<int32_t>(pod_class.group); group >= 0;
         group = job.groups[static_cast<size_t>(group)].parent) {
      const model::LevelIx level = job.groups[static_cast<size_t>(group)].required_level;
      if (level.valid()) pod_class.levels.push_back(level);
    }
  }
  return classes;
}

GangNeed::GangNeed(const ClusterState& state, const Job& job, const std::vector<PodClass>& classes,
                   Standing standing)
    : least_(job.groups.size(), std::vector<int64_t>(kAmounts + classes.size(), 0)),
      necessary_(job.groups.size(), false) {
  // Children stand behind their parents, so one pass from the back sees every group complete.
  for (size_t i = job.groups.size(); i-- > 0;) {
    const model::Group& group = job.groups[i];
    std::map<std::pair<uint32_t, bool>, int64_t> pods;
    for (const uint32_t local : group.pods) {
      const Pod& pod = state.pod(job.pods[local]);
      ++pods[{pod.shape.slot, costs_nothing(pod, standing)}];
    }
    for (size_t measure = 0; measure < kAmounts + classes.size(); ++measure) {
      Bag bag;
      for (const uint32_t child : group.children) bag.emplace_back(least_[child][measure], 1);
      for (const auto& [kind, count] : pods) {
        const auto& [shape, free] = kind;
        int64_t value = 0;
        if (measure < kAmounts) {
          value = amount_of(state.inventory().shape(model::ShapeIx{shape}), measure);
        } else {
          const PodClass& wanted = classes[measure - kAmounts];
          value = wanted.shape.slot == shape && wanted.group == i ? 1 : 0;
        }
        bag.emplace_back(free ? 0 : value, count);
      }
      least_[i][measure] = smallest_sum(bag, group.min_count);
    }
  }
  for (size_t i = 0; i < job.groups.size(); ++i) {
    const int32_t parent = job.groups[i].parent;
    if (parent < 0) {
      necessary_[i] = true;
      continue;
    }
    const model::Group& around = job.groups[static_cast<size_t>(parent)];
    necessary_[i] = necessary_[static_cast<size_t>(parent)] &&
                    around.min_count == around.children.size() + around.pods.size();
  }
}

model::Resources GangNeed::resources(uint32_t group) const {
  model::Resources sum;
  std::copy_n(least_[group].begin(), model::kResourceCount, sum.amounts.begin());
  return sum;
}

}  // namespace mainspring::placement
