// SPDX-License-Identifier: Apache-2.0
// What a step left behind: the state against the ledger, the true world against itself.
#include <algorithm>
#include <bit>

#include "mainspring/base/check.h"
#include "mainspring/sim/checker.h"
#include "mainspring/sim/gang_tree.h"

namespace mainspring::sim {
namespace {

// What the scheduler may need beyond the timeout to notice that it is over.
constexpr base::Duration kDeadlineSlack = base::seconds(1);

bool any_negative(const model::Resources& resources) {
  return std::ranges::any_of(resources.amounts, [](int64_t amount) { return amount < 0; });
}

// Whether a job is more than one pod that must run together.
bool must_run_together(const model::JobSpec& job) {
  if (job.pods.size() < 2) return false;
  const uint32_t min = job.groups[0].min_count;
  return min != 1 || job.groups.size() > 1;
}

}  // namespace

void Checker::inspect(const model::ClusterState& state, TrueWorld* world, base::Instant now) {
  const Ledger::Touched touched = ledger_.take_touched();
  for (const std::string& pod : touched.pods) inspect_pod(state, pod, now);
  for (const std::string& node : touched.nodes) inspect_node(state, node, now);
  for (const std::string& job : touched.jobs) watched_jobs_.insert(job);
  const std::set<std::string> watched = watched_jobs_;
  for (const std::string& job : watched) inspect_job(job, now);
  inspect_promises(now);
  if (world != nullptr) {
    for (const uint32_t node : world->take_touched()) inspect_world_node(*world, node, now);
  }
  if (++steps_ % sweep_every_ == 0) sweep(state, world, now);
}

void Checker::sweep(const model::ClusterState& state, const TrueWorld* world, base::Instant now) {
  size_t holders = 0;
  for (const auto& [id, pod] : ledger_.pods()) {
    inspect_pod(state, id, now);
    if (pod.holds()) ++holders;
  }
  MAINSPRING_CHECK(holders == ledger_.holders().size(), "the checker lost count of who holds");
  for (const auto& [name, node] : ledger_.nodes()) inspect_node(state, name, now);
  for (const model::Pod& pod : state.pods()) {
    if (!pod.alive || ledger_.find_pod(pod.id) != nullptr) continue;
    report(Rule::kStateDiffers, now, "The state has the pod " + pod.id + ", which is gone.");
  }
  if (state.inventory().node_count() != ledger_.nodes().size()) {
    report(Rule::kStateDiffers, now,
           "The state has " + std::to_string(state.inventory().node_count()) + " nodes, not " +
               std::to_string(ledger_.nodes().size()) + ".");
  }
  inspect_domains(state, now);
  if (world == nullptr) return;
  for (uint32_t node = 0; node < world->nodes().size(); ++node) {
    inspect_world_node(*world, node, now);
  }
}

void Checker::inspect_job(const std::string& id, base::Instant now) {
  LedgerJob* job = ledger_.find_job(id);
  if (job == nullptr || job->holding == 0 || job->releasing || job->removed ||
      !must_run_together(job->spec)) {
    if (job != nullptr) job->below_since = job->unstarted_since = base::Instant::never();
    watched_jobs_.erase(id);
    return;
  }
  const base::Duration allowed{ledger_.config().gang_start_timeout.ms + kDeadlineSlack.ms};
  const bool whole = tree_minimum_met(job->spec, ledger_.counting(*job, false));
  const bool started = tree_minimum_met(job->spec, ledger_.counting(*job, true));
  // A member that stops holds its part until it is gone; then the time to replace it begins.
  const bool held = tree_minimum_met(job->spec, ledger_.holding(*job));
  if (whole || held) job->below_since = base::Instant::never();
  if (!whole && !held && job->below_since == base::Instant::never()) job->below_since = now;
  if (started) job->unstarted_since = base::Instant::never();
  if (!started && job->unstarted_since == base::Instant::never()) job->unstarted_since = now;
  if (started) {
    watched_jobs_.erase(id);
    return;
  }
  if (!whole && !held && now > job->below_since + allowed) {
    report(Rule::kHeldBelowMinimum, now,
           "Job " + id + " holds places below its minimum since " +
               std::to_string(job->below_since.ms) + " ms.");
    job->below_since = now;
  }
  const base::Instant last = std::max(job->unstarted_since, job->last_bind);
  if (whole && now > last + allowed) {
    report(Rule::kStartOverdue, now,
           "Job " + id + " has not started since " + std::to_string(last.ms) +
               " ms and was not released.");
    job->last_bind = now;
  }
}

void Checker::inspect_promises(base::Instant now) {
  const std::set<std::string> promised = promised_jobs_;
  for (const std::string& id : promised) {
    LedgerJob* job = ledger_.find_job(id);
    if (job == nullptr || job->promise_until == base::Instant::never()) {
      promised_jobs_.erase(id);
    } else if (now > job->promise_until + kDeadlineSlack) {
      report(Rule::kPromiseOverdue, now,
             "What was promised to job " + id + " until " + std::to_string(job->promise_until.ms) +
                 " ms was neither given nor ended.");
      promised_jobs_.erase(id);
    }
  }
}

void Checker::inspect_pod(const model::ClusterState& state, const std::string& id,
                          base::Instant now) {
  const LedgerPod* booked = ledger_.find_pod(id);
  const model::PodIx index = state.find_pod(id);
  if (booked == nullptr || !index.valid()) {
    if ((booked != nullptr) != index.valid()) {
      report(Rule::kStateDiffers, now,
             "Pod " + id + " is " + (index.valid() ? "" : "not ") + "in the state.");
    }
    return;
  }
  const model::Pod& pod = state.pod(index);
  std::string where;
  std::vector<std::string> gpus;
  if (pod.holds()) {
    const model::Node& node = state.inventory().node(pod.node);
    where = node.name;
    for (model::DeviceMask rest = pod.devices; rest != 0; rest &= rest - 1) {
      const auto device = static_cast<size_t>(std::countr_zero(rest));
      gpus.push_back(state.inventory().name(node.gpus[device].id));
    }
  }
  std::ranges::sort(gpus);
  std::vector<std::string> expected = booked->gpus;
  std::ranges::sort(expected);
  if (where != booked->node || gpus != expected || pod.incarnation != booked->incarnation ||
      pod.holds() != booked->holds()) {
    report(Rule::kStateDiffers, now,
           "Pod " + id + " holds \"" + where + "\" in life " + std::to_string(pod.incarnation) +
               " in the state; the events and decisions give \"" + booked->node + "\" in life " +
               std::to_string(booked->incarnation) + ".");
  }
}

void Checker::inspect_node(const model::ClusterState& state, const std::string& name,
                           base::Instant now) {
  const LedgerNode* booked = ledger_.find_node(name);
  const model::NodeIx index = state.inventory().find_node(name);
  if (booked == nullptr || !index.valid()) {
    if ((booked != nullptr) != index.valid()) {
      report(Rule::kStateDiffers, now,
             "Node " + name + " is " + (index.valid() ? "" : "not ") + "in the state.");
    }
    return;
  }
  const model::Node& node = state.inventory().node(index);
  if (any_negative(node.used) || any_negative(node.free.resources) || node.free.gpus < 0 ||
      node.free.gpu_milli < 0 || any_negative(booked->used)) {
    report(Rule::kNegativeAmount, now, "An amount of node " + name + " is negative.");
  }
  if (node.used != booked->used + booked->promised) {
    report(Rule::kStateDiffers, now,
           "What node " + name + " counts as used is not what it holds and what is promised.");
  }
  for (const LedgerDevice& device : booked->devices) {
    const auto seen = std::ranges::find_if(node.gpus, [&](const model::Gpu& gpu) {
      return state.inventory().name(gpu.id) == device.spec.id;
    });
    if (device.used_milli > 1000 ||
        (device.spec.memory_bytes > 0 && device.used_memory_bytes > device.spec.memory_bytes)) {
      report(Rule::kStateOverCommitted, now,
             "Device " + device.spec.id + " of node " + name + " is promised beyond what it has.");
    }
    if (device.used_milli < 0 || device.used_memory_bytes < 0 || device.holders < 0 ||
        device.promised_milli < 0 || device.promised_to < 0) {
      report(Rule::kNegativeAmount, now,
             "The use of device " + device.spec.id + " of node " + name + " is negative.");
    }
    if (seen == node.gpus.end() || seen->used_milli != device.used_milli + device.promised_milli ||
        seen->memory_used_bytes != device.used_memory_bytes + device.promised_memory_bytes ||
        seen->holders != device.holders + device.promised_to) {
      report(Rule::kStateDiffers, now,
             "What device " + device.spec.id + " of node " + name +
                 " counts as used is not what is held of it and promised.");
    }
  }
}

// The sums that the search relies on, counted anew from the nodes.
void Checker::inspect_domains(const model::ClusterState& state, base::Instant now) {
  for (const model::Domain& domain : state.inventory().domains()) {
    if (!domain.alive) continue;
    model::Free sum;
    for (const uint32_t slot : domain.nodes) {
      const model::Node& node = state.inventory().nodes()[slot];
      sum.resources += node.free.resources;
      sum.gpus += node.free.gpus;
      sum.gpu_milli += node.free.gpu_milli;
    }
    if (sum != domain.free) {
      report(Rule::kStateDiffers, now,
             "The free amounts of " + domain.path + " are not the sum of its nodes.");
    }
  }
}

void Checker::inspect_world_node(const TrueWorld& world, uint32_t number, base::Instant now) {
  const WorldNode& node = world.nodes()[number];
  model::Resources used;
  std::vector<int64_t> milli(node.devices.size(), 0);
  std::vector<int64_t> memory(node.devices.size(), 0);
  for (const uint32_t pod_number : node.pods) {
    const WorldPod& pod = world.pods()[pod_number];
    used += pod.shape.request;
    for (const uint32_t device : pod.devices) {
      const int64_t bytes = node.devices[device].spec.memory_bytes;
      const DeviceShare share = device_share(pod.shape.gpu, bytes);
      milli[device] += share.milli;
      memory[device] += share.memory_bytes;
    }
  }
  bool over = !used.within(node.spec.allocatable);
  for (size_t i = 0; i < node.devices.size(); ++i) {
    over = over || milli[i] > 1000 || memory[i] > node.devices[i].spec.memory_bytes;
  }
  if (over) {
    report(Rule::kWorldOverCommitted, now,
           "Pods on node " + node.spec.name + " use more than it has.");
  }
  if (used != node.used) {
    report(Rule::kStateDiffers, now, "The true world lost count of node " + node.spec.name + ".");
  }
}

}  // namespace mainspring::sim
