// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/fault_injector.h"

#include <algorithm>
#include <string>

namespace mainspring::sim {

using config::FaultKind;

namespace {

// How often a device is looked at.
constexpr int64_t kLookMsMax = 5000;

}  // namespace

void FaultInjector::plan(const std::vector<config::TimedFault>& faults) {
  timed_left_ += static_cast<int64_t>(faults.size());
  for (const config::TimedFault& fault : faults) {
    agenda_.put(fault.at, [this, fault] {
      --timed_left_;
      happen(fault);
    });
  }
  repeat(chances_.node_lost_every, &FaultInjector::lose_some_node);
  repeat(chances_.gpu_lost_every, &FaultInjector::lose_some_gpu);
  repeat(chances_.gpu_taken_every, &FaultInjector::take_some_gpu);
}

void FaultInjector::repeat(base::Duration every, void (FaultInjector::*fault)()) {
  if (every.ms <= 0) return;
  const base::Duration gap{std::max<int64_t>(1, rng_.exponential(every.ms))};
  agenda_.put(agenda_.now() + gap, [this, every, fault] {
    (this->*fault)();
    repeat(every, fault);
  });
}

void FaultInjector::happen(const config::TimedFault& fault) {
  switch (fault.kind) {
    case FaultKind::kBindRefused:
    case FaultKind::kPodNeverStarts:
    case FaultKind::kPodFailed:
    case FaultKind::kJobRemoved:
    case FaultKind::kEvictionStuck:
    case FaultKind::kEvictionFreed:
    case FaultKind::kEvictionDone:
    case FaultKind::kJobSaved:
      happen_to_job(fault);
      return;
    default:
      break;
  }
  const uint32_t node = world_.find_node(fault.node);
  if (node == base::IdMap::kNone) {
    ++missed_;
  } else {
    happen_to_node(fault, node);
  }
}

void FaultInjector::happen_to_node(const config::TimedFault& fault, uint32_t node) {
  switch (fault.kind) {
    case FaultKind::kNodeLost:
      lose_node(node);
      return;
    case FaultKind::kNodeBack:
      restore_node(node);
      return;
    case FaultKind::kNodeCordoned:
    case FaultKind::kNodeUncordoned:
      world_.nodes()[node].cordoned = fault.kind == FaultKind::kNodeCordoned;
      tell_node(node);
      return;
    case FaultKind::kNodeGpus:
      show_gpus(node, fault.count);
      return;
    default:
      happen_to_device(fault, node);
  }
}

void FaultInjector::happen_to_device(const config::TimedFault& fault, uint32_t node) {
  const uint32_t device = world_.find_device(node, fault.gpu);
  if (device == base::IdMap::kNone) {
    ++missed_;
    return;
  }
  const WorldDevice& now = world_.nodes()[node].devices[device];
  switch (fault.kind) {
    case FaultKind::kGpuLost:
    case FaultKind::kGpuBack:
      set_device(node, device, fault.kind == FaultKind::kGpuBack, now.foreign_memory_bytes);
      return;
    case FaultKind::kGpuTaken:
      set_device(node, device, now.spec.healthy, fault.memory_bytes);
      return;
    default:
      set_device(node, device, now.spec.healthy, 0);
  }
}

void FaultInjector::happen_to_job(const config::TimedFault& fault) {
  const auto& records = lives_.records();
  const auto applies = [&](const JobRecord& record) {
    if (record.id != fault.job && record.name != fault.job) return false;
    if (record.removed || record.finished_at != base::Instant::never()) return false;
    const auto number = static_cast<uint32_t>(&record - records.data());
    return fault.kind != FaultKind::kPodFailed || lives_.running_pods(number) > 0;
  };
  const auto found = std::ranges::find_if(records, applies);
  if (found == records.end()) {
    ++missed_;
    return;
  }
  const auto job = static_cast<uint32_t>(found - records.begin());
  switch (fault.kind) {
    case FaultKind::kBindRefused:
      lives_.refuse_binds(job, fault.count);
      return;
    case FaultKind::kPodNeverStarts:
      lives_.stall_starts(job, fault.count);
      return;
    case FaultKind::kPodFailed:
      lives_.fail_running(job, fault.count);
      return;
    case FaultKind::kEvictionStuck:
      lives_.hold_stops(job, fault.count);
      return;
    case FaultKind::kEvictionFreed:
      lives_.let_stops_go(job);
      return;
    case FaultKind::kEvictionDone:
      lives_.finish_stops(job, fault.count);
      return;
    case FaultKind::kJobSaved:
      lives_.save(job);
      return;
    default:
      lives_.remove(job);
  }
}

void FaultInjector::lose_node(uint32_t node) {
  if (!world_.nodes()[node].up) return;
  world_.nodes()[node].up = false;
  world_.recount_capacity(node);
  const std::string& name = world_.nodes()[node].spec.name;
  delivery_.send(model::NodeGone{name}, "node:" + name);
  lives_.kill_on_node(node);
}

void FaultInjector::restore_node(uint32_t node) {
  if (world_.nodes()[node].up) return;
  world_.nodes()[node].up = true;
  world_.recount_capacity(node);
  tell_node(node);
  const auto count = static_cast<uint32_t>(world_.nodes()[node].devices.size());
  for (uint32_t device = 0; device < count; ++device) {
    if (world_.nodes()[node].devices[device].foreign_memory_bytes > 0) tell_device(node, device);
  }
}

void FaultInjector::show_gpus(uint32_t node, int64_t count) {
  std::vector<WorldDevice>& devices = world_.nodes()[node].devices;
  // What runs on a device that is no longer reported runs on.
  for (size_t i = 0; i < devices.size(); ++i) {
    devices[i].visible = static_cast<int64_t>(i) < count;
  }
  world_.recount_capacity(node);
  tell_node(node);
}

void FaultInjector::set_device(uint32_t node, uint32_t device, bool healthy,
                               int64_t foreign_memory_bytes) {
  WorldDevice& now = world_.nodes()[node].devices[device];
  const int64_t before = now.foreign_memory_bytes;
  const bool broke = now.spec.healthy && !healthy;
  now.spec.healthy = healthy;
  now.foreign_memory_bytes = foreign_memory_bytes;
  world_.recount_capacity(node);
  // Nobody announces a stranger: it is seen when the device is looked at the next time.
  const bool stranger = foreign_memory_bytes > 0 && foreign_memory_bytes != before;
  tell_device(node, device, base::Duration{stranger ? rng_.between(0, kLookMsMax) : 0});
  if (broke) lives_.kill_on_device(node, device);
}

void FaultInjector::tell_node(uint32_t node) {
  const WorldNode& now = world_.nodes()[node];
  if (now.up) delivery_.send(model::NodeChanged{world_.report(now)}, "node:" + now.spec.name);
}

void FaultInjector::tell_device(uint32_t node, uint32_t device, base::Duration notice) {
  const WorldNode& now = world_.nodes()[node];
  if (!now.up || !now.devices[device].visible) return;
  const WorldDevice& seen = now.devices[device];
  delivery_.send(model::GpuSampled{.node = now.spec.name,
                                   .gpu = seen.spec.id,
                                   .healthy = seen.spec.healthy,
                                   .foreign_memory_bytes = seen.foreign_memory_bytes},
                 "node:" + now.spec.name, notice);
}

void FaultInjector::lose_some_node() {
  if (world_.nodes().empty()) return;
  const auto node = static_cast<uint32_t>(rng_.below(world_.nodes().size()));
  if (!world_.nodes()[node].up) return;
  lose_node(node);
  agenda_.put(agenda_.now() + chances_.node_back_after, [this, node] { restore_node(node); });
}

bool FaultInjector::pick_device(bool idle, uint32_t& node, uint32_t& device) {
  if (world_.nodes().empty()) return false;
  // A few draws; a cluster where nothing is found has no room for this fault.
  for (int attempt = 0; attempt < 16; ++attempt) {
    node = static_cast<uint32_t>(rng_.below(world_.nodes().size()));
    const WorldNode& there = world_.nodes()[node];
    if (!there.up || there.devices.empty()) continue;
    device = static_cast<uint32_t>(rng_.below(there.devices.size()));
    const WorldDevice& found = there.devices[device];
    if (!found.visible || !found.spec.healthy || found.foreign_memory_bytes > 0) continue;
    if (!idle || found.used_milli == 0) return true;
  }
  return false;
}

void FaultInjector::lose_some_gpu() {
  uint32_t node = 0;
  uint32_t device = 0;
  if (!pick_device(false, node, device)) return;
  set_device(node, device, false, 0);
  agenda_.put(agenda_.now() + chances_.gpu_back_after, [this, node, device] {
    set_device(node, device, true, world_.nodes()[node].devices[device].foreign_memory_bytes);
  });
}

void FaultInjector::take_some_gpu() {
  uint32_t node = 0;
  uint32_t device = 0;
  if (!pick_device(true, node, device)) return;
  const int64_t memory = world_.nodes()[node].devices[device].spec.memory_bytes;
  set_device(node, device, true, std::max<int64_t>(1, memory));
  agenda_.put(agenda_.now() + chances_.gpu_taken_for, [this, node, device] {
    set_device(node, device, world_.nodes()[node].devices[device].spec.healthy, 0);
  });
}

}  // namespace mainspring::sim
