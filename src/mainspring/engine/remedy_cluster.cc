// SPDX-License-Identifier: Apache-2.0
// Remedies that change the cluster, or wait until it has changed.
#include <algorithm>
#include <set>
#include <tuple>

#include "mainspring/engine/remedy_search.h"
#include "mainspring/engine/what_if.h"

namespace mainspring::engine {
namespace {

using model::Node;
using model::PodIx;
using model::Resource;

// Nodes of one kind are interchangeable as patterns for new ones.
std::string kind_of(const model::Inventory& inventory, const Node& node) {
  std::string key;
  for (const int64_t amount : node.allocatable.amounts) key += std::to_string(amount) + ",";
  for (const model::Gpu& gpu : node.gpus) {
    if (!gpu.present) continue;
    key += inventory.gpu_models()[gpu.model] + "/" + std::to_string(gpu.memory_bytes) + ",";
  }
  for (const model::DomainIx domain : node.domains) {
    key += (domain.valid() ? inventory.domain(domain).path : "") + ",";
  }
  return key;
}

int64_t in_mib(int64_t bytes) { return bytes / kMiB + (bytes % kMiB > 0 ? 1 : 0); }

}  // namespace

bool RemedySearch::is_near(const Node& node) const {
  const std::string& domain = verdict_.nearest_miss.domain;
  if (domain == node.name) return true;
  return std::ranges::any_of(node.domains, [&](model::DomainIx at) {
    return at.valid() && inventory().domain(at).path == domain;
  });
}

// The nodes that come closest first, then those of the domain that does, then the others.
std::vector<uint32_t> RemedySearch::near_nodes() const {
  std::vector<uint32_t> slots;
  const auto add = [&](uint32_t slot) {
    if (slots.size() == options_.choices_max) return;
    if (std::ranges::find(slots, slot) == slots.end()) slots.push_back(slot);
  };
  for (const placement::Survey& seen : surveys_) {
    if (seen.nearest != placement::Survey::kNone) add(seen.nearest);
  }
  for (const bool near : {true, false}) {
    for (const uint32_t slot : inventory().nodes_by_rank()) {
      const Node& node = inventory().nodes()[slot];
      if (node.listed && is_near(node) == near) add(slot);
    }
  }
  return slots;
}

void RemedySearch::more_on_node() {
  for (const uint32_t slot : near_nodes()) {
    if (more_on(slot)) return;
  }
}

// Enough for every pod of the job.
Remedy RemedySearch::whole_job_on(const std::string& node, bool gpus) const {
  model::Resources sum;
  int64_t devices = 0;
  for (const placement::PodClass& pods : classes_) {
    const model::Shape& shape = inventory().shape(pods.shape);
    for (size_t i = 0; i < model::kResourceCount; ++i) {
      sum.amounts[i] += shape.request.amounts[i] * pods.pods;
    }
    devices += int64_t{shape.gpu_count} * pods.pods;
  }
  Remedy remedy{.kind = RemedyKind::kMoreOnNode, .targets = {}, .changes = {}, .node = {}};
  if (!node.empty()) remedy.targets = {node};
  const auto add = [&](const char* what, int64_t amount) {
    if (amount > 0) remedy.changes.push_back({what, amount});
  };
  const auto limit = static_cast<int64_t>(model::kGpusPerNodeMax);
  add("gpu", gpus ? std::min(devices, limit) : 0);
  add("cpu", sum[Resource::kCpuMilli]);
  add("memory", in_mib(sum[Resource::kMemoryBytes]));
  add("ephemeral-storage", in_mib(sum[Resource::kEphemeralBytes]));
  add("pods", sum[Resource::kPods]);
  return remedy;
}

bool RemedySearch::more_on(uint32_t node_slot) {
  const Node& node = inventory().nodes()[node_slot];
  const bool has_like = std::ranges::any_of(classes_, [&](const placement::PodClass& pods) {
    const model::Shape& shape = inventory().shape(pods.shape);
    return shape.gpu_count > 0 && std::ranges::any_of(node.gpus, [&](const model::Gpu& gpu) {
             return gpu.present && model::device_suits(shape, gpu);
           });
  });
  const auto room = static_cast<int64_t>(model::kGpusPerNodeMax - node.gpus.size());
  Remedy remedy = whole_job_on(node.name, has_like && room > 0);
  for (Change& change : remedy.changes) {
    if (change.what == "gpu") change.amount = std::min(change.amount, room);
  }
  if (!starts(remedy)) return false;
  shrink(remedy);
  // A gang that fits once a node is several times itself: true, and of no use to anybody.
  const bool beyond = std::ranges::any_of(remedy.changes, [&](const Change& change) {
    return change.what == "gpu" && change.amount > static_cast<int64_t>(node.gpus.size());
  });
  if (beyond && job().pods.size() > 1) return false;
  return !remedy.changes.empty() && offer(remedy);
}

// Where nothing that is there would do as a pattern: the least node that would.
void RemedySearch::new_node() {
  const bool has_pattern = std::ranges::any_of(
      found_, [](const Remedy& remedy) { return remedy.kind == RemedyKind::kAddNodes; });
  if (has_pattern || inventory().gpu_models().size() == 64) return;
  Remedy remedy = whole_job_on("", true);
  remedy.kind = RemedyKind::kNewNode;
  model::GpuSpec gpu{.id = "gpu", .resource = "", .model = ""};
  std::set<std::string> keys;
  const auto label = [&](const std::string& key, const std::string& value) {
    if (keys.insert(key).second) remedy.node.labels.push_back({key, value});
  };
  for (const placement::PodClass& pods : classes_) {
    const model::Shape& shape = inventory().shape(pods.shape);
    for (const model::NodeRequirement& need : shape.spec.node_requirements) {
      if (need.op == model::SelectorOp::kIn) label(need.key, need.values.front());
      if (need.op == model::SelectorOp::kExists) label(need.key, "yes");
    }
    if (shape.gpu_count == 0) continue;
    if (shape.gpu_resource == model::Shape::kNoGpuResource) return;
    gpu.resource = shape.spec.gpu.resource;
    if (!shape.spec.gpu.models.empty()) gpu.model = shape.spec.gpu.models.front();
    gpu.memory_bytes =
        std::max({gpu.memory_bytes, shape.gpu_memory_bytes, shape.device_memory_bytes_min});
  }
  for (const placement::PodClass& pods : classes_) {
    for (const model::LevelIx level : pods.levels) {
      if (level == inventory().node_level()) continue;
      label(inventory().name(inventory().levels()[level.slot].label), "new");
    }
  }
  remedy.value = gpu.model;
  if (gpu.model.empty() && !inventory().gpu_models().empty()) {
    gpu.model = inventory().gpu_models().front();
  }
  if (!gpu.resource.empty()) remedy.node.gpus = {gpu};
  if (gpu.memory_bytes > 0) remedy.changes.push_back({"gpu-memory", in_mib(gpu.memory_bytes)});
  if (!starts(remedy)) return;
  shrink(remedy);
  offer(remedy);
}

void RemedySearch::add_nodes() {
  std::set<std::string> kinds;
  std::vector<uint32_t> order = near_nodes();
  for (const uint32_t slot : inventory().nodes_by_rank()) order.push_back(slot);
  for (const uint32_t slot : order) {
    const Node& node = inventory().nodes()[slot];
    if (!node.listed || !kinds.insert(kind_of(inventory(), node)).second) continue;
    if (add_nodes_like(slot) || kinds.size() == options_.choices_max) return;
  }
}

bool RemedySearch::add_nodes_like(uint32_t node_slot) {
  const Node& node = inventory().nodes()[node_slot];
  const bool serves = std::ranges::any_of(
      surveys_, [&](const placement::Survey& seen) { return seen.fit_emptied[node_slot] > 0; });
  if (!serves) return false;
  Remedy remedy{.kind = RemedyKind::kAddNodes, .targets = {node.name}, .changes = {{"nodes", 1}}};
  // Where it has to stand, if the job cares.
  for (const placement::PodClass& pods : classes_) {
    for (const model::LevelIx level : pods.levels) {
      const model::DomainIx domain = node.domains[level.slot];
      if (domain.valid()) remedy.value = inventory().domain(domain).path;
    }
  }
  const auto with = [remedy](int64_t amount) {
    Remedy attempt = remedy;
    attempt.changes[0].amount = amount;
    return attempt;
  };
  int64_t count = 1;
  while (!starts(with(count))) {
    if (count >= options_.nodes_added_max) return false;
    count = std::min(count * 2, options_.nodes_added_max);
  }
  return offer(with(least(count / 2, count, with)));
}

void RemedySearch::make_available() {
  Remedy all{.kind = RemedyKind::kUncordon, .targets = {}, .changes = {}};
  bool found = false;
  for (const uint32_t slot : inventory().nodes_by_rank()) {
    const Node& node = inventory().nodes()[slot];
    if (!node.listed || node.usable()) continue;
    if (all.targets.size() == options_.choices_max) break;
    all.targets.push_back(node.name);
    const RemedyKind kind = node.ready ? RemedyKind::kUncordon : RemedyKind::kMakeReady;
    if (!node.ready) all.kind = RemedyKind::kMakeReady;
    const Remedy one{.kind = kind, .targets = {node.name}, .changes = {}};
    found = offer(one) || found;
  }
  if (found || all.targets.size() < 2 || !starts(all)) return;
  drop_needless_targets(all);
  const bool ready = std::ranges::all_of(all.targets, [this](const std::string& name) {
    return inventory().node(inventory().find_node(name)).ready;
  });
  all.kind = ready ? RemedyKind::kUncordon : RemedyKind::kMakeReady;
  offer(all);
}

void RemedySearch::repair_gpu() {
  size_t tried = 0;
  for (const uint32_t slot : near_nodes()) {
    for (size_t i = 0; i < inventory().nodes()[slot].gpus.size(); ++i) {
      const Node& node = inventory().nodes()[slot];
      const model::Gpu& gpu = node.gpus[i];
      if (!gpu.present || (gpu.healthy && gpu.foreign_memory_bytes == 0)) continue;
      if (tried++ == options_.choices_max) return;
      const Remedy remedy{.kind = RemedyKind::kRepairGpu,
                          .targets = {node.name, inventory().name(gpu.id)},
                          .changes = {}};
      if (offer(remedy)) return;
    }
  }
}

std::vector<PodIx> RemedySearch::pods_by_end(bool near_only) const {
  std::vector<PodIx> pods;
  for (uint32_t slot = 0; slot < state_.pods().size(); ++slot) {
    const model::Pod& pod = state_.pods()[slot];
    if (!pod.alive || !pod.holds() || pod.job == job_) continue;
    const Node& node = inventory().node(pod.node);
    if (!node.listed || (near_only && !is_near(node))) continue;
    pods.push_back(state_.pod_index(slot));
  }
  const auto key = [this](PodIx index) {
    const model::Pod& pod = state_.pod(index);
    return std::tie(pod.interval.until, inventory().node(pod.node).rank, pod.id);
  };
  std::ranges::sort(pods, [&](PodIx left, PodIx right) { return key(left) < key(right); });
  return pods;
}

// The pods that end first, as many as it takes, without those that make no difference.
void RemedySearch::wait_for() {
  for (const bool near_only : {false, true}) {
    const std::vector<PodIx> pods = pods_by_end(near_only);
    const auto first = [&](int64_t count) {
      Remedy remedy{.kind = RemedyKind::kWaitFor, .targets = {}, .changes = {}};
      for (int64_t i = 0; i < count; ++i) {
        remedy.targets.push_back(state_.pod(pods[static_cast<size_t>(i)]).id);
      }
      return remedy;
    };
    const auto all = static_cast<int64_t>(pods.size());
    if (all == 0 || !starts(first(all))) return;
    int64_t count = 1;
    while (count < all && !starts(first(count))) count = std::min(count * 2, all);
    Remedy remedy = first(least(count / 2, count, first));
    if (remedy.targets.size() > options_.waited_pods_max) continue;
    drop_needless_targets(remedy);
    base::Instant last;
    for (const std::string& id : remedy.targets) {
      last = std::max(last, state_.pod(state_.find_pod(id)).interval.until);
    }
    remedy.at = last;
    if (offer(remedy)) return;
  }
}

}  // namespace mainspring::engine
