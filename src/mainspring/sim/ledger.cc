// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/ledger.h"

#include <algorithm>
#include <utility>

#include "mainspring/model/tables.h"
#include "mainspring/sim/gang_tree.h"

namespace mainspring::sim {
namespace {

template <class Map>
typename Map::mapped_type* find_in(Map& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

void make_unique(std::vector<std::string>& names) {
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
}

}  // namespace

void Ledger::apply(const model::Event& event) {
  std::visit([this](const auto& body) { on(body); }, event.body);
}

LedgerNode* Ledger::find_node(const std::string& name) { return find_in(nodes_, name); }
LedgerJob* Ledger::find_job(const std::string& id) { return find_in(jobs_, id); }
LedgerPod* Ledger::find_pod(const std::string& id) { return find_in(pods_, id); }

LedgerDevice* Ledger::find_device(LedgerNode& node, std::string_view id) {
  const auto found = std::ranges::find_if(
      node.devices, [&](const LedgerDevice& device) { return device.spec.id == id; });
  return found == node.devices.end() ? nullptr : &*found;
}

Ledger::Touched Ledger::take_touched() {
  Touched touched = std::exchange(touched_, {});
  make_unique(touched.nodes);
  make_unique(touched.jobs);
  make_unique(touched.pods);
  return touched;
}

std::vector<uint8_t> Ledger::counting(const LedgerJob& job, bool started) const {
  std::vector<uint8_t> counts(job.spec.pods.size(), 0);
  for (size_t i = 0; i < counts.size(); ++i) {
    const auto pod = pods_.find(job.spec.pods[i].id);
    if (pod == pods_.end()) continue;
    const LedgerPhase phase = pod->second.phase;
    counts[i] = phase == LedgerPhase::kGone || phase == LedgerPhase::kStarted ||
                (phase == LedgerPhase::kHolding && !started);
  }
  return counts;
}

std::vector<uint8_t> Ledger::holding(const LedgerJob& job) const {
  std::vector<uint8_t> holds(job.spec.pods.size(), 0);
  for (size_t i = 0; i < holds.size(); ++i) {
    const auto pod = pods_.find(job.spec.pods[i].id);
    holds[i] = pod != pods_.end() && pod->second.phase != LedgerPhase::kPending;
  }
  return holds;
}

// Adds the pod's amounts to its node, or takes them away.
void Ledger::book(const LedgerPod& pod, int64_t sign) {
  LedgerNode& node = nodes_[pod.node];
  for (size_t i = 0; i < model::kResourceCount; ++i) {
    node.used.amounts[i] += sign * pod.shape.request.amounts[i];
  }
  node.pods += sign;
  for (const std::string& id : pod.gpus) {
    LedgerDevice* device = find_device(node, id);
    if (device == nullptr) continue;
    const DeviceShare share = device_share(pod.shape.gpu, device->spec.memory_bytes);
    device->used_milli += sign * share.milli;
    device->used_memory_bytes += sign * share.memory_bytes;
    device->holders += sign;
  }
  touched_.nodes.push_back(pod.node);
}

void Ledger::claim(LedgerPod& pod, LedgerJob& job, const model::PodBinding& binding) {
  pod.node = binding.node;
  pod.gpus = binding.gpus;
  pod.phase = LedgerPhase::kHolding;
  ++job.holding;
  holders_.insert(binding.pod);
  book(pod, 1);
  touched_.pods.push_back(binding.pod);
  touched_.jobs.push_back(pod.job);
}

void Ledger::release(LedgerJob& job, base::Instant retry_at) {
  job.releasing = job.holding > 0;
  job.retry_at = retry_at;
  for (const model::PodSpec& spec : job.spec.pods) {
    LedgerPod& pod = pods_[spec.id];
    if (pod.holds()) pod.phase = LedgerPhase::kStopping;
  }
  touched_.jobs.push_back(job.spec.id);
}

void Ledger::displace(LedgerPod& pod) {
  pod.phase = LedgerPhase::kStopping;
  touched_.jobs.push_back(pod.job);
}

void Ledger::promise(LedgerJob& job, const model::PodBinding& place, base::Instant until) {
  job.promises.push_back(place);
  job.promise_until = until;
  promised_.insert(job.spec.id);
  book_promise(place, 1);
  touched_.jobs.push_back(job.spec.id);
}

void Ledger::drop_promises(LedgerJob& job) {
  for (const model::PodBinding& place : job.promises) book_promise(place, -1);
  job.promises.clear();
  promised_.erase(job.spec.id);
  job.promise_until = base::Instant::never();
}

void Ledger::book_promise(const model::PodBinding& place, int64_t sign) {
  LedgerNode& node = nodes_[place.node];
  const model::PodShape& shape = pods_[place.pod].shape;
  for (size_t i = 0; i < model::kResourceCount; ++i) {
    node.promised.amounts[i] += sign * shape.request.amounts[i];
  }
  for (const std::string& id : place.gpus) {
    LedgerDevice* device = find_device(node, id);
    if (device == nullptr) continue;
    const DeviceShare share = device_share(shape.gpu, device->spec.memory_bytes);
    device->promised_milli += sign * share.milli;
    device->promised_memory_bytes += sign * share.memory_bytes;
    device->promised_to += sign;
  }
  touched_.nodes.push_back(place.node);
}

void Ledger::forget_absent_devices(LedgerNode& node) {
  std::erase_if(node.devices, [](const LedgerDevice& device) {
    return !device.present && device.holders == 0 && device.promised_to == 0;
  });
}

void Ledger::on(const model::NodeChanged& event) {
  LedgerNode& node = nodes_[event.node.name];
  node.spec = event.node;
  node.listed = true;
  for (LedgerDevice& device : node.devices) device.present = false;
  for (const model::GpuSpec& gpu : event.node.gpus) {
    LedgerDevice* device = find_device(node, gpu.id);
    if (device == nullptr) {
      node.devices.push_back({.spec = gpu});
      continue;
    }
    device->present = true;
    if (device->holders == 0 && device->promised_to == 0) {
      device->spec = gpu;
    } else {
      device->spec.healthy = gpu.healthy;
    }
  }
  forget_absent_devices(node);
  touched_.nodes.push_back(event.node.name);
}

void Ledger::on(const model::NodeGone& event) {
  LedgerNode* node = find_node(event.name);
  if (node == nullptr) return;
  for (const std::string& id : promised_) {
    LedgerJob& job = jobs_[id];
    for (const model::PodBinding& place : job.promises) {
      if (place.node == event.name) book_promise(place, -1);
    }
    std::erase_if(job.promises,
                  [&](const model::PodBinding& place) { return place.node == event.name; });
  }
  node->listed = false;
  if (node->pods == 0) nodes_.erase(event.name);
}

void Ledger::on(const model::GpuSampled& event) {
  LedgerNode* node = find_node(event.node);
  if (node == nullptr) return;
  if (LedgerDevice* device = find_device(*node, event.gpu)) {
    device->spec.healthy = event.healthy;
    device->foreign_memory_bytes = event.foreign_memory_bytes;
  }
}

void Ledger::on(const model::JobChanged& event) {
  const model::JobSpec& spec = event.job;
  if (spec.pods.empty() && find_job(spec.id) == nullptr) return;
  LedgerJob& job = jobs_[spec.id];
  drop_promises(job);
  for (const model::PodSpec& pod : job.spec.pods) pods_[pod.id].withdrawn = true;
  const std::vector<model::PodSpec> before = std::exchange(job.spec, spec).pods;
  job.removed = false;
  for (uint32_t i = 0; i < spec.pods.size(); ++i) {
    LedgerPod& pod = pods_[spec.pods[i].id];
    pod.job = spec.id;
    pod.position = i;
    pod.withdrawn = false;
    if (!pod.holds()) pod.shape = spec.shapes[spec.pods[i].shape];
    touched_.pods.push_back(spec.pods[i].id);
  }
  for (const model::PodSpec& old : before) {
    const LedgerPod* pod = find_pod(old.id);
    if (pod != nullptr && pod->withdrawn && !pod->holds()) pods_.erase(old.id);
  }
  touched_.jobs.push_back(spec.id);
  forget_if_over(spec.id);
}

void Ledger::on(const model::JobGone& event) {
  LedgerJob* job = find_job(event.job);
  if (job == nullptr) return;
  job->removed = true;
  drop_promises(*job);
  forget_if_over(event.job);
}

LedgerPod* Ledger::current(const std::string& id, uint32_t incarnation) {
  LedgerPod* pod = find_pod(id);
  return pod != nullptr && pod->incarnation == incarnation ? pod : nullptr;
}

void Ledger::on(const model::PodStarted& event) {
  LedgerPod* pod = current(event.pod, event.incarnation);
  if (pod == nullptr || pod->phase != LedgerPhase::kHolding) return;
  pod->phase = LedgerPhase::kStarted;
  touched_.jobs.push_back(pod->job);
}

void Ledger::on(const model::PodStopping& event) {
  LedgerPod* pod = current(event.pod, event.incarnation);
  if (pod == nullptr || !pod->holds()) return;
  pod->phase = LedgerPhase::kStopping;
  touched_.jobs.push_back(pod->job);
}

void Ledger::on(const model::PodGone& event) {
  LedgerPod* pod = current(event.pod, event.incarnation);
  if (pod != nullptr && pod->phase != LedgerPhase::kGone) end(event.pod, *pod, event.end);
}

void Ledger::on(const model::BindRefused& event) {
  LedgerPod* pod = current(event.pod, event.incarnation);
  if (pod != nullptr && pod->phase == LedgerPhase::kHolding) {
    end(event.pod, *pod, model::PodEnd::kLost);
  }
}

void Ledger::end(const std::string& id, LedgerPod& pod, model::PodEnd how) {
  const std::string job_id = pod.job;
  LedgerJob& job = jobs_[job_id];
  if (pod.holds()) {
    book(pod, -1);
    --job.holding;
    holders_.erase(id);
    LedgerNode& node = nodes_[pod.node];
    forget_absent_devices(node);
    if (!node.listed && node.pods == 0) nodes_.erase(pod.node);
  }
  ++pod.incarnation;
  pod.node.clear();
  pod.gpus.clear();
  pod.phase = how == model::PodEnd::kLost ? LedgerPhase::kPending : LedgerPhase::kGone;
  if (pod.withdrawn) {
    pods_.erase(id);
  } else if (pod.phase == LedgerPhase::kPending) {
    pod.shape = job.spec.shapes[job.spec.pods[pod.position].shape];
  }
  touched_.pods.push_back(id);
  touched_.jobs.push_back(job_id);
  forget_if_over(job_id);
}

// A job without holdings is no longer being released, and is over when nothing of it is left to
// run.
void Ledger::forget_if_over(const std::string& id) {
  LedgerJob& job = jobs_[id];
  if (job.holding > 0) return;
  job.releasing = false;
  const bool over =
      job.removed || std::ranges::all_of(job.spec.pods, [this](const model::PodSpec& pod) {
        return pods_[pod.id].phase == LedgerPhase::kGone;
      });
  if (!over) return;
  drop_promises(job);
  for (const model::PodSpec& pod : job.spec.pods) pods_.erase(pod.id);
  jobs_.erase(id);
}

void Ledger::on(const model::PodFound& event) {
  LedgerPod* pod = find_pod(event.pod);
  if (pod == nullptr) return;
  pod->incarnation = event.incarnation;
  const auto phase = static_cast<model::PodPhase>(event.phase);
  if (phase == model::PodPhase::kPending) return;
  if (phase == model::PodPhase::kGone) {
    pod->phase = LedgerPhase::kGone;
    return;
  }
  claim(*pod, jobs_[pod->job], {event.pod, event.incarnation, event.node, event.gpus});
  if (phase >= model::PodPhase::kRunning) pod->phase = LedgerPhase::kStarted;
  if (phase == model::PodPhase::kStopping) pod->phase = LedgerPhase::kStopping;
}

void Ledger::on(const model::JobRestored& event) {
  LedgerJob* job = find_job(event.job);
  if (job == nullptr) return;
  job->removed = event.removed;
  job->releasing = event.releasing;
  job->retry_at = event.backoff_until;
  job->displaced_at = event.displaced_at;
}

void Ledger::on(const model::PromiseRestored& event) {
  LedgerJob* job = find_job(event.job);
  if (job == nullptr) return;
  for (const model::PromisedPlace& place : event.places) {
    promise(*job, {place.pod, pods_[place.pod].incarnation, place.node, place.gpus}, event.until);
  }
  job->promise_until = event.until;
}

}  // namespace mainspring::sim
