// SPDX-License-Identifier: Apache-2.0
#include "mainspring/model/gang.h"

#include <algorithm>

namespace mainspring::model {

bool pod_counts(const Pod& pod, Counts counts) {
  if (pod.phase == PodPhase::kGone || counts == Counts::kListed) return true;
  if (!pod.holds() || pod.phase == PodPhase::kStopping) return false;
  return counts == Counts::kHolding || pod.phase >= PodPhase::kRunning;
}

bool minimum_met(const ClusterState& state, const Job& job, Counts counts) {
  // Children stand behind their parents, so one pass from the back sees every group complete.
  std::vector<uint32_t> met(job.groups.size(), 0);
  for (size_t i = job.groups.size(); i-- > 0;) {
    const Group& group = job.groups[i];
    for (const uint32_t local : group.pods) {
      if (pod_counts(state.pod(job.pods[local]), counts)) ++met[i];
    }
    const bool satisfied = met[i] >= group.min_count;
    if (i == 0) return satisfied;
    if (satisfied) ++met[static_cast<size_t>(group.parent)];
  }
  return true;
}

bool is_gang(const Job& job) {
  const Group& root = job.groups.front();
  return root.min_count > 1 || (!root.children.empty() && job.pods.size() > 1);
}

}  // namespace mainspring::model
