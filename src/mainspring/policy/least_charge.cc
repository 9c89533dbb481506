// SPDX-License-Identifier: Apache-2.0
#include "mainspring/policy/least_charge.h"

#include <algorithm>
#include <vector>

#include "mainspring/model/gang.h"

namespace mainspring::policy {
namespace {

int64_t cost_of(const model::Shape& shape, size_t dimension) {
  switch (dimension) {
    case model::kGpuDimension:
      return int64_t{shape.gpu_count} * shape.gpu_milli;
    case model::kCpuDimension:
      return shape.request[model::Resource::kCpuMilli];
    default:
      return shape.request[model::Resource::kMemoryBytes];
  }
}

int64_t cheapest(std::vector<int64_t>& costs, size_t count) {
  if (count < costs.size()) {
    std::ranges::nth_element(costs, costs.begin() + static_cast<std::ptrdiff_t>(count));
  }
  int64_t sum = 0;
  for (size_t i = 0; i < std::min(count, costs.size()); ++i) sum += costs[i];
  return sum;
}

}  // namespace

LeastCharge least_charge(const model::ClusterState& state, const model::Job& job) {
  LeastCharge least{};
  for (size_t dimension = 0; dimension < least.size(); ++dimension) {
    // By group, from the back: children stand behind their parents.
    std::vector<int64_t> of_group(job.groups.size(), 0);
    for (size_t i = job.groups.size(); i-- > 0;) {
      const model::Group& group = job.groups[i];
      std::vector<int64_t> costs;
      for (const uint32_t local : group.pods) {
        const model::Pod& pod = state.pod(job.pods[local]);
        const bool counts = model::pod_counts(pod, model::Counts::kHolding);
        costs.push_back(counts ? 0 : cost_of(state.inventory().shape(pod.shape), dimension));
      }
      for (const uint32_t child : group.children) costs.push_back(of_group[child]);
      of_group[i] = cheapest(costs, group.min_count);
    }
    least[dimension] = of_group.front();
  }
  return least;
}

Asks asks_of(const model::ClusterState& state, const model::Job& job) {
  Asks asked{};
  for (const model::PodIx index : job.pods) {
    const model::Shape& shape = state.inventory().shape(state.pod(index).shape);
    asked[model::kGpuDimension] = asked[model::kGpuDimension] || shape.gpu_count > 0;
    for (const size_t dimension : {model::kCpuDimension, model::kMemoryDimension}) {
      asked[dimension] = asked[dimension] || cost_of(shape, dimension) > 0;
    }
  }
  return asked;
}

}  // namespace mainspring::policy
