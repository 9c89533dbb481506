// SPDX-License-Identifier: Apache-2.0
// What is taken in, and which pods belong together.
#include "mainspring/kube/job_book.h"

#include <algorithm>
#include <utility>

#include "mainspring/kube/annotations.h"
#include "mainspring/kube/node_book.h"

namespace mainspring::kube {
namespace {

std::string short_uid(const std::string& uid) { return "@" + uid.substr(0, 8); }

std::string batch_job_id(const std::string& space, const std::string& name,
                         const std::string& uid) {
  return space + "/job/" + name + short_uid(uid);
}
std::string batch_job_id(const BatchJobObject& job) {
  return batch_job_id(job.meta.namespace_name, job.meta.name, job.meta.uid);
}

std::string pod_group_id(const std::string& space, const std::string& name) {
  return space + "/podgroup/" + name;
}
std::string pod_group_id(const PodGroupObject& group) {
  return pod_group_id(group.meta.namespace_name, group.meta.name);
}

// Whether the change may alter the job that the pod belongs to, or what it asks for.
bool same_wishes(const PodObject& left, const PodObject& right) {
  return left.scheduler_name == right.scheduler_name && left.priority == right.priority &&
         left.never_preempts == right.never_preempts &&
         left.scheduling_gates == right.scheduling_gates && left.pod_group == right.pod_group &&
         left.meta.annotations == right.meta.annotations && left.requests == right.requests &&
         left.meta.controller == right.meta.controller &&
         left.node_selector == right.node_selector && left.node_terms == right.node_terms &&
         left.tolerations == right.tolerations && left.finished() == right.finished() &&
         left.node_name.empty() == right.node_name.empty();
}

}  // namespace

std::string JobBook::id_of(const PodObject& pod) {
  return pod.meta.namespace_name + "/pod/" + pod.meta.name + short_uid(pod.meta.uid);
}

const PodObject* JobBook::find(std::string_view pod_id) const {
  const auto found = pods_.find(std::string(pod_id));
  return found == pods_.end() || found->second.deleted ? nullptr : &found->second.object;
}

std::vector<const PodObject*> JobBook::waiting_pods(std::string_view job_id) const {
  std::vector<const PodObject*> waiting;
  const auto job = jobs_.find(std::string(job_id));
  if (job == jobs_.end() || job->second.foreign) return waiting;
  for (const std::string& member : job->second.members) {
    const PodObject* pod = find(member);
    if (pod != nullptr && pod->node_name.empty() && !pod->finished()) waiting.push_back(pod);
  }
  return waiting;
}

base::Instant JobBook::next_deadline() const {
  base::Instant first = base::Instant::never();
  for (const std::string& id : empty_jobs_) {
    first = std::min(first, jobs_.at(id).empty_since + base::seconds(30));
  }
  return first;
}

void JobBook::node_seen(NodeObject node) {
  dirty_nodes_.insert(node.meta.name);
  const std::string name = node.meta.name;
  nodes_[name] = std::move(node);
}

void JobBook::node_gone(const std::string& name) {
  nodes_.erase(name);
  dirty_nodes_.insert(name);
}

// The job of a pod, by the rules of the header. `fresh` is what the job is if it is not known yet.
std::string JobBook::job_of(const PodObject& pod, JobEntry& fresh) const {
  const std::string& space = pod.meta.namespace_name;
  fresh.namespace_name = space;
  fresh.foreign = !naming_.is_ours(pod);
  const std::string named(pod.meta.annotation(annotation::kGroup));
  if (!fresh.foreign && !pod.pod_group.empty()) {
    fresh.kind = Kind::kPodGroup;
    fresh.name = pod.pod_group;
    return pod_group_id(space, pod.pod_group);
  }
  if (!fresh.foreign && !named.empty()) {
    fresh.kind = Kind::kNamed;
    fresh.name = named;
    return space + "/group/" + named;
  }
  const auto& owner = pod.meta.controller;
  if (!fresh.foreign && owner && owner->kind == "Job" && owner->api_version.starts_with("batch/")) {
    fresh.kind = Kind::kBatch;
    fresh.name = owner->name;
    return batch_job_id(space, owner->name, owner->uid);
  }
  fresh.kind = Kind::kSingle;
  fresh.name = pod.meta.name;
  return id_of(pod);
}

void JobBook::pod_seen(PodObject pod) {
  const std::string id = id_of(pod);
  const auto known = pods_.find(id);
  if (known == pods_.end() || !same_wishes(known->second.object, pod)) {
    if (known != pods_.end()) leave(id);
    enter(std::move(pod), id);
  } else {
    known->second.object = std::move(pod);
  }
  dirty_pods_.insert(id);
}

void JobBook::enter(PodObject pod, const std::string& id) {
  PodEntry entry;
  JobEntry fresh;
  entry.job = job_of(pod, fresh);
  const std::string named(pod.meta.annotation(annotation::kGroup));
  if (auto shape = shape_of(pod, naming_)) {
    entry.shape = std::move(*shape);
  } else {
    entry.obstacle = shape.error();
  }
  if (!pod.pod_group.empty() && !named.empty() && named != pod.pod_group) {
    entry.obstacle =
        Obstacle{"TwoGroups", "Cannot start: the pod names the PodGroup \"" + pod.pod_group +
                                  "\" and, by annotation, the group \"" + named + "\"."};
  } else if (named.find('/') != std::string::npos) {
    entry.obstacle = Obstacle{"GroupAcrossNamespaces",
                              "Cannot start: a group lies in one namespace; its name \"" + named +
                                  "\" must not contain a slash."};
  }
  if (entry.obstacle) entry.shape.reset();
  entry.object = std::move(pod);
  JobEntry& job = jobs_.try_emplace(entry.job, std::move(fresh)).first->second;
  job.members.insert(id);
  job.submitted_at = std::min(job.submitted_at, entry.object.meta.created_at);
  touch_job(entry.job);
  pods_.insert_or_assign(id, std::move(entry));
}

void JobBook::leave(const std::string& id) {
  const auto entry = pods_.find(id);
  if (entry == pods_.end()) return;
  const auto job = jobs_.find(entry->second.job);
  if (job != jobs_.end()) job->second.members.erase(id);
  touch_job(entry->second.job);
  pods_.erase(entry);
}

void JobBook::pod_gone(const PodObject& pod) {
  const std::string id = id_of(pod);
  const auto entry = pods_.find(id);
  if (entry == pods_.end()) return;
  dirty_pods_.insert(id);
  // Work that was done stays done when its pod is cleaned up, for as long as the job goes on.
  const bool succeeded = entry->second.object.phase == PodPhaseWord::kSucceeded ||
                         pod.phase == PodPhaseWord::kSucceeded;
  if (succeeded && jobs_.at(entry->second.job).told) {
    entry->second.object.phase = PodPhaseWord::kSucceeded;
    entry->second.deleted = true;
    touch_job(entry->second.job);
    return;
  }
  leave(id);
}

void JobBook::batch_job_seen(BatchJobObject job) {
  const std::string id = batch_job_id(job);
  if (jobs_.contains(id)) touch_job(id);
  batch_jobs_[id] = std::move(job);
}

void JobBook::batch_job_gone(const BatchJobObject& job) {
  const std::string id = batch_job_id(job);
  if (jobs_.contains(id)) touch_job(id);
  batch_jobs_.erase(id);
}

void JobBook::pod_group_seen(PodGroupObject group) {
  const std::string id = pod_group_id(group);
  if (jobs_.contains(id)) touch_job(id);
  pod_groups_[id] = std::move(group);
}

void JobBook::pod_group_gone(const PodGroupObject& group) {
  const std::string id = pod_group_id(group);
  if (jobs_.contains(id)) touch_job(id);
  pod_groups_.erase(id);
}

// Whether the state has to know the pod: it waits for a place and may have one, or it has one, or
// its work is done.
bool JobBook::is_listed(const PodEntry& entry) const {
  const PodObject& pod = entry.object;
  if (pod.phase == PodPhaseWord::kSucceeded) return true;
  if (pod.phase == PodPhaseWord::kFailed || !entry.shape) return false;
  // One that has a node which is not known yet takes what the node will turn out to have.
  if (!pod.node_name.empty()) return entry.listed || told_nodes_.contains(pod.node_name);
  return naming_.is_ours(pod) && pod.scheduling_gates == 0 && !pod.meta.deleting;
}

std::vector<Notice> JobBook::take_notices() {
  std::vector<Notice> all;
  for (auto& [pod, obstacle] : std::exchange(notices_, {})) {
    if (pods_.contains(pod)) all.push_back({pod, std::move(obstacle)});
  }
  return all;
}

void JobBook::note(JobEntry& job, std::optional<Obstacle> obstacle) {
  const bool news = job.obstacle != obstacle;
  job.obstacle = std::move(obstacle);
  for (const std::string& member : job.members) {
    const PodEntry& entry = pods_.at(member);
    if (entry.deleted || !entry.object.node_name.empty() || entry.object.finished()) continue;
    if (!naming_.is_ours(entry.object)) continue;
    if (entry.obstacle) {
      notices_.insert_or_assign(member, entry.obstacle);
    } else if (job.obstacle || news) {
      notices_.insert_or_assign(member, job.obstacle);
    }
  }
}

}  // namespace mainspring::kube
