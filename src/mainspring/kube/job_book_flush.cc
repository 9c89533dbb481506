// SPDX-License-Identifier: Apache-2.0
// What the state has to be told: the difference between it and what was taken in.
#include <algorithm>
#include <bit>
#include <utility>

#include "mainspring/kube/annotations.h"
#include "mainspring/kube/job_book.h"
#include "mainspring/kube/node_book.h"
#include "mainspring/model/gang.h"

namespace mainspring::kube {
namespace {

using base::Instant;
using model::ClusterState;
using model::PodPhase;

// A group without pods is kept so long: its controller may make others for those that it lost.
constexpr base::Duration kEmptyGroupKept = base::seconds(30);

bool suits(const model::ClusterState& state, const model::Gpu& gpu, const std::string& resource) {
  return gpu.wholly_free() && state.inventory().gpu_resources()[gpu.resource] == resource;
}

// Free devices of the node, those that the pod's own note names first.
std::vector<std::string> free_gpus(const ClusterState& state, const PodObject& pod,
                                   const model::PodShape& shape) {
  std::vector<std::string> noted;
  std::vector<std::string> others;
  const model::NodeIx node = state.inventory().find_node(pod.node_name);
  if (!node.valid()) return {};
  const std::string wanted = "," + std::string(pod.meta.annotation(annotation::kGpus)) + ",";
  for (const model::Gpu& gpu : state.inventory().node(node).gpus) {
    if (!suits(state, gpu, shape.gpu.resource)) continue;
    const std::string& id = state.inventory().name(gpu.id);
    (wanted.find("," + id + ",") == std::string::npos ? others : noted).push_back(id);
  }
  noted.insert(noted.end(), others.begin(), others.end());
  return noted;
}

PodPhase phase_of(const PodObject& pod) {
  if (pod.meta.deleting) return PodPhase::kStopping;
  return pod.phase == PodPhaseWord::kRunning ? PodPhase::kRunning : PodPhase::kStarting;
}

}  // namespace

void JobBook::flush(const ClusterState& state, Instant now, const Apply& apply) {
  for (const std::string& name : std::exchange(dirty_nodes_, {})) flush_node(name, apply);
  for (const std::string& id : std::exchange(dirty_jobs_, {})) flush_job(id, state, now, apply);
  for (const std::string& id : std::exchange(dirty_pods_, {})) flush_pod(id, state, now, apply);
  recount_short(state, now, apply);
  const std::set<std::string> empty = empty_jobs_;
  for (const std::string& id : empty) settle_empty(id, state, now, apply);
}

void JobBook::flush_node(const std::string& name, const Apply& apply) {
  const auto node = nodes_.find(name);
  if (node == nodes_.end()) {
    if (told_nodes_.erase(name) > 0) (void)apply(model::NodeGone{name});
    return;
  }
  model::NodeSpec spec = node_spec_of(node->second, naming_);
  const auto told = told_nodes_.find(name);
  if (told != told_nodes_.end() && told->second == spec) return;
  // A node that is refused stays as it was; the reason is its own and in the log of the caller.
  if (!apply(model::NodeChanged{spec})) return;
  told_nodes_.insert_or_assign(name, std::move(spec));
  const auto waiting = homeless_.find(name);
  if (waiting == homeless_.end()) return;
  for (const std::string& pod : waiting->second) {
    dirty_pods_.insert(pod);
    if (const auto entry = pods_.find(pod); entry != pods_.end()) touch_job(entry->second.job);
  }
  homeless_.erase(waiting);
}

// A pod that already had its node when it was first seen counts with what it can have there.
void JobBook::reshape(PodEntry& entry, const ClusterState& state) {
  const PodObject& pod = entry.object;
  if (pod.node_name.empty() || pod.finished() || state.find_pod(id_of(pod)).valid()) return;
  model::PodShape shape = taken_by(pod, naming_, static_cast<uint32_t>(model::kGpusPerNodeMax));
  const size_t free = free_gpus(state, pod, shape).size();
  if (free < shape.gpu.count) short_[pod.node_name].insert(id_of(pod));
  entry.shape = taken_by(pod, naming_, static_cast<uint32_t>(free));
  entry.obstacle.reset();
}

void JobBook::flush_job(const std::string& id, const ClusterState& state, Instant now,
                        const Apply& apply) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  JobEntry& job = found->second;
  if (is_over(id, job)) return end_job(id, state, apply);
  size_t listed = 0;
  for (const std::string& member : job.members) {
    PodEntry& entry = pods_.at(member);
    if (!entry.object.node_name.empty() && !told_nodes_.contains(entry.object.node_name)) {
      homeless_[entry.object.node_name].insert(member);
    }
    reshape(entry, state);
    if (is_listed(entry)) ++listed;
  }
  if (job.members.empty()) {
    if (empty_jobs_.insert(id).second) job.empty_since = now;
  } else if (empty_jobs_.erase(id) > 0) {
    job.empty_since = Instant::never();
  }
  if (listed == 0 && !job.told) return note(job, std::nullopt);
  auto spec = assemble(id, job);
  if (!spec) return note(job, spec.error());
  if (job.kind == Kind::kSingle && listed == 0) return end_job(id, state, apply);
  const uint32_t min = spec->groups.front().min_count;
  if (!job.told && listed < min) {
    return note(job, Obstacle{"PodsMissing", "Waits for its pods: " + std::to_string(listed) +
                                                 " of at least " + std::to_string(min) +
                                                 " that must run together exist."});
  }
  if (const auto done = apply(model::JobChanged{std::move(*spec)}); !done) {
    return note(job, Obstacle{"Refused", "Cannot start: " + done.error().message + "."});
  }
  job.told = true;
  for (const std::string& member : job.members) {
    PodEntry& entry = pods_.at(member);
    entry.listed = entry.listed || is_listed(entry);
  }
  note(job, std::nullopt);
}

void JobBook::flush_pod(const std::string& id, const ClusterState& state, Instant now,
                        const Apply& apply) {
  const model::PodIx index = state.find_pod(id);
  if (!index.valid()) return;
  const auto entry = pods_.find(id);
  const uint32_t life = state.pod(index).incarnation;
  if (state.pod(index).holds()) {
    const std::string& node = state.inventory().node(state.pod(index).node).name;
    const bool leaves = entry == pods_.end() || entry->second.object.finished();
    if (leaves && short_.contains(node)) roomier_nodes_.insert(node);
  }
  if (entry == pods_.end() || entry->second.object.phase == PodPhaseWord::kFailed) {
    (void)apply(model::PodGone{id, life, model::PodEnd::kRemoved});
    return;
  }
  const PodObject& pod = entry->second.object;
  if (pod.phase == PodPhaseWord::kSucceeded) {
    (void)apply(model::PodGone{id, life, model::PodEnd::kSucceeded});
    return;
  }
  if (pod.node_name.empty()) return;
  const model::Pod& row = state.pod(index);
  if (row.holds() && state.inventory().node(row.node).name != pod.node_name) {
    // It was planned elsewhere, and somebody else was quicker.
    if (row.phase >= PodPhase::kRunning) return;
    (void)apply(model::BindRefused{id, life, "it is on " + pod.node_name + " already"});
  }
  if (!state.pod(index).holds()) {
    if (!state.inventory().find_node(pod.node_name).valid()) {
      homeless_[pod.node_name].insert(id);
      return;
    }
    const model::PodShape& shape = state.inventory().shape(state.pod(index).shape).spec;
    std::vector<std::string> gpus = free_gpus(state, pod, shape);
    gpus.resize(std::min<size_t>(gpus.size(), shape.gpu.count));
    (void)apply(model::PodFound{.pod = id,
                                .incarnation = state.pod(index).incarnation,
                                .node = pod.node_name,
                                .gpus = std::move(gpus),
                                .phase = static_cast<uint8_t>(phase_of(pod)),
                                .from = now});
    return;
  }
  if (row.phase == PodPhase::kClaimed) (void)apply(model::PodBound{id, life});
  if (pod.phase == PodPhaseWord::kRunning && state.pod(index).phase < PodPhase::kRunning) {
    (void)apply(model::PodStarted{id, life});
  }
  if (pod.meta.deleting && state.pod(index).phase != PodPhase::kStopping) {
    (void)apply(model::PodStopping{id, life});
  }
}

// Pods that were put onto a full node past everybody count with what they found free there. When
// somebody leaves they take what they asked for, before anybody else can.
void JobBook::recount_short(const ClusterState& state, Instant now, const Apply& apply) {
  for (const std::string& node : std::exchange(roomier_nodes_, {})) {
    const auto pods = short_.extract(node);
    if (pods.empty()) continue;
    for (const std::string& id : pods.mapped()) {
      const auto entry = pods_.find(id);
      const model::PodIx index = state.find_pod(id);
      if (entry == pods_.end() || entry->second.object.finished() || !index.valid()) continue;
      if (jobs_.at(entry->second.job).kind != Kind::kSingle) continue;
      (void)apply(model::PodGone{id, state.pod(index).incarnation, model::PodEnd::kRemoved});
      entry->second.listed = false;
      entry->second.shape.reset();
      flush_job(entry->second.job, state, now, apply);
      flush_pod(id, state, now, apply);
    }
  }
}

// Whether all that there was to do is done.
bool JobBook::is_over(const std::string& id, const JobEntry& job) const {
  if (job.members.empty()) return job.kind == Kind::kSingle;
  const auto batch = batch_jobs_.find(id);
  if (batch != batch_jobs_.end() && !batch->second.finished) return false;
  return std::ranges::all_of(job.members, [this](const std::string& member) {
    return pods_.at(member).object.finished();
  });
}

// The pods' own ends are told after this, and then the state forgets the job.
void JobBook::end_job(const std::string& id, const ClusterState& state, const Apply& apply) {
  JobEntry& job = jobs_.at(id);
  if (std::exchange(job.told, false) && state.find_job(id).valid()) (void)apply(model::JobGone{id});
  std::erase_if(job.members, [this](const std::string& member) {
    return pods_.at(member).deleted && pods_.erase(member) > 0;
  });
  if (!job.members.empty()) return;
  empty_jobs_.erase(id);
  jobs_.erase(id);
}

// A job without pods is kept while its owner may make others.
void JobBook::settle_empty(const std::string& id, const ClusterState& state, Instant now,
                           const Apply& apply) {
  const JobEntry& job = jobs_.at(id);
  const auto batch = batch_jobs_.find(id);
  const bool owned =
      (batch != batch_jobs_.end() && !batch->second.finished) || pod_groups_.contains(id);
  const bool waits = job.kind != Kind::kSingle && now < job.empty_since + kEmptyGroupKept;
  if (job.told && (owned || waits)) return;
  end_job(id, state, apply);
}

}  // namespace mainspring::kube
