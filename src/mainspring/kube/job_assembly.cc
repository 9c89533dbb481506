// SPDX-License-Identifier: Apache-2.0
// One job of the model out of the pods that belong together.
#include <algorithm>
#include <utility>

#include "mainspring/kube/job_book.h"

namespace mainspring::kube {
namespace {

using base::Status;

tl::unexpected<Obstacle> refused(std::string code, std::string message) {
  return tl::unexpected<Obstacle>(Obstacle{std::move(code), std::move(message)});
}

int32_t priority_of(const PodObject& pod) {
  return std::clamp(pod.priority, -model::kPriorityMax, model::kPriorityMax);
}

}  // namespace

// How many pods the whole has, where its owner says it; 0: it does not.
uint32_t JobBook::size_of(const std::string& id) const {
  const auto owner = batch_jobs_.find(id);
  if (owner == batch_jobs_.end()) return 0;
  return static_cast<uint32_t>(std::max(owner->second.parallelism, 0));
}

Status JobBook::add_root(const JobEntry& job, const JobWishes& wishes, model::JobSpec& spec) const {
  uint32_t min = wishes.min_count.value_or(1);
  if (job.kind == Kind::kPodGroup) {
    const auto group = pod_groups_.find(spec.id);
    if (group == pod_groups_.end()) {
      return base::failure(base::ErrorCode::kNotFound,
                           "there is no PodGroup \"" + job.name + "\" in the namespace");
    }
    min = static_cast<uint32_t>(std::max(group->second.min_count, 1));
  } else if (job.kind == Kind::kNamed && !wishes.min_count) {
    return base::invalid("the group \"" + job.name +
                         "\" does not say how many of its pods must run together: set the "
                         "annotation mainspring.dev/min-count");
  } else if (job.kind == Kind::kSingle) {
    min = 1;
  }
  spec.groups.push_back({.name = job.name,
                         .min_count = min,
                         .required_level = wishes.required_level,
                         .preferred_level = wishes.preferred_level});
  return {};
}

tl::expected<model::JobSpec, Obstacle> JobBook::assemble(const std::string& id,
                                                         const JobEntry& job) const {
  model::JobSpec spec{.id = id,
                      .tenant = job.namespace_name,
                      .preemptible = !job.foreign,
                      .submitted_at = job.submitted_at,
                      .pods_awaited = job.kind != Kind::kSingle};
  const PodEntry* first = nullptr;
  std::optional<JobWishes> wishes;
  const uint32_t size = size_of(id);
  for (const std::string& member : job.members) {
    const PodEntry& entry = pods_.at(member);
    if (!is_listed(entry) || !entry.shape) continue;
    const auto says = wishes_of(entry.object, naming_, size);
    if (!says) {
      return refused("BadAnnotation", "Cannot start: pod " + entry.object.meta.name + ": " +
                                          says.error().message + ".");
    }
    if (first == nullptr) {
      first = &entry;
      wishes = *says;
      spec.priority = priority_of(entry.object);
    } else if (*says != *wishes) {
      return refused("PodsDiffer", "Cannot start: the pods " + first->object.meta.name + " and " +
                                       entry.object.meta.name +
                                       " of one group differ in their mainspring.dev annotations.");
    }
    spec.priority = std::min(spec.priority, priority_of(entry.object));
    spec.preemptible = spec.preemptible && is_preemptible(entry.object);
    spec.may_displace = spec.may_displace && !entry.object.never_preempts;
    const auto shape = std::ranges::find(spec.shapes, *entry.shape);
    const auto position = static_cast<uint32_t>(shape - spec.shapes.begin());
    if (shape == spec.shapes.end()) spec.shapes.push_back(*entry.shape);
    spec.pods.push_back({.id = member, .group = 0, .shape = position});
  }
  if (!wishes) wishes = JobWishes{.queue = naming_.default_queue};
  spec.queue = job.foreign ? "other-schedulers" : wishes->queue;
  spec.checkpoint_interval = wishes->checkpoint_interval;
  spec.restart_time = wishes->restart_time;
  spec.expected_run = wishes->expected_run;
  if (const Status root = add_root(job, *wishes, spec); !root) {
    return refused("GroupUnclear", "Cannot start: " + root.error().message + ".");
  }
  return spec;
}

}  // namespace mainspring::kube
