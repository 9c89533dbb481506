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
void fold_body(RunHash& hash, const model::JobCheckpointed& event) { hash.add(event.job); }
void fold_body(RunHash& hash, const model::QueueChanged& event) {
  const model::QueueSpec& queue = event.queue;
  hash.add(queue.name);
  hash.add(queue.parent);
  hash.add(queue.priority);
  hash.add(queue.resources.size());
  for (const model::QueueResource& resource : queue.resources) {
    hash.add(resource.name);
    hash.add(resource.quota);
    hash.add(resource.quota_ppm);
    hash.add(resource.limit);
    hash.add(resource.weight);
  }
  hash.add(queue.tenants.size());
  for (const std::string& tenant : queue.tenants) hash.add(tenant);
  hash.add(queue.min_run_before_preempt.ms);
  hash.add(queue.min_run_before_reclaim.ms);
  hash.add(queue.displace_after.ms);
}
void fold_body(RunHash& hash, const model::QueueGone& event) { hash.add(event.name); }
void fold_body(RunHash& hash, const model::PromiseRestored& event) {
  hash.add(event.job);
  hash.add(event.until.ms);
  hash.add(event.broken);
  for (const model::PromisedPlace& place : event.places) {
    hash.add(place.pod);
    hash.add(place.node);
    for (const std::string& gpu : place.gpus) hash.add(gpu);
  }
  for (const std::string& job : event.displaced) hash.add(job);
}
void fold_body(RunHash& hash, const model::UsageRestored& event) {
  hash.add(event.queue);
  hash.add(event.at.ms);
  for (const auto& amount : event.amounts) {
    hash.add(amount.resource);
    hash.add(amount.seconds);
    hash.add(amount.millis);
  }
}

void fold_places(RunHash& hash, const std::vector<model::PodBinding>& pods) {
  hash.add(pods.size());
  for (const model::PodBinding& pod : pods) {
    hash.add(pod.pod);
    hash.add(pod.incarnation);
    hash.add(pod.node);
    hash.add(pod.gpus.size());
    for (const std::string& gpu : pod.gpus) hash.add(gpu);
  }
}

void fold_decision(RunHash& hash, const model::Bind& bind) {
  hash.add(bind.job);
  fold_places(hash, bind.pods);
}

void fold_decision(RunHash& hash, const model::Release& release) {
  hash.add(release.job);
  hash.add(static_cast<int>(release.reason));
  hash.add(release.retry_at.ms);
  hash.add(release.pods.size());
  for (const model::PodRelease& pod : release.pods) fold_pod(hash, pod);
}

void fold_decision(RunHash& hash, const model::Displace& displace) {
  hash.add(displace.job);
  hash.add(displace.queue);
  hash.add(static_cast<int>(displace.rule));
  hash.add(displace.victims.size());
  for (const model::Victim& victim : displace.victims) {
    hash.add(victim.job);
    hash.add(victim.queue);
    hash.add(victim.tenant);
    hash.add(static_cast<int>(victim.rule));
    hash.add(victim.pods.size());
    for (const model::PodRelease& pod : victim.pods) fold_pod(hash, pod);
    hash.add(victim.whole);
    hash.add(victim.gpu_milli);
    hash.add(victim.lost_gpu_ms);
    hash.add(victim.checkpoint_age.ms);
  }
  fold_places(hash, displace.promised);
  hash.add(displace.until.ms);
  hash.add(displace.alternatives.size());
  for (const model::Alternative& way : displace.alternatives) {
    hash.add(way.where);
    hash.add(way.victims);
    hash.add(way.lost_gpu_ms);
  }
}

void fold_decision(RunHash& hash, const model::PromiseEnded& ended) {
  hash.add(ended.job);
  hash.add(static_cast<int>(ended.why));
  hash.add(ended.retry_at.ms);
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
