// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/run_digest.h"

namespace mainspring::sim {
namespace {

using base::RunHash;

void fold_body(RunHash& hash, const model::NodeChanged& event) {
  hash.add(event.node.name);
  hash.add(event.node.schedulable);
  hash.add(event.node.ready);
  for (const int64_t amount : event.node.allocatable.amounts) hash.add(amount);
  for (const model::GpuSpec& gpu : event.node.gpus) {
    hash.add(gpu.id);
    hash.add(gpu.model);
    hash.add(gpu.memory_bytes);
    hash.add(gpu.healthy);
  }
}
void fold_body(RunHash& hash, const model::NodeGone& event) { hash.add(event.name); }
void fold_body(RunHash& hash, const model::GpuSampled& event) {
  hash.add(event.node);
  hash.add(event.gpu);
  hash.add(event.healthy);
  hash.add(event.foreign_memory_bytes);
}
void fold_body(RunHash& hash, const model::JobChanged& event) {
  hash.add(event.job.id);
  hash.add(event.job.priority);
  hash.add(event.job.submitted_at.ms);
  hash.add(event.job.expected_run.ms);
  for (const model::GroupSpec& group : event.job.groups) hash.add(group.min_count);
  for (const model::PodSpec& pod : event.job.pods) {
    hash.add(pod.id);
    hash.add(pod.group);
    const model::PodShape& shape = event.job.shapes[pod.shape];
    for (const int64_t amount : shape.request.amounts) hash.add(amount);
    hash.add(shape.gpu.count);
    hash.add(shape.gpu.milli);
    hash.add(shape.gpu.memory_bytes);
  }
}
void fold_body(RunHash& hash, const model::JobGone& event) { hash.add(event.job); }
template <class PodEvent>
void fold_pod(RunHash& hash, const PodEvent& event) {
  hash.add(event.pod);
  hash.add(event.incarnation);
}
void fold_body(RunHash& hash, const model::PodBound& event) { fold_pod(hash, event); }
void fold_body(RunHash& hash, const model::PodStarted& event) { fold_pod(hash, event); }
void fold_body(RunHash& hash, const model::PodStopping& event) { fold_pod(hash, event); }
void fold_body(RunHash& hash, const model::PodGone& event) {
  fold_pod(hash, event);
  hash.add(static_cast<int>(event.end));
}
void fold_body(RunHash& hash, const model::BindRefused& event) {
  fold_pod(hash, event);
  hash.add(event.why);
}
void fold_body(RunHash& hash, const model::PodFound& event) {
  fold_pod(hash, event);
  hash.add(event.node);
  for (const std::string& gpu : event.gpus) hash.add(gpu);
  hash.add(event.phase);
}
void fold_body(RunHash& hash, const model::ConfigChanged& event) {
  hash.add(event.config.topologies.size());
  hash.add(event.config.gang_start_timeout.ms);
}
void fold_body(RunHash& hash, const model::GpuModelsRestored& event) {
  for (const std::string& model : event.models) hash.add(model);
}
void fold_body(RunHash& hash, const model::JobRestored& event) {
  hash.add(event.job);
  hash.add(event.failed_starts);
  hash.add(event.backoff_until.ms);
}
void fold_body(RunHash& hash, const model::DemandRestored& event) {
  hash.add(event.arrivals);
  hash.add(event.arrivals_priced);
}
void fold_body(RunHash&, const model::Tick&) {}

void fold_decision(RunHash& hash, const model::Bind& bind) {
  hash.add(bind.job);
  hash.add(bind.pods.size());
  for (const model::PodBinding& pod : bind.pods) {
    hash.add(pod.pod);
    hash.add(pod.incarnation);
    hash.add(pod.node);
    hash.add(pod.gpus.size());
    for (const std::string& gpu : pod.gpus) hash.add(gpu);
  }
}

void fold_decision(RunHash& hash, const model::Release& release) {
  hash.add(release.job);
  hash.add(static_cast<int>(release.reason));
  hash.add(release.retry_at.ms);
  hash.add(release.pods.size());
  for (const model::PodRelease& pod : release.pods) fold_pod(hash, pod);
}

}  // namespace

void fold(base::RunHash& hash, const model::Event& event) {
  hash.add(event.sequence);
  hash.add(event.at.ms);
  hash.add(event.body.index());
  std::visit([&hash](const auto& body) { fold_body(hash, body); }, event.body);
}

void fold(base::RunHash& hash, const model::Plan& plan) {
  hash.add(plan.decisions.size());
  for (const model::Decision& decision : plan.decisions) {
    hash.add(decision.index());
    std::visit([&hash](const auto& one) { fold_decision(hash, one); }, decision);
  }
  hash.add(plan.next_wake.ms);
}

uint64_t digest_of_decisions(const model::Plan& plan) {
  base::RunHash hash;
  fold(hash, plan);
  return hash.value();
}

}  // namespace mainspring::sim
