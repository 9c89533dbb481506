// SPDX-License-Identifier: Apache-2.0
#include "mainspring/model/cluster_state.h"

#include <algorithm>

#include "mainspring/base/check.h"
#include "mainspring/model/gang.h"

namespace mainspring::model {

ClusterState::ClusterState() {
  const auto ok = inventory_.set_gpu_resources(config_.gpu_resources);
  MAINSPRING_CHECK(ok.has_value(), "the default GPU resources are refused");
}

const Job& ClusterState::job(JobIx index) const {
  MAINSPRING_CHECK(index.slot < jobs_.size(), "a job index is out of range");
  const Job& job = jobs_[index.slot];
  MAINSPRING_CHECK(job.alive && job.generation == index.generation, "a job index is stale");
  return job;
}

const Pod& ClusterState::pod(PodIx index) const {
  MAINSPRING_CHECK(index.slot < pods_.size(), "a pod index is out of range");
  const Pod& pod = pods_[index.slot];
  MAINSPRING_CHECK(pod.alive && pod.generation == index.generation, "a pod index is stale");
  return pod;
}

Job& ClusterState::mutable_job(JobIx index) { return const_cast<Job&>(job(index)); }
Pod& ClusterState::mutable_pod(PodIx index) { return const_cast<Pod&>(pod(index)); }

JobIx ClusterState::find_job(std::string_view id) const {
  const uint32_t slot = job_by_id_.find(id);
  return slot == base::IdMap::kNone ? JobIx{} : job_index(slot);
}

PodIx ClusterState::find_pod(std::string_view id) const {
  const uint32_t slot = pod_by_id_.find(id);
  return slot == base::IdMap::kNone ? PodIx{} : pod_index(slot);
}

// What a pod counts for in its job, by phase.
void ClusterState::count_pod(Job& job, const Pod& pod, int32_t by) {
  const auto step = [by](uint32_t& counter) { counter += static_cast<uint32_t>(by); };
  if (pod.phase == PodPhase::kPending && !pod.withdrawn) step(job.pods_pending);
  if (pod.holds()) step(job.pods_holding);
  if (pod.holds() && pod.phase >= PodPhase::kRunning && pod.phase <= PodPhase::kStopping) {
    step(job.pods_started);
  }
}

void ClusterState::hold(PodIx index, NodeIx node_index, DeviceMask devices, base::Interval interval,
                        HoldingState holding) {
  Pod& pod = mutable_pod(index);
  MAINSPRING_CHECK(!pod.holds(), "a pod was to hold two places");
  Job& job = mutable_job(pod.job);
  count_pod(job, pod, -1);
  inventory_.take(node_index, pod.shape, devices);
  Node& node = inventory_.mutable_node(node_index);
  pod.node = node_index;
  pod.devices = devices;
  pod.interval = interval;
  pod.holding = holding;
  pod.phase = PodPhase::kClaimed;
  charge_pod(pod, 1);
  pod.previous_on_node = PodIx{};
  pod.next_on_node = node.first_pod;
  if (node.first_pod.valid()) mutable_pod(node.first_pod).previous_on_node = index;
  node.first_pod = index;
  ++node.pod_count;
  count_pod(job, pod, 1);
  job_changes_.add(pod.job.slot);
}

void ClusterState::let_go(PodIx index) {
  Pod& pod = mutable_pod(index);
  MAINSPRING_CHECK(pod.holds(), "a pod that holds nothing was to let go");
  Job& job = mutable_job(pod.job);
  charge_pod(pod, -1);
  count_pod(job, pod, -1);
  Node& node = inventory_.mutable_node(pod.node);
  if (pod.previous_on_node.valid()) {
    mutable_pod(pod.previous_on_node).next_on_node = pod.next_on_node;
  } else {
    node.first_pod = pod.next_on_node;
  }
  if (pod.next_on_node.valid()) {
    mutable_pod(pod.next_on_node).previous_on_node = pod.previous_on_node;
  }
  --node.pod_count;
  if (pod.phase == PodPhase::kStopping) inventory_.set_stopping(pod.node, pod.shape, false);
  inventory_.give_back(pod.node, pod.shape, pod.devices);
  if (!node.listed && node.pod_count == 0) inventory_.drop_node(pod.node);
  pod.holding = HoldingState::kNone;
  pod.phase = PodPhase::kPending;
  pod.node = NodeIx{};
  pod.devices = 0;
  pod.interval = {};
  pod.previous_on_node = pod.next_on_node = PodIx{};
  count_pod(job, pod, 1);
  job_changes_.add(pod.job.slot);
}

void ClusterState::set_phase(PodIx index, PodPhase phase) {
  Pod& pod = mutable_pod(index);
  Job& job = mutable_job(pod.job);
  const bool turns = (pod.phase == PodPhase::kStopping) != (phase == PodPhase::kStopping);
  if (turns && pod.holds()) {
    inventory_.set_stopping(pod.node, pod.shape, phase == PodPhase::kStopping);
  }
  if (turns) charge_pod(pod, -1);
  count_pod(job, pod, -1);
  pod.phase = phase;
  if (phase == PodPhase::kStopping) {
    // It is expected to be gone by then; one that hangs is not counted on any longer.
    pod.interval.until = std::min(pod.interval.until, at_ + config_.promise_timeout);
  }
  count_pod(job, pod, 1);
  if (turns) charge_pod(pod, 1);
  job_changes_.add(pod.job.slot);
}

void ClusterState::set_start_deadline(JobIx index, base::Instant deadline) {
  mutable_job(index).start_deadline = deadline;
  job_changes_.add(index.slot);
}

void ClusterState::begin_release(JobIx index, base::Instant retry_at) {
  Job& job = mutable_job(index);
  MAINSPRING_CHECK(!job.releasing, "a job was released twice");
  job.releasing = true;
  job.start_deadline = base::Instant::never();
  job.backoff_until = retry_at;
  ++job.failed_starts;
  for (const PodIx pod : job.pods) {
    if (mutable_pod(pod).holds()) set_phase(pod, PodPhase::kStopping);
  }
  job_changes_.add(index.slot);
  settle_job(index);
}

void ClusterState::mark_demand_priced() {
  for (uint32_t i = 0; i < inventory_.shapes().size(); ++i) {
    Shape& shape = inventory_.mutable_shape(ShapeIx{i});
    shape.arrivals_priced = shape.arrivals;
  }
  arrivals_priced_ = arrivals_;
}

// Brings the job's own life up to date after any of its pods changed.
void ClusterState::settle_job(JobIx index) {
  Job& job = mutable_job(index);
  watch_run(job);
  if (job.pods_holding == 0) {
    job.releasing = false;
    job.start_deadline = base::Instant::never();
    const bool over = std::ranges::all_of(
        job.pods, [this](PodIx pod) { return pods_[pod.slot].phase == PodPhase::kGone; });
    if (job.removed || (over && !job.pods_awaited)) erase_job(index);
    return;
  }
  const bool watched = job.start_deadline != base::Instant::never() || job.failed_starts > 0;
  if (!watched || job.releasing || job.pods_started != job.pods_holding) return;
  // A gang that lost members is not started because those that are left are.
  if (minimum_met(*this, job, Counts::kStarted)) {
    job.start_deadline = base::Instant::never();
    job.failed_starts = 0;
  }
}

void ClusterState::erase_pod(PodIx index) {
  Pod& pod = mutable_pod(index);
  MAINSPRING_CHECK(!pod.holds(), "a pod was erased while it holds a place");
  set_demanded(pod, false);
  pod_by_id_.erase(pod.id);
  const uint32_t generation = pod.generation;
  pod = Pod{};
  pod.generation = generation;
  free_pods_.push_back(index.slot);
}

void ClusterState::erase_job(JobIx index) {
  drop_promises(index);
  Job& job = mutable_job(index);
  for (const PodIx pod : job.pods) erase_pod(pod);
  job_by_id_.erase(job.id);
  const uint32_t generation = job.generation;
  job = Job{};
  job.generation = generation;
  free_jobs_.push_back(index.slot);
  job_changes_.add(index.slot);
}

}  // namespace mainspring::model
