// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/ledger_queues.h"

#include <algorithm>
#include <map>

#include "mainspring/sim/gang_tree.h"

namespace mainspring::sim {
namespace {

using Amounts = std::map<std::string, int64_t>;

constexpr int64_t kWholePpm = 1'000'000;

struct Use {
  Amounts held;
  Amounts stopping;
  Amounts firm;
};

void add(Amounts& amounts, const LedgerNode& node, const model::PodShape& shape,
         const std::vector<std::string>& gpus) {
  amounts["cpu"] += shape.request[model::Resource::kCpuMilli];
  amounts["memory"] += shape.request[model::Resource::kMemoryBytes];
  for (const std::string& id : gpus) {
    const auto device = std::ranges::find_if(
        node.devices, [&](const LedgerDevice& candidate) { return candidate.spec.id == id; });
    if (device == node.devices.end()) continue;
    const int64_t milli = device_share(shape.gpu, device->spec.memory_bytes).milli;
    amounts["gpu"] += milli;
    amounts["gpu:" + device->spec.model] += milli;
  }
}

// The queue and all above it, the nearest first.
std::vector<std::string> path_of(const Ledger& ledger, const std::string& queue) {
  std::vector<std::string> path;
  for (std::string at = queue; !at.empty() && path.size() < model::kQueueDepthMax;) {
    path.push_back(at);
    const auto found = ledger.queues().find(at);
    at = found == ledger.queues().end() ? std::string() : found->second.parent;
  }
  return path;
}

template <class Visit>
void for_each_place(const Ledger& ledger, const Visit& visit) {
  const auto node_of = [&](const std::string& name) {
    const auto found = ledger.nodes().find(name);
    return found == ledger.nodes().end() ? nullptr : &found->second;
  };
  for (const std::string& id : ledger.holders()) {
    const LedgerPod& pod = ledger.pods().at(id);
    const LedgerNode* node = node_of(pod.node);
    const auto job = ledger.jobs().find(pod.job);
    if (node == nullptr || job == ledger.jobs().end()) continue;
    visit(job->second.spec, *node, pod.shape, pod.gpus, pod.phase == LedgerPhase::kStopping);
  }
  for (const std::string& id : ledger.promised()) {
    const LedgerJob& job = ledger.jobs().at(id);
    for (const model::PodBinding& place : job.promises) {
      const LedgerNode* node = node_of(place.node);
      const auto pod = ledger.pods().find(place.pod);
      if (node == nullptr || pod == ledger.pods().end()) continue;
      visit(job.spec, *node, pod->second.shape, place.gpus, false);
    }
  }
}

bool says_anything(const model::QueueResource& resource, bool preemptible) {
  return resource.limit != model::kUnlimited || !preemptible;
}

// What there is, cordoned or not.
int64_t capacity_of(const Ledger& ledger, const std::string& resource) {
  int64_t sum = 0;
  for (const auto& [name, node] : ledger.nodes()) {
    if (!node.listed || !node.spec.ready) continue;
    if (resource == "cpu") sum += node.spec.allocatable[model::Resource::kCpuMilli];
    if (resource == "memory") sum += node.spec.allocatable[model::Resource::kMemoryBytes];
    for (const LedgerDevice& device : node.devices) {
      if (!device.present || !device.spec.healthy) continue;
      if (resource != "gpu" && resource != "gpu:" + device.spec.model) continue;
      sum += model::kWholeGpuMilli;
    }
  }
  return sum;
}

// A part is one of the parent's quota, and of the cluster for a root; what a parent does not name
// it has no quota of.
int64_t quota_of(const Ledger& ledger, const model::QueueSpec& queue, const std::string& resource) {
  const auto named = std::ranges::find(queue.resources, resource, &model::QueueResource::name);
  if (named == queue.resources.end()) return 0;
  if (named->quota_ppm == 0) return named->quota;
  int64_t whole = model::kUnlimited;
  const auto parent = ledger.queues().find(queue.parent);
  if (parent != ledger.queues().end()) whole = quota_of(ledger, parent->second, resource);
  if (whole == model::kUnlimited) whole = capacity_of(ledger, resource);
  return static_cast<int64_t>(static_cast<__int128>(whole) * named->quota_ppm / kWholePpm);
}

}  // namespace

std::vector<QueueExcess> queue_excesses(const Ledger& ledger, const model::JobSpec& job) {
  std::vector<std::string> path;
  for (const std::string& name : path_of(ledger, job.queue)) {
    const auto queue = ledger.queues().find(name);
    if (queue == ledger.queues().end()) continue;
    const auto speaks = [&](const model::QueueResource& resource) {
      return says_anything(resource, job.preemptible);
    };
    if (std::ranges::any_of(queue->second.resources, speaks)) path.push_back(name);
  }
  if (path.empty()) return {};
  std::map<std::string, Use> uses;
  Amounts asked;
  for_each_place(
      ledger, [&](const model::JobSpec& spec, const LedgerNode& node, const model::PodShape& shape,
                  const std::vector<std::string>& gpus, bool stopping) {
        if (spec.id == job.id) add(asked, node, shape, gpus);
        for (const std::string& name : path_of(ledger, spec.queue)) {
          if (std::ranges::find(path, name) == path.end()) continue;
          Use& use = uses[name];
          add(stopping ? use.stopping : use.held, node, shape, gpus);
          if (!stopping && !spec.preemptible) add(use.firm, node, shape, gpus);
        }
      });
  const bool promised = !ledger.jobs().at(job.id).promises.empty();
  std::vector<QueueExcess> excesses;
  for (const std::string& name : path) {
    Use& use = uses[name];
    for (const model::QueueResource& resource : ledger.queues().at(name).resources) {
      if (asked[resource.name] == 0) continue;
      const int64_t held = use.held[resource.name] + (promised ? 0 : use.stopping[resource.name]);
      if (resource.limit != model::kUnlimited && held > resource.limit) {
        excesses.push_back({name, resource.name, false, held, resource.limit});
      }
      if (job.preemptible) continue;
      const int64_t quota = quota_of(ledger, ledger.queues().at(name), resource.name);
      const int64_t firm = use.firm[resource.name];
      if (quota != model::kUnlimited && firm > quota) {
        excesses.push_back({name, resource.name, true, firm, quota});
      }
    }
  }
  return excesses;
}

bool is_beyond_quota(const Ledger& ledger, const model::JobSpec& job) {
  const auto queue = ledger.queues().find(job.queue);
  if (queue == ledger.queues().end()) return false;
  const auto gpu = std::ranges::find(queue->second.resources, "gpu", &model::QueueResource::name);
  if (gpu == queue->second.resources.end()) return false;
  const int64_t quota = quota_of(ledger, queue->second, "gpu");
  const auto asks = [&](const model::PodSpec& pod) { return job.shapes[pod.shape].gpu.count > 0; };
  if (quota == model::kUnlimited || std::ranges::none_of(job.pods, asks)) return false;
  Amounts held;
  for_each_place(
      ledger, [&](const model::JobSpec& spec, const LedgerNode& node, const model::PodShape& shape,
                  const std::vector<std::string>& gpus, bool stopping) {
        if (spec.queue == job.queue && !stopping) add(held, node, shape, gpus);
      });
  return held["gpu"] >= quota;
}

}  // namespace mainspring::sim
