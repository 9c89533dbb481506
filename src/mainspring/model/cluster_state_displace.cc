// SPDX-License-Identifier: Apache-2.0
// Queues, displacement and promises in ClusterState.
#include <algorithm>
#include <bit>
#include <utility>

#include "mainspring/base/check.h"
#include "mainspring/model/cluster_state.h"
#include "mainspring/model/gang.h"
#include "mainspring/model/rule_view.h"

namespace mainspring::model {

using base::invalid;
using base::Status;

namespace {

// What is physically held on one node, whatever is promised there.
class NodeLoad {
 public:
  NodeLoad(const ClusterState& state, NodeIx node)
      : inventory_(state.inventory()), node_(inventory_.node(node)) {
    for (PodIx pod = node_.first_pod; pod.valid(); pod = state.pod(pod).next_on_node) {
      add(inventory_.shape(state.pod(pod).shape), state.pod(pod).devices);
    }
    besides_.attachments_max = node_.attachments_max;
    for (const OtherResource& other : node_.others) {
      besides_.others.push_back({.name = other.name, .total = other.total});
    }
    for (PodIx pod = node_.first_pod; pod.valid(); pod = state.pod(pod).next_on_node) {
      add_besides(inventory_.shape(state.pod(pod).shape));
    }
  }

  // Books the shape too, and says whether everything fits then.
  bool add_and_fit(const Shape& shape, DeviceMask devices) {
    if (others_fit(shape, besides_.others, 1) == 0 || !volumes_fit(shape, besides_)) return false;
    add_besides(shape);
    add(shape, devices);
    if (!node_.usable() || !used_.within(node_.allocatable)) return false;
    for (DeviceMask rest = devices; rest != 0; rest &= rest - 1) {
      const auto device = static_cast<size_t>(std::countr_zero(rest));
      if (device >= node_.gpus.size()) return false;
      const Gpu& gpu = node_.gpus[device];
      if (!gpu.usable() || milli_[device] > kWholeGpuMilli) return false;
      if (shape.whole && gpu.foreign_memory_bytes > 0) return false;
      if (!shape.whole && memory_bytes_[device] + gpu.foreign_memory_bytes > gpu.memory_bytes) {
        return false;
      }
    }
    return true;
  }

 private:
  void add(const Shape& shape, DeviceMask devices) {
    used_ += shape.request;
    for (DeviceMask rest = devices; rest != 0; rest &= rest - 1) {
      const auto device = static_cast<size_t>(std::countr_zero(rest));
      const GpuTake take = gpu_take(shape, node_.gpus[device]);
      milli_[device] += take.milli;
      memory_bytes_[device] += take.memory_bytes;
    }
  }

  void add_besides(const Shape& shape) {
    for (const ShapeAmount& need : shape.others) {
      const auto other =
          std::ranges::lower_bound(besides_.others, need.name, {}, &OtherResource::name);
      other->used += need.amount;
    }
    for (const AttachedVolume& one : shape.attachments) {
      const auto at = std::ranges::lower_bound(besides_.volumes, one, {}, &VolumeInUse::which);
      if (at != besides_.volumes.end() && at->which == one) continue;
      besides_.volumes.insert(at, {.which = one, .pods = 1});
    }
  }

  const Inventory& inventory_;
  const Node& node_;
  Node besides_;  // its other resources and volumes
  Resources used_;
  std::array<int32_t, kGpusPerNodeMax> milli_{};
  std::array<int64_t, kGpusPerNodeMax> memory_bytes_{};
};

}  // namespace

PodCharge ClusterState::charge_of(ShapeIx shape_index, NodeIx node_index,
                                  DeviceMask devices) const {
  const Shape& shape = inventory_.shape(shape_index);
  PodCharge charge;
  charge.base[kCpuDimension] = shape.request[Resource::kCpuMilli];
  charge.base[kMemoryDimension] = shape.request[Resource::kMemoryBytes];
  if (devices == 0) return charge;
  const Node& node = inventory_.node(node_index);
  for (DeviceMask rest = devices; rest != 0; rest &= rest - 1) {
    const Gpu& gpu = node.gpus[static_cast<size_t>(std::countr_zero(rest))];
    const int64_t milli = gpu_take(shape, gpu).milli;
    charge.base[kGpuDimension] += milli;
    charge.add_model(static_cast<uint32_t>(kModelDimension + gpu.model), milli);
  }
  return charge;
}

void ClusterState::charge_pod(const Pod& pod, int64_t sign) {
  const Job& job = jobs_[pod.job.slot];
  const PodCharge charge = charge_of(pod.shape, pod.node, pod.devices);
  const bool stopping = pod.phase == PodPhase::kStopping;
  queues_.charge(job.queue, stopping ? QueueBook::kStopping : QueueBook::kHeld, charge, sign);
  if (!stopping && !job.preemptible) queues_.charge(job.queue, QueueBook::kFirm, charge, sign);
  ++claims_;
}

void ClusterState::charge_promise(const Job& job, const Promise& promise, int64_t sign) {
  const PodCharge charge = charge_of(pod(promise.pod).shape, promise.node, promise.devices);
  queues_.charge(job.queue, QueueBook::kHeld, charge, sign);
  if (!job.preemptible) queues_.charge(job.queue, QueueBook::kFirm, charge, sign);
  ++claims_;
}

// A share by memory counts as a whole device: which part of one it takes is known in its place.
void ClusterState::set_demanded(Pod& pod, bool demanded) {
  if (pod.demanded == demanded) return;
  pod.demanded = demanded;
  const Shape& shape = inventory_.shape(pod.shape);
  PodCharge charge;
  charge.base[kCpuDimension] = shape.request[Resource::kCpuMilli];
  charge.base[kMemoryDimension] = shape.request[Resource::kMemoryBytes];
  const int64_t milli = shape.gpu_memory_bytes > 0 ? kWholeGpuMilli : shape.gpu_milli;
  charge.base[kGpuDimension] = int64_t{shape.gpu_count} * milli;
  queues_.charge(jobs_[pod.job.slot].queue, QueueBook::kDemand, charge, demanded ? 1 : -1);
  ++claims_;
}

void ClusterState::charge_job(const Job& job, int64_t sign) {
  for (const PodIx index : job.pods) {
    Pod& pod = pods_[index.slot];
    if (pod.holds()) charge_pod(pod, sign);
    set_demanded(pod, sign > 0 && !pod.withdrawn && pod.phase != PodPhase::kGone);
  }
}

// Whatever anybody asks for, the books of the queues stay countable.
Status ClusterState::check_demand(const JobSpec& spec) const {
  constexpr std::pair<size_t, Resource> kCounted[] = {{kCpuDimension, Resource::kCpuMilli},
                                                      {kMemoryDimension, Resource::kMemoryBytes}};
  for (const auto& [dimension, resource] : kCounted) {
    int64_t sum = queues_.asked(dimension);
    for (const PodSpec& pod : spec.pods) {
      sum += spec.shapes[pod.shape].request[resource];
      if (sum > kTotalMax) {
        return invalid("job.pods: request." + std::string(to_string(resource)) +
                       " with what others ask for is above 2^61");
      }
    }
  }
  return {};
}

void ClusterState::displace(JobIx victim, std::span<const PodIx> pods, bool whole, JobIx winner) {
  Job& job = mutable_job(victim);
  MAINSPRING_CHECK(!job.releasing, "a job that goes was displaced");
  for (const PodIx pod : pods) set_phase(pod, PodPhase::kStopping);
  std::erase_if(job.displaced_at,
                [this](base::Instant at) { return at + config_.displacements_window <= now_; });
  job.displaced_at.push_back(now_);
  if (whole) {
    job.releasing = true;
    job.start_deadline = base::Instant::never();
  }
  job_changes_.add(victim.slot);
  if (winner != victim) mutable_job(winner).displaced.push_back(job.id);
  settle_job(victim);
}

void ClusterState::promise(JobIx index, std::vector<Promise> places, base::Instant until) {
  Job& job = mutable_job(index);
  MAINSPRING_CHECK(!job.promised(), "a job was promised places twice");
  MAINSPRING_CHECK(until != base::Instant::never(), "a promise without an end");
  job.promise_until = until;
  job.promise_broken = false;
  job.promises = std::move(places);
  for (const Promise& one : job.promises) {
    inventory_.take(one.node, pod(one.pod).shape, one.devices);
    charge_promise(job, one, 1);
  }
  job_changes_.add(index.slot);
}

// Its own places count as booked already.
bool ClusterState::promise_obeys_rules(const Job& job) const {
  std::vector<ShapeIx> shapes;
  std::vector<RuleView::Place> places;
  for (const Promise& one : job.promises) {
    shapes.push_back(pod(one.pod).shape);
    places.push_back({shapes.back(), one.node.slot});
  }
  RuleView rules;
  rules.begin(inventory_, shapes);
  if (!rules.any()) return true;
  for (const RuleView::Place& place : places) rules.add(place.shape, place.node, -1);
  return rules.add_all(std::move(places));
}

bool ClusterState::promise_clear(JobIx index) const {
  const Job& job = this->job(index);
  if (job.promise_broken || job.promises.empty()) return false;
  std::vector<const Promise*> by_node;
  for (const Promise& one : job.promises) {
    if (pod(one.pod).phase != PodPhase::kPending) return false;
    by_node.push_back(&one);
  }
  if (!promise_obeys_rules(job)) return false;
  std::ranges::stable_sort(by_node, {}, [](const Promise* one) { return one->node.slot; });
  for (size_t i = 0; i < by_node.size();) {
    NodeLoad load(*this, by_node[i]->node);
    const NodeIx node = by_node[i]->node;
    for (; i < by_node.size() && by_node[i]->node == node; ++i) {
      const Shape& shape = inventory_.shape(pod(by_node[i]->pod).shape);
      if (!load.add_and_fit(shape, by_node[i]->devices)) return false;
    }
  }
  return true;
}

void ClusterState::redeem(JobIx index) {
  MAINSPRING_CHECK(promise_clear(index), "a promise was redeemed before its places were clear");
  const Job& job = this->job(index);
  const base::Instant until =
      job.expected_run.ms > 0 ? now_ + job.expected_run : base::Instant::never();
  // Held before they are let go as promised, so that devices keep their positions.
  for (const Promise& one : job.promises) {
    hold(one.pod, one.node, one.devices, {now_, until}, HoldingState::kClaimed);
  }
  if (!job.displaced.empty()) {
    mutable_job(index).protected_until = now_ + config_.promise_timeout;
  }
  drop_promises(index);
}

void ClusterState::drop_promises(JobIx index) {
  break_promise(index);
  Job& job = mutable_job(index);
  job.displaced.clear();
  job.promise_until = base::Instant::never();
  job.promise_broken = false;
}

void ClusterState::let_go(const Job& job, const Promise& promise) {
  charge_promise(job, promise, -1);
  inventory_.give_back(promise.node, pod(promise.pod).shape, promise.devices);
  inventory_.forget_absent_gpus(promise.node);
}

// The places are nobody's, and the engine is told by `promise_broken` that it has to say so.
void ClusterState::break_promise(JobIx index) {
  Job& job = mutable_job(index);
  for (const Promise& one : job.promises) let_go(job, one);
  job.promises.clear();
  job.promise_broken = true;
  job_changes_.add(index.slot);
}

void ClusterState::end_promise(JobIx index, base::Instant retry_at) {
  for (const std::string& id : this->job(index).displaced) {
    const JobIx victim = find_job(id);
    if (!victim.valid()) continue;
    mutable_job(victim).goes_first = true;
    job_changes_.add(victim.slot);
  }
  drop_promises(index);
  Job& job = mutable_job(index);
  job.backoff_until = retry_at;
  ++job.failed_starts;
}

// The engine is told by `promise_broken`; the places that are left stay until it has ended them.
void ClusterState::break_promises_on(NodeIx node) {
  for (uint32_t slot = 0; slot < jobs_.size(); ++slot) {
    Job& job = jobs_[slot];
    const auto on_node = [node](const Promise& one) { return one.node == node; };
    if (!job.alive || std::ranges::none_of(job.promises, on_node)) continue;
    for (const Promise& one : job.promises) {
      if (on_node(one)) let_go(job, one);
    }
    std::erase_if(job.promises, on_node);
    job.promise_broken = true;
    job_changes_.add(slot);
  }
}

void ClusterState::watch_run(Job& job) {
  const bool runs = job.running_since != base::Instant::never();
  if (runs) {
    const bool whole = job.pods_started + job.pods_succeeded == job.pods.size();
    if (job.pods_holding > 0 && (whole || minimum_met(*this, job, Counts::kStarted))) return;
    job.running_since = base::Instant::never();
    return;
  }
  if (job.pods_holding == 0 || job.pods_started != job.pods_holding || job.releasing) return;
  if (!minimum_met(*this, job, Counts::kStarted)) return;
  job.running_since = at_;
  job.goes_first = false;
}

Status ClusterState::on(const JobCheckpointed& event) {
  const JobIx index = find_job(event.job);
  if (!index.valid()) {
    ++stale_.unknown_job;
    return {};
  }
  mutable_job(index).checkpointed_at = at_;
  ++claims_;
  return {};
}

Status ClusterState::on(const QueueChanged& event) {
  if (auto ok = queues_.put(event.queue); !ok) return ok;
  inventory_.reconsider();
  ++claims_;
  return {};
}

Status ClusterState::on(const QueueGone& event) {
  const QueueIx index = queues_.find(event.name);
  if (!index.valid() || !queues_.row(index).declared) {
    ++stale_.unknown_queue;
    return {};
  }
  if (!queues_.row(index).children.empty()) {
    return invalid("queue " + event.name + " cannot go: other queues lie below it");
  }
  const auto runs_here = [index](const Job& job) {
    return job.alive && job.queue == index && (job.pods_holding > 0 || job.promised());
  };
  if (std::ranges::any_of(jobs_, runs_here)) {
    return invalid("queue " + event.name + " cannot go: jobs of it are running");
  }
  queues_.remove(index);
  inventory_.reconsider();
  ++claims_;
  return {};
}

}  // namespace mainspring::model
