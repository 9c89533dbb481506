// SPDX-License-Identifier: Apache-2.0
#include "mainspring/policy/victims.h"

#include <algorithm>

#include "mainspring/policy/lost_work.h"

namespace mainspring::policy {

using model::ClusterState;
using model::Job;
using model::Pod;
using model::PodIx;

namespace {

bool can_go(const ClusterState& state, const Job& job) {
  if (!job.alive || !job.preemptible || job.removed || job.releasing || job.promised()) {
    return false;
  }
  if (job.pods_holding == 0) return false;
  // A node that left keeps nothing for anybody.
  return std::ranges::all_of(job.pods, [&state](PodIx index) {
    const Pod& pod = state.pod(index);
    return !pod.holds() || state.inventory().node(pod.node).listed;
  });
}

bool holds_on(const Pod& pod) { return pod.holds() && pod.phase != model::PodPhase::kStopping; }

// Pods of groups of pods alone, beyond the minimum; those that came last.
std::vector<PodIx> surplus(const ClusterState& state, const Job& job) {
  std::vector<PodIx> above;
  for (const model::Group& group : job.groups) {
    if (!group.children.empty()) continue;
    uint32_t counting = 0;
    for (const uint32_t local : group.pods) {
      const Pod& pod = state.pod(job.pods[local]);
      if (pod.phase == model::PodPhase::kGone || holds_on(pod)) ++counting;
    }
    for (size_t i = group.pods.size(); i-- > 0 && counting > group.min_count;) {
      const PodIx index = job.pods[group.pods[i]];
      if (!holds_on(state.pod(index))) continue;
      above.push_back(index);
      --counting;
    }
  }
  return above;
}

// Lost work per weight, compared without division.
bool cheaper_per_weight(const VictimUnit& left, const VictimUnit& right) {
  return static_cast<__int128>(left.lost_gpu_ms) * std::max<int64_t>(right.weight, 1) <
         static_cast<__int128>(right.lost_gpu_ms) * std::max<int64_t>(left.weight, 1);
}

}  // namespace

VictimPool::VictimPool(const ClusterState& state, base::Instant now) {
  for (uint32_t slot = 0; slot < state.jobs().size(); ++slot) {
    if (can_go(state, state.jobs()[slot])) add_job(state, slot, now);
  }
  for (uint32_t slot = 0; slot < state.pods().size(); ++slot) {
    const Pod& pod = state.pods()[slot];
    const bool goes = pod.alive && pod.holds() && pod.phase == model::PodPhase::kStopping &&
                      pod.interval.until > now;
    if (goes && state.inventory().node(pod.node).listed) {
      stopping_.push_back(state.pod_index(slot));
    }
  }
  std::ranges::sort(units_, [&](const VictimUnit& left, const VictimUnit& right) {
    if (left.whole != right.whole) return right.whole;
    const Job& one = state.job(left.job);
    const Job& other = state.job(right.job);
    if (one.priority != other.priority) return one.priority < other.priority;
    if (cheaper_per_weight(left, right)) return true;
    if (cheaper_per_weight(right, left)) return false;
    if (one.running_since != other.running_since) return one.running_since > other.running_since;
    if (one.id != other.id) return one.id < other.id;
    return left.first_pod < right.first_pod;
  });
  std::vector<std::vector<uint32_t>> by_node(state.inventory().nodes().size());
  for (uint32_t number = 0; number < units_.size(); ++number) {
    for (const PodIx pod : pods(units_[number])) {
      std::vector<uint32_t>& here = by_node[state.pod(pod).node.slot];
      if (here.empty() || here.back() != number) here.push_back(number);
    }
  }
  for (const std::vector<uint32_t>& here : by_node) {
    node_first_.push_back(static_cast<uint32_t>(node_units_.size()));
    node_units_.insert(node_units_.end(), here.begin(), here.end());
  }
  node_first_.push_back(static_cast<uint32_t>(node_units_.size()));
}

void VictimPool::add_job(const ClusterState& state, uint32_t slot, base::Instant now) {
  const Job& job = state.jobs()[slot];
  const model::JobIx index = state.job_index(slot);
  for (const PodIx pod : surplus(state, job)) add_unit(state, index, false, {&pod, 1}, now);
  std::vector<PodIx> all;
  for (const PodIx pod : job.pods) {
    if (holds_on(state.pod(pod))) all.push_back(pod);
  }
  if (!all.empty()) add_unit(state, index, true, all, now);
}

void VictimPool::add_unit(const ClusterState& state, model::JobIx job, bool whole,
                          std::span<const PodIx> pods, base::Instant now) {
  VictimUnit unit{.job = job,
                  .first_pod = static_cast<uint32_t>(pods_.size()),
                  .pod_count = static_cast<uint32_t>(pods.size()),
                  .whole = whole,
                  .gpu_milli = gpu_milli_of(state, pods),
                  .weight = weight_of(state, pods)};
  unit.lost_gpu_ms = lost_gpu_ms(state.job(job), unit.weight, now);
  pods_.insert(pods_.end(), pods.begin(), pods.end());
  units_.push_back(unit);
}

std::span<const uint32_t> VictimPool::on_node(uint32_t node_slot) const {
  return std::span(node_units_)
      .subspan(node_first_[node_slot], node_first_[node_slot + 1] - node_first_[node_slot]);
}

}  // namespace mainspring::policy
