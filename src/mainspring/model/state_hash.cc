// SPDX-License-Identifier: Apache-2.0
// ClusterState::hash: facts only, in an order that no slot decides.
#include <algorithm>
#include <bit>
#include <vector>

#include "mainspring/base/hash.h"
#include "mainspring/model/cluster_state.h"

namespace mainspring::model {
namespace {

using base::RunHash;

void add(RunHash& hash, base::Instant at) { hash.add(at.ms); }

void add(RunHash& hash, const Resources& resources) {
  for (const int64_t amount : resources.amounts) hash.add(amount);
}

void add(RunHash& hash, const CoreConfig& config) {
  hash.add(config.topologies.size());
  for (const TopologySpec& topology : config.topologies) {
    hash.add(topology.name);
    hash.add(topology.levels.size());
    for (const Label& level : topology.levels) {
      hash.add(level.key);
      hash.add(level.value);
    }
  }
  hash.add(config.gpu_resources.size());
  for (const std::string& name : config.gpu_resources) hash.add(name);
  hash.add(config.gang_start_timeout.ms);
  hash.add(config.retry_backoff_first.ms);
  hash.add(config.retry_backoff_max.ms);
  hash.add(config.usage_half_life.ms);
  hash.add(config.promise_timeout.ms);
  hash.add(config.displacements_max);
  hash.add(config.displacements_window.ms);
  hash.add(config.consolidate_lost_max.ms);
}

void add(RunHash& hash, const Inventory& inventory, const Gpu& gpu) {
  hash.add(inventory.name(gpu.id));
  hash.add(inventory.gpu_models()[gpu.model]);
  hash.add(inventory.gpu_resources()[gpu.resource]);
  hash.add(gpu.memory_bytes);
  hash.add(gpu.memory_used_bytes);
  hash.add(gpu.foreign_memory_bytes);
  hash.add(gpu.used_milli);
  hash.add(gpu.holders);
  hash.add(gpu.healthy);
  hash.add(gpu.present);
}

// Nothing at all where there is nothing.
void add_besides(RunHash& hash, const Inventory& inventory, const Node& node) {
  std::vector<std::pair<std::string_view, const OtherResource*>> others;
  for (const OtherResource& other : node.others) {
    others.emplace_back(inventory.name(other.name), &other);
  }
  std::ranges::sort(others);
  for (const auto& [name, other] : others) {
    hash.add(name);
    hash.add(other->total);
    hash.add(other->used);
  }
  for (const AttachmentLimit& limit : node.attachments_max) {
    hash.add(inventory.name(limit.driver));
    hash.add(limit.most);
  }
  std::vector<std::pair<std::string_view, std::string_view>> volumes;
  for (const VolumeInUse& volume : node.volumes) {
    volumes.emplace_back(inventory.name(volume.which.driver), inventory.name(volume.which.volume));
  }
  std::ranges::sort(volumes);
  for (const auto& [driver, volume] : volumes) {
    hash.add(driver);
    hash.add(volume);
  }
}

void add(RunHash& hash, const Inventory& inventory, const Node& node) {
  hash.add(node.name);
  hash.add(node.listed);
  hash.add(node.schedulable);
  hash.add(node.ready);
  add(hash, node.allocatable);
  add(hash, node.used);
  add(hash, node.free.resources);
  hash.add(node.free.gpus);
  hash.add(node.free.gpu_milli);
  hash.add(node.pod_count);
  // Labels are sorted by number, and numbers depend on what was seen first.
  std::vector<std::pair<std::string_view, std::string_view>> labels;
  labels.reserve(node.labels.size());
  for (const NodeLabel& label : node.labels) {
    labels.emplace_back(inventory.name(label.key), inventory.name(label.value));
  }
  std::ranges::sort(labels);
  hash.add(labels.size());
  for (const auto& [key, value] : labels) {
    hash.add(key);
    hash.add(value);
  }
  hash.add(node.taints.size());
  for (const NodeTaint& taint : node.taints) {
    hash.add(inventory.name(taint.key));
    hash.add(inventory.name(taint.value));
    hash.add(static_cast<int>(taint.effect));
  }
  hash.add(node.gpus.size());
  for (const Gpu& gpu : node.gpus) add(hash, inventory, gpu);
  add_besides(hash, inventory, node);
}

void add(RunHash& hash, const std::vector<NodeRequirement>& needs) {
  hash.add(needs.size());
  for (const NodeRequirement& need : needs) {
    hash.add(need.key);
    hash.add(static_cast<int>(need.op));
    hash.add(need.values.size());
    for (const std::string& value : need.values) hash.add(value);
  }
}

// Nothing at all where there is nothing; the words keep the parts from being mistaken.
void add_besides(RunHash& hash, const PodShape& spec) {
  for (const NamedAmount& other : spec.others) {
    hash.add("other");
    hash.add(other.name);
    hash.add(other.amount);
  }
  for (const NodeChoice& choice : spec.node_choices) {
    hash.add("choice");
    hash.add(choice.terms.size());
    for (const auto& term : choice.terms) add(hash, term);
  }
  for (const std::string& tag : spec.tags) {
    hash.add("tag");
    hash.add(tag);
  }
  for (const PodRule& rule : spec.rules) {
    hash.add("rule");
    hash.add(static_cast<int>(rule.kind));
    hash.add(rule.tag);
    hash.add(rule.level);
    hash.add(rule.max_skew);
    hash.add(rule.min_domains);
    hash.add(rule.honor_requirements);
    hash.add(rule.honor_taints);
  }
  for (const Attachment& one : spec.attachments) {
    hash.add("attachment");
    hash.add(one.driver);
    hash.add(one.volume);
  }
}

uint64_t digest(const Shape& shape) {
  RunHash hash;
  const PodShape& spec = shape.spec;
  add(hash, spec.request);
  hash.add(spec.gpu.count);
  if (spec.gpu.count > 0) {
    hash.add(spec.gpu.resource);
    hash.add(spec.gpu.milli);
    hash.add(spec.gpu.memory_bytes);
    hash.add(spec.gpu.device_memory_bytes_min);
    std::vector<std::string> models = spec.gpu.models;
    std::ranges::sort(models);
    hash.add(models.size());
    for (const std::string& model : models) hash.add(model);
  }
  add(hash, spec.node_requirements);
  hash.add(spec.tolerations.size());
  for (const Toleration& toleration : spec.tolerations) {
    hash.add(toleration.key);
    hash.add(toleration.value);
    hash.add(toleration.exists);
    hash.add(toleration.any_effect);
    hash.add(static_cast<int>(toleration.effect));
  }
  add_besides(hash, spec);
  return hash.value();
}

void fold_pod(RunHash& hash, const Inventory& inventory, const Pod& pod, uint64_t shape) {
  hash.add(pod.id);
  hash.add(pod.withdrawn);
  // A withdrawn pod is in no group.
  hash.add(pod.withdrawn ? 0 : pod.group);
  hash.add(shape);
  hash.add(pod.incarnation);
  hash.add(static_cast<int>(pod.phase));
  hash.add(static_cast<int>(pod.holding));
  if (!pod.holds()) return;
  const Node& node = inventory.node(pod.node);
  hash.add(node.name);
  hash.add(std::popcount(pod.devices));
  for (DeviceMask rest = pod.devices; rest != 0; rest &= rest - 1) {
    hash.add(inventory.name(node.gpus[static_cast<size_t>(std::countr_zero(rest))].id));
  }
  add(hash, pod.interval.from);
  add(hash, pod.interval.until);
}

void add(RunHash& hash, const Queue& queue, const ClusterState& state) {
  const Inventory& inventory = state.inventory();
  const QueueSpec& spec = queue.spec;
  hash.add(spec.name);
  hash.add(queue.declared);
  hash.add(queue.rooted);
  hash.add(spec.parent);
  hash.add(spec.priority);
  hash.add(spec.resources.size());
  for (const QueueResource& resource : spec.resources) {
    hash.add(resource.name);
    hash.add(resource.quota);
    hash.add(resource.quota_ppm);
    hash.add(resource.limit);
    hash.add(resource.weight);
  }
  for (const std::string& tenant : spec.tenants) hash.add(tenant);
  hash.add(spec.min_run_before_preempt.ms);
  hash.add(spec.min_run_before_reclaim.ms);
  hash.add(spec.displace_after.ms);
  // Models by name: their numbers are the order of first sight, which is hashed with the devices.
  for (const Amounts& book : queue.total) {
    for (size_t i = 0; i < book.size(); ++i) {
      if (book[i] == 0) continue;
      hash.add(inventory.dimension_name(i));
      hash.add(book[i]);
    }
  }
  // Up to now: when it was counted last is nobody's business.
  const auto past = state.queues().past_until(state.queues().find(spec.name), state.now());
  for (size_t i = 0; i < past.size(); ++i) {
    if (past[i] == PastUse{}) continue;
    hash.add(inventory.dimension_name(i));
    hash.add(past[i].seconds);
    hash.add(past[i].millis);
  }
}

void add(RunHash& hash, const ClusterState& state, const Job& job) {
  const Inventory& inventory = state.inventory();
  hash.add(job.id);
  hash.add(state.queues().row(job.queue).spec.name);
  hash.add(inventory.name(job.tenant));
  hash.add(job.preemptible);
  hash.add(job.may_displace);
  hash.add(job.checkpoint_interval.ms);
  hash.add(job.restart_time.ms);
  hash.add(job.pods_awaited);
  hash.add(job.goes_first);
  add(hash, job.move_retry_at);
  add(hash, job.protected_until);
  add(hash, job.running_since);
  add(hash, job.checkpointed_at);
  hash.add(job.displaced_at.size());
  for (const base::Instant at : job.displaced_at) add(hash, at);
  add(hash, job.promise_until);
  hash.add(job.promise_broken);
  for (const std::string& id : job.displaced) hash.add(id);
  hash.add(job.promises.size());
  for (const Promise& promise : job.promises) {
    hash.add(state.pod(promise.pod).id);
    const Node& node = inventory.node(promise.node);
    hash.add(node.name);
    for (DeviceMask rest = promise.devices; rest != 0; rest &= rest - 1) {
      hash.add(inventory.name(node.gpus[static_cast<size_t>(std::countr_zero(rest))].id));
    }
  }
  hash.add(job.priority);
  hash.add(job.removed);
  hash.add(job.releasing);
  add(hash, job.submitted_at);
  hash.add(job.expected_run.ms);
  hash.add(job.groups.size());
  for (const Group& group : job.groups) {
    hash.add(inventory.name(group.name));
    hash.add(group.parent);
    hash.add(group.min_count);
    hash.add(inventory.name(group.required_level_name));
    hash.add(group.required_level.valid());
    hash.add(inventory.name(group.preferred_level_name));
    hash.add(group.preferred_level.valid());
  }
  hash.add(job.pods_pending);
  hash.add(job.pods_holding);
  hash.add(job.pods_started);
  hash.add(job.pods_succeeded);
  hash.add(job.failed_starts);
  add(hash, job.backoff_until);
  add(hash, job.start_deadline);
  hash.add(job.pods.size());
}

// Domains by path, and by level: two topologies may spell the same path.
void add_domains(RunHash& hash, const Inventory& inventory) {
  std::vector<const Domain*> domains;
  for (const Domain& domain : inventory.domains()) {
    if (domain.alive) domains.push_back(&domain);
  }
  std::ranges::sort(domains, [](const Domain* left, const Domain* right) {
    return left->path != right->path ? left->path < right->path : left->level < right->level;
  });
  hash.add(domains.size());
  for (const Domain* domain : domains) {
    hash.add(domain->path);
    add(hash, domain->free.resources);
    hash.add(domain->free.gpus);
    hash.add(domain->free.gpu_milli);
    hash.add(domain->nodes.size());
    for (const uint32_t slot : domain->nodes) hash.add(inventory.nodes()[slot].name);
  }
}

}  // namespace

uint64_t ClusterState::hash() const {
  RunHash hash;
  add(hash, config_);
  add(hash, now_);
  hash.add(sequence_);
  for (const std::string& name : inventory_.gpu_resources()) hash.add(name);
  hash.add(inventory_.node_count());
  for (const uint32_t slot : inventory_.nodes_by_rank()) {
    add(hash, inventory_, inventory_.nodes()[slot]);
  }
  add_domains(hash, inventory_);

  std::vector<uint64_t> shapes;
  std::vector<uint64_t> demand;
  for (const Shape& shape : inventory_.shapes()) {
    shapes.push_back(digest(shape));
    if (shape.arrivals == 0) continue;
    RunHash one;
    one.add(shapes.back());
    one.add(shape.arrivals);
    one.add(shape.arrivals_priced);
    demand.push_back(one.value());
  }
  std::ranges::sort(demand);
  for (const uint64_t one : demand) hash.add(one);
  hash.add(arrivals_);
  hash.add(arrivals_priced_);

  std::vector<const Queue*> queues;
  for (const Queue& queue : queues_.rows()) {
    if (queue.declared) queues.push_back(&queue);
  }
  std::ranges::sort(queues, {}, [](const Queue* queue) { return queue->spec.name; });
  hash.add(queues.size());
  for (const Queue* queue : queues) add(hash, *queue, *this);

  std::vector<const Job*> jobs;
  for (const Job& job : jobs_) {
    if (job.alive) jobs.push_back(&job);
  }
  std::ranges::sort(jobs, {}, &Job::id);
  hash.add(jobs.size());
  for (const Job* job : jobs) {
    add(hash, *this, *job);
    for (const PodIx pod : job->pods) {
      fold_pod(hash, inventory_, pods_[pod.slot], shapes[pods_[pod.slot].shape.slot]);
    }
  }
  return hash.value();
}

}  // namespace mainspring::model
