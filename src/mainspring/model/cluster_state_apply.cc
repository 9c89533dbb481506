// SPDX-License-Identifier: Apache-2.0
// How each kind of event changes ClusterState.
#include <algorithm>
#include <bit>
#include <utility>

#include "mainspring/base/check.h"
#include "mainspring/model/cluster_state.h"

namespace mainspring::model {

using base::invalid;
using base::Status;

Status ClusterState::apply(const Event& event) {
  // Time never runs backwards, whatever the order of arrival.
  at_ = std::max(now_, event.at);
  queues_.advance(at_);
  Status done = std::visit([this](const auto& body) { return on(body); }, event.body);
  if (!done) {
    at_ = now_;
    queues_.advance(now_);
    return done;
  }
  now_ = at_;
  sequence_ = std::max(sequence_, event.sequence);
  return done;
}

Status ClusterState::on(const NodeChanged& event) {
  const auto node = inventory_.put_node(event.node);
  if (!node) return base::failure(node.error().code, node.error().message);
  return {};
}

Status ClusterState::on(const NodeGone& event) {
  const NodeIx node = inventory_.find_node(event.name);
  if (!node.valid()) {
    ++stale_.unknown_node;
    return {};
  }
  break_promises_on(node);
  inventory_.unlist_node(node);
  if (inventory_.node(node).pod_count == 0) inventory_.drop_node(node);
  return {};
}

Status ClusterState::on(const GpuSampled& event) {
  if (event.foreign_memory_bytes < 0 || event.foreign_memory_bytes > kAmountMax) {
    return invalid("foreign_memory_bytes is not in 0..2^53");
  }
  const NodeIx index = inventory_.find_node(event.node);
  if (!index.valid()) {
    ++stale_.unknown_node;
    return {};
  }
  const std::vector<Gpu>& gpus = inventory_.node(index).gpus;
  const auto gpu = std::ranges::find_if(
      gpus, [&](const Gpu& candidate) { return inventory_.name(candidate.id) == event.gpu; });
  if (gpu == gpus.end()) return invalid("node " + event.node + " has no GPU " + event.gpu);
  inventory_.sample_gpu(index, static_cast<size_t>(gpu - gpus.begin()), event.healthy,
                        event.foreign_memory_bytes);
  return {};
}

Status ClusterState::check_update(const JobSpec& spec) const {
  for (const PodSpec& pod_spec : spec.pods) {
    const PodIx index = find_pod(pod_spec.id);
    if (!index.valid()) continue;
    const Pod& other = pod(index);
    if (jobs_[other.job.slot].id != spec.id) {
      return invalid("pod " + pod_spec.id + " belongs to job " + jobs_[other.job.slot].id);
    }
    if (!other.holds()) continue;
    PodShape same = inventory_.shape(other.shape).spec;
    same.tags = spec.shapes[pod_spec.shape].tags;
    same.rules = spec.shapes[pod_spec.shape].rules;
    if (same != spec.shapes[pod_spec.shape]) {
      return invalid("pod " + pod_spec.id +
                     " holds a place; only its tags and rules can still change");
    }
  }
  return {};
}

Status ClusterState::on(const JobChanged& event) {
  const JobSpec& spec = event.job;
  if (auto ok = validate(spec); !ok) return ok;
  JobIx index = find_job(spec.id);
  if (auto ok = check_update(spec); !ok) return ok;
  if (auto ok = check_demand(spec); !ok) return ok;
  if (!index.valid()) {
    if (spec.pods.empty() && !spec.pods_awaited) return {};  // nothing to run: nothing to keep
    uint32_t slot = static_cast<uint32_t>(jobs_.size());
    if (free_jobs_.empty()) {
      jobs_.emplace_back();
    } else {
      slot = free_jobs_.back();
      free_jobs_.pop_back();
    }
    ++jobs_[slot].generation;
    jobs_[slot].alive = true;
    jobs_[slot].id = spec.id;
    job_by_id_.insert(spec.id, slot);
    index = job_index(slot);
  }
  fill_job(index, spec);
  return {};
}

namespace {

// Equal for jobs that are interchangeable but for their priority and age.
std::string signature_of(const JobSpec& spec, std::span<const ShapeIx> shapes) {
  std::string key = spec.queue + "\n" + spec.tenant + "\n" + (spec.preemptible ? "p" : "f") +
                    (spec.may_displace ? "d;" : "n;");
  // A minimum of all children is told as their number, as a snapshot tells it.
  std::vector<size_t> children(spec.groups.size(), 0);
  for (size_t i = 1; i < spec.groups.size(); ++i) {
    ++children[static_cast<size_t>(spec.groups[i].parent)];
  }
  for (const PodSpec& pod : spec.pods) ++children[pod.group];
  for (size_t i = 0; i < spec.groups.size(); ++i) {
    const GroupSpec& group = spec.groups[i];
    const size_t min = group.min_count == GroupSpec::kAllChildren ? children[i] : group.min_count;
    key += std::to_string(group.parent) + "," + std::to_string(min) + "," + group.required_level +
           "," + group.preferred_level + ";";
  }
  for (size_t i = 0; i < spec.pods.size();) {
    size_t end = i;
    while (end < spec.pods.size() && spec.pods[end].group == spec.pods[i].group &&
           spec.pods[end].shape == spec.pods[i].shape) {
      ++end;
    }
    key += std::to_string(end - i) + "x" + std::to_string(shapes[spec.pods[i].shape].slot) + "@" +
           std::to_string(spec.pods[i].group) + ";";
    i = end;
  }
  return key;
}

}  // namespace

void ClusterState::fill_job(JobIx index, const JobSpec& spec) {
  std::vector<ShapeIx> shapes;
  shapes.reserve(spec.shapes.size());
  for (const PodShape& shape : spec.shapes) shapes.push_back(inventory_.intern_shape(shape));
  if (mutable_job(index).promised()) break_promise(index);
  charge_job(mutable_job(index), -1);
  {
    Job& job = mutable_job(index);
    job.removed = false;
    job.queue = queues_.intern(spec.queue);
    job.tenant = inventory_.intern(spec.tenant);
    job.preemptible = spec.preemptible;
    job.may_displace = spec.may_displace;
    job.checkpoint_interval = spec.checkpoint_interval;
    job.restart_time = spec.restart_time;
    job.pods_awaited = spec.pods_awaited;
    job.priority = spec.priority;
    job.submitted_at = spec.submitted_at;
    job.expected_run = spec.expected_run;
    job.signature = signatures_.intern(signature_of(spec, shapes));
    job.groups.assign(spec.groups.size(), Group{});
    for (uint32_t i = 0; i < spec.groups.size(); ++i) {
      const GroupSpec& from = spec.groups[i];
      Group& group = job.groups[i];
      group.name = inventory_.intern(from.name);
      group.parent = from.parent;
      group.min_count = from.min_count;
      group.required_level_name = inventory_.intern(from.required_level);
      group.preferred_level_name = inventory_.intern(from.preferred_level);
      group.required_level = inventory_.find_level(from.required_level);
      group.preferred_level = inventory_.find_level(from.preferred_level);
      if (i > 0) job.groups[static_cast<size_t>(from.parent)].children.push_back(i);
    }
  }
  const std::vector<PodIx> before = std::exchange(mutable_job(index).pods, {});
  for (const PodIx pod : before) mutable_pod(pod).withdrawn = true;
  for (const PodSpec& pod : spec.pods) add_pod(index, pod, shapes[pod.shape]);
  for (const PodIx pod : before) {
    if (pods_[pod.slot].withdrawn) withdraw_pod(pod);
  }
  charge_job(mutable_job(index), 1);
  Job& job = mutable_job(index);
  job.pods_pending = job.pods_holding = job.pods_started = job.pods_succeeded = 0;
  for (const PodIx pod : job.pods) {
    count_pod(job, pods_[pod.slot], 1);
    if (pods_[pod.slot].phase == PodPhase::kGone) ++job.pods_succeeded;
  }
  for (Group& group : job.groups) {
    const size_t children = group.children.size() + group.pods.size();
    if (group.min_count == GroupSpec::kAllChildren)
      group.min_count = static_cast<uint32_t>(children);
  }
  job_changes_.add(index.slot);
  settle_job(index);
}

void ClusterState::add_pod(JobIx job_index, const PodSpec& spec, ShapeIx shape) {
  Job& job = mutable_job(job_index);
  PodIx index = find_pod(spec.id);
  if (!index.valid()) {
    uint32_t slot = static_cast<uint32_t>(pods_.size());
    if (free_pods_.empty()) {
      pods_.emplace_back();
    } else {
      slot = free_pods_.back();
      free_pods_.pop_back();
    }
    ++pods_[slot].generation;
    pods_[slot].alive = true;
    pods_[slot].id = spec.id;
    pod_by_id_.insert(spec.id, slot);
    index = pod_index(slot);
    ++inventory_.mutable_shape(shape).arrivals;
    ++arrivals_;
  }
  Pod& pod = mutable_pod(index);
  pod.job = job_index;
  pod.withdrawn = false;
  pod.group = spec.group;
  if (pod.holds() && pod.shape != shape) {
    inventory_.retag(pod.node, pod.shape, shape, pod.phase == PodPhase::kStopping);
  }
  pod.shape = shape;
  job.groups[spec.group].pods.push_back(static_cast<uint32_t>(job.pods.size()));
  job.pods.push_back(index);
}

void ClusterState::withdraw_pod(PodIx index) {
  const Pod& pod = this->pod(index);
  if (pod.holds()) {
    mutable_job(pod.job).pods.push_back(index);  // in no group; kept until PodGone
  } else {
    erase_pod(index);
  }
}

Status ClusterState::on(const JobGone& event) {
  const JobIx index = find_job(event.job);
  if (!index.valid()) {
    ++stale_.unknown_job;
    return {};
  }
  mutable_job(index).removed = true;
  drop_promises(index);
  job_changes_.add(index.slot);
  settle_job(index);
  return {};
}

PodIx ClusterState::current_pod(std::string_view id, uint32_t incarnation) {
  const PodIx index = find_pod(id);
  if (!index.valid()) {
    ++stale_.unknown_pod;
    return {};
  }
  if (pods_[index.slot].incarnation == incarnation) return index;
  ++stale_.old_incarnation;
  return {};
}

Status ClusterState::on(const PodBound& event) {
  const PodIx index = current_pod(event.pod, event.incarnation);
  if (!index.valid() || pod(index).phase != PodPhase::kClaimed) return {};
  mutable_pod(index).holding = HoldingState::kConfirmed;
  set_phase(index, PodPhase::kStarting);
  return {};
}

Status ClusterState::on(const PodStarted& event) {
  const PodIx index = current_pod(event.pod, event.incarnation);
  if (!index.valid() || !pod(index).holds() || pod(index).phase >= PodPhase::kRunning) return {};
  mutable_pod(index).holding = HoldingState::kConfirmed;
  set_phase(index, PodPhase::kRunning);
  settle_job(pod(index).job);
  return {};
}

Status ClusterState::on(const PodStopping& event) {
  const PodIx index = current_pod(event.pod, event.incarnation);
  if (!index.valid() || !pod(index).holds()) return {};
  set_phase(index, PodPhase::kStopping);
  return {};
}

Status ClusterState::on(const PodGone& event) {
  const PodIx index = current_pod(event.pod, event.incarnation);
  if (!index.valid() || pod(index).phase == PodPhase::kGone) return {};
  end_pod(index, event.end);
  return {};
}

void ClusterState::end_pod(PodIx index, PodEnd end) {
  if (pod(index).holds()) {
    const NodeIx node = pod(index).node;
    let_go(index);
    const Node& row = inventory_.nodes()[node.slot];
    if (row.alive && row.generation == node.generation) inventory_.forget_absent_gpus(node);
  }
  Pod& pod = mutable_pod(index);
  const JobIx job = pod.job;
  ++pod.incarnation;
  if (pod.withdrawn) {
    std::erase(mutable_job(job).pods, index);
    erase_pod(index);
    job_changes_.add(job.slot);
  } else if (end != PodEnd::kLost) {
    set_phase(index, PodPhase::kGone);
    set_demanded(pod, false);
    ++mutable_job(job).pods_succeeded;
  }
  settle_job(job);
}

Status ClusterState::on(const BindRefused& event) {
  const PodIx index = current_pod(event.pod, event.incarnation);
  if (!index.valid() || !pod(index).holds() || pod(index).phase >= PodPhase::kRunning) return {};
  const JobIx job = pod(index).job;
  const uint32_t before = pod(index).incarnation;
  end_pod(index, PodEnd::kLost);
  if (find_pod(event.pod).valid() && pod(index).incarnation > before) put_off(job);
  return {};
}

// One refusal is chance, and another place is tried at once; a job that is refused again and again
// must not keep others waiting.
void ClusterState::put_off(JobIx index) {
  Job& job = mutable_job(index);
  const uint32_t failed = job.failed_starts++;
  if (failed > 0)
    job.backoff_until = std::max(job.backoff_until, at_ + retry_backoff(config_, failed - 1));
  job_changes_.add(index.slot);
}

Status ClusterState::on(const PodFound& event) {
  const PodIx index = find_pod(event.pod);
  if (!index.valid()) {
    ++stale_.unknown_pod;
    return {};
  }
  const auto phase = static_cast<PodPhase>(event.phase);
  if (event.phase > static_cast<uint8_t>(PodPhase::kGone)) return invalid("pod phase is unknown");
  if (pod(index).holds()) return invalid("pod " + event.pod + " was found twice");
  if (phase == PodPhase::kPending || phase == PodPhase::kGone) {
    mutable_pod(index).incarnation = event.incarnation;
    if (phase == PodPhase::kGone && pod(index).phase != PodPhase::kGone) {
      set_phase(index, PodPhase::kGone);
      set_demanded(mutable_pod(index), false);
      ++mutable_job(pod(index).job).pods_succeeded;
    }
    return {};
  }
  const NodeIx node_index = inventory_.find_node(event.node);
  if (!node_index.valid())
    return invalid("pod " + event.pod + " was found on the unknown node " + event.node);
  const Node& node = inventory_.node(node_index);
  const Shape& shape = inventory_.shape(pod(index).shape);
  DeviceMask devices = 0;
  for (const std::string& id : event.gpus) {
    const auto gpu = std::ranges::find_if(
        node.gpus, [&](const Gpu& candidate) { return inventory_.name(candidate.id) == id; });
    if (gpu == node.gpus.end()) return invalid("node " + event.node + " has no GPU " + id);
    if (!device_suits(shape, *gpu)) {
      return invalid("pod " + event.pod + " was found on the GPU " + id +
                     ", which does not suit it");
    }
    const GpuTake take = gpu_take(shape, *gpu);
    if (gpu->used_milli + take.milli > kWholeGpuMilli) {
      return invalid("pod " + event.pod + " was found on the GPU " + id + ", which is taken");
    }
    devices |= DeviceMask{1} << (gpu - node.gpus.begin());
  }
  if (std::popcount(devices) != static_cast<int>(shape.gpu_count)) {
    return invalid("pod " + event.pod + " was found with another number of GPUs than it asks for");
  }
  hold(index, node_index, devices, {event.from, event.until},
       phase == PodPhase::kClaimed || !event.confirmed ? HoldingState::kClaimed
                                                       : HoldingState::kConfirmed);
  mutable_pod(index).incarnation = event.incarnation;
  set_phase(index, phase);
  return {};
}

Status ClusterState::on(const ConfigChanged& event) {
  if (auto ok = validate(event.config); !ok) return ok;
  if (auto ok = inventory_.set_gpu_resources(event.config.gpu_resources); !ok) return ok;
  if (event.config.topologies != config_.topologies) {
    if (auto ok = inventory_.set_topologies(event.config.topologies); !ok) return ok;
  }
  config_ = event.config;
  queues_.set_half_life(config_.usage_half_life);
  resolve_levels();
  inventory_.reconsider();
  ++claims_;
  return {};
}

void ClusterState::resolve_levels() {
  for (uint32_t slot = 0; slot < jobs_.size(); ++slot) {
    for (Group& group : jobs_[slot].groups) {
      group.required_level = inventory_.find_level(inventory_.name(group.required_level_name));
      group.preferred_level = inventory_.find_level(inventory_.name(group.preferred_level_name));
    }
    if (jobs_[slot].alive) job_changes_.add(slot);
  }
}

Status ClusterState::on(const Tick&) { return {}; }

}  // namespace mainspring::model
