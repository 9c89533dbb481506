// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/timed_amounts.h"

namespace mainspring::sim {
namespace {

using model::ClusterState;

template <class Counts>
int64_t gpus_where(const ClusterState& state, const model::Job& job, Counts counts) {
  int64_t gpus = 0;
  for (const model::PodIx index : job.pods) {
    const model::Pod& pod = state.pod(index);
    if (counts(pod)) gpus += state.inventory().shape(pod.shape).gpu_count;
  }
  return gpus;
}

}  // namespace

int64_t gpus_wanted(const ClusterState& state, const model::Job& job) {
  return gpus_where(state, job,
                    [](const model::Pod& pod) { return pod.phase == model::PodPhase::kPending; });
}

int64_t gpus_held(const ClusterState& state, const model::Job& job) {
  return gpus_where(state, job, [](const model::Pod& pod) { return pod.holds(); });
}

int64_t quota_milli(const ClusterState& state, model::QueueIx queue) {
  const model::Queue& row = state.queues().row(queue);
  return row.declared ? row.resource("gpu").quota : model::kUnlimited;
}

int64_t held_milli(const ClusterState& state, model::QueueIx queue) {
  return state.queues().row(queue).held(model::kGpuDimension);
}

int64_t excess_milli(const ClusterState& state, model::QueueIx queue) {
  const int64_t quota = quota_milli(state, queue);
  return quota == model::kUnlimited ? 0 : held_milli(state, queue) - quota;
}

bool within_quota(const ClusterState& state, const model::Job& job, int64_t gpus) {
  const int64_t quota = quota_milli(state, job.queue);
  return quota == model::kUnlimited || held_milli(state, job.queue) + gpus * 1000 <= quota;
}

}  // namespace mainspring::sim
