// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/executor.h"

#include <algorithm>
#include <utility>

#include "mainspring/kube/annotations.h"
#include "mainspring/model/gang.h"

namespace mainspring::kube {
namespace {

using base::Instant;
using model::PodPhase;

ObjectRef ref_of(const PodObject& pod) {
  return {.namespace_name = pod.meta.namespace_name, .name = pod.meta.name, .uid = pod.meta.uid};
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

}  // namespace

Executor::Executor(World world, ExecutorOptions options) : world_(world), options_(options) {}

std::string Executor::queue_of(const std::string& job) const {
  const model::JobIx index = world_.state.find_job(job);
  if (!index.valid()) return {};
  return world_.state.queues().row(world_.state.job(index).queue).spec.name;
}

void Executor::take_on(const model::Plan& plan) {
  for (const model::Decision& decision : plan.decisions) {
    std::visit([this](const auto& one) { take_on(one); }, decision);
  }
}

void Executor::pretend(const model::Plan& plan) {
  for (const model::Decision& decision : plan.decisions) {
    const auto* release = std::get_if<model::Release>(&decision);
    if (release == nullptr) continue;
    for (const model::PodRelease& pod : release->pods) {
      const PodObject* object = world_.book.find(pod.pod);
      if (object != nullptr && !object->node_name.empty()) continue;
      outcomes_.emplace_back(model::PodGone{pod.pod, pod.incarnation, model::PodEnd::kLost});
    }
  }
}

void Executor::take_on(const model::Bind& bind) {
  GangStart gang;
  for (const model::PodBinding& pod : bind.pods) {
    const PodObject* object = world_.book.find(pod.pod);
    if (object == nullptr) {
      outcomes_.emplace_back(model::BindRefused{pod.pod, pod.incarnation, "the pod is gone"});
      continue;
    }
    conditions_.erase(pod.pod);
    if (gang.missing++ == 0) gang.first = ref_of(*object);
    binds_.push_back({.pod = pod, .job = bind.job, .object = ref_of(*object)});
  }
  if (gang.missing == 0 || (gang.missing == 1 && !options_.events_for_single_pods)) return;
  const auto [known, is_new] = gangs_.try_emplace(bind.job, gang);
  if (!is_new) known->second.missing += gang.missing;
}

void Executor::take_on(const model::Release& release) {
  world_.metrics.compensations.at().add();
  for (const model::PodRelease& pod : release.pods) stop(pod, to_string(release.reason));
}

void Executor::take_on(const model::Displace& displace) {
  for (const model::Victim& victim : displace.victims) {
    if (victim.rule == model::DisplaceRule::kHold) continue;
    for (const model::PodRelease& pod : victim.pods) stop(pod, to_string(victim.rule));
    note_displaced(displace, victim);
  }
}

void Executor::note_displaced(const model::Displace& displace, const model::Victim& victim) {
  const std::vector<const PodObject*> winners = world_.book.waiting_pods(displace.job);
  std::optional<ObjectRef> winner;
  if (!winners.empty()) winner = ref_of(*winners.front());
  for (const model::PodRelease& pod : victim.pods) {
    const PodObject* object = world_.book.find(pod.pod);
    if (object == nullptr) continue;
    world_.recorder.record({.regarding = ref_of(*object),
                            .related = winner,
                            .reason = "Preempting",
                            .action = "Evict",
                            .note = "Stopped (" + std::string(to_string(victim.rule)) +
                                    ") so that " + displace.job + " of queue " + displace.queue +
                                    " can start.",
                            .warning = true});
  }
}

void Executor::stop(const model::PodRelease& pod, std::string_view rule) {
  if (in_flight_.contains(pod.pod)) {
    releasing_[pod.pod] = pod.incarnation;
    return;
  }
  std::erase_if(binds_, [&](const Binding& binding) { return binding.pod.pod == pod.pod; });
  const PodObject* object = world_.book.find(pod.pod);
  const bool on_node = object != nullptr && !object->node_name.empty();
  const model::PodIx index = world_.state.find_pod(pod.pod);
  const bool confirmed =
      index.valid() && world_.state.pod(index).holding == model::HoldingState::kConfirmed;
  if (object == nullptr || (!on_node && !confirmed)) {
    outcomes_.emplace_back(model::PodGone{pod.pod, pod.incarnation, model::PodEnd::kLost});
    return;
  }
  evictions_.push_back({.pod = pod.pod,
                        .incarnation = pod.incarnation,
                        .object = ref_of(*object),
                        .rule = std::string(rule)});
}

bool Executor::still_planned(const Binding& binding) const {
  const model::PodIx index = world_.state.find_pod(binding.pod.pod);
  if (!index.valid()) return false;
  const model::Pod& pod = world_.state.pod(index);
  return pod.incarnation == binding.pod.incarnation && pod.phase == PodPhase::kClaimed &&
         world_.state.inventory().node(pod.node).name == binding.pod.node;
}

void Executor::tick(Instant now) {
  for (size_t i = 0; i < binds_.size() && in_flight_.size() < options_.binds_parallel;) {
    if (binds_[i].not_before > now) {
      ++i;
      continue;
    }
    Binding next = std::move(binds_[i]);
    binds_.erase(binds_.begin() + static_cast<std::ptrdiff_t>(i));
    if (still_planned(next)) {
      send(std::move(next), now);
    } else {
      count_gang(next, false);
    }
  }
  for (size_t i = 0; i < evictions_.size() && evictions_in_flight_ < options_.evictions_parallel;) {
    if (evictions_[i].not_before > now) {
      ++i;
      continue;
    }
    Eviction next = std::move(evictions_[i]);
    evictions_.erase(evictions_.begin() + static_cast<std::ptrdiff_t>(i));
    send(std::move(next));
  }
  if (!binding()) send_conditions(now);
  // What was told of pods that are gone is forgotten now and then.
  if (told_.size() > 2 * world_.book.pod_count() + 1000) {
    std::erase_if(told_,
                  [this](const auto& told) { return world_.book.find(told.first) == nullptr; });
  }
  world_.metrics.binds_in_flight.at().set(static_cast<int64_t>(in_flight_.size()));
}

// What has no room on its way waits for an answer, not for a time.
Instant Executor::next_deadline() const {
  Instant first = Instant::never();
  if (in_flight_.size() < options_.binds_parallel) {
    for (const Binding& binding : binds_) first = std::min(first, binding.not_before);
  }
  if (evictions_in_flight_ < options_.evictions_parallel) {
    for (const Eviction& eviction : evictions_) first = std::min(first, eviction.not_before);
  }
  if (binding() || conditions_in_flight_ >= options_.conditions_parallel) return first;
  for (const auto& [pod, news] : conditions_) first = std::min(first, news.from);
  return first;
}

void Executor::send(Binding binding, Instant now) {
  binding.sent_at = now;
  ++binding.attempts;
  in_flight_.insert(binding.pod.pod);
  std::vector<std::pair<std::string, std::string>> notes;
  if (!binding.pod.gpus.empty()) notes.emplace_back(annotation::kGpus, joined(binding.pod.gpus));
  HttpRequest request = bind_request(binding.object, binding.pod.node, notes);
  world_.transport.send(std::move(request),
                        [this, alive = alive_, binding = std::move(binding)](const auto& reply) {
                          if (!*alive) return;
                          hear(binding, reply_of(reply));
                        });
}

base::Duration Executor::pause(int attempts, const WriteReply& reply) const {
  if (reply.retry_after) return std::min(*reply.retry_after, options_.retry_max);
  base::Duration wait = options_.retry_first;
  for (int i = 1; i < attempts && wait < options_.retry_max; ++i) wait.ms *= 2;
  return std::min(wait, options_.retry_max);
}

void Executor::hear(Binding binding, const WriteReply& reply) {
  in_flight_.erase(binding.pod.pod);
  const Instant now = world_.clock.now();
  const auto unwanted = releasing_.extract(binding.pod.pod);
  const bool again =
      reply.outcome == WriteOutcome::kThrottled || reply.outcome == WriteOutcome::kUnknown;
  if (again && unwanted.empty() && binding.attempts < options_.attempts_max && !standing_down_) {
    binding.not_before = now + pause(binding.attempts, reply);
    binds_.push_back(std::move(binding));
    return;
  }
  const PodObject* object = world_.book.find(binding.pod.pod);
  // A conflict after a write of unknown fate may be our own success.
  const bool ours = reply.outcome == WriteOutcome::kConflict && binding.attempts > 1;
  const bool seen = object != nullptr && object->node_name == binding.pod.node;
  if (reply.outcome == WriteOutcome::kDone || ours || seen) {
    bound(binding, now);
    if (!unwanted.empty()) {
      evictions_.push_back({.pod = binding.pod.pod,
                            .incarnation = unwanted.mapped(),
                            .object = binding.object,
                            .rule = "released"});
    }
    return;
  }
  if (!unwanted.empty()) {
    outcomes_.emplace_back(
        model::PodGone{binding.pod.pod, unwanted.mapped(), model::PodEnd::kLost});
    count_gang(binding, false);
    return;
  }
  refused(binding, reply.outcome, reply.message);
}

void Executor::bound(const Binding& binding, Instant now) {
  outcomes_.emplace_back(model::PodBound{binding.pod.pod, binding.pod.incarnation});
  told_.erase(binding.pod.pod);
  count_gang(binding, true);
  world_.metrics.binds.at({queue_of(binding.job)}).add();
  world_.metrics.bind_duration.at().observe((now - binding.sent_at).ms * 1000);
  const PodObject* object = world_.book.find(binding.pod.pod);
  if (object == nullptr) return;
  const int64_t waited_ms = std::max<int64_t>((now - object->meta.created_at).ms, 0);
  world_.metrics.scheduling_duration.at().observe(waited_ms * 1000);
}

void Executor::refused(const Binding& binding, WriteOutcome outcome, const std::string& why) {
  count_gang(binding, false);
  world_.metrics.bind_failures.at({to_string(outcome)}).add();
  outcomes_.emplace_back(model::BindRefused{binding.pod.pod, binding.pod.incarnation, why});
  if (outcome == WriteOutcome::kGone || outcome == WriteOutcome::kConflict) return;
  world_.recorder.record({.regarding = binding.object,
                          .reason = "FailedBinding",
                          .action = "Bind",
                          .note = "Could not be bound to " + binding.pod.node + ": " + why,
                          .warning = true});
}

// A gang is told of once, when the last of its bindings has been answered.
void Executor::count_gang(const Binding& binding, bool is_bound) {
  const auto gang = gangs_.find(binding.job);
  if (gang == gangs_.end()) return;
  if (is_bound) ++gang->second.bound;
  if (--gang->second.missing > 0) return;
  if (gang->second.bound > 0) {
    world_.recorder.record({.regarding = gang->second.first,
                            .reason = "Scheduled",
                            .action = "Bind",
                            .note = std::to_string(gang->second.bound) + " pods of " + binding.job +
                                    " were bound as one decision."});
  }
  gangs_.erase(gang);
}

void Executor::send(Eviction eviction) {
  ++eviction.attempts;
  ++evictions_in_flight_;
  HttpRequest request = evict_request(eviction.object, false);
  world_.transport.send(std::move(request),
                        [this, alive = alive_, eviction = std::move(eviction)](const auto& reply) {
                          if (!*alive) return;
                          hear(eviction, eviction_reply_of(reply));
                        });
}

void Executor::hear(Eviction eviction, const WriteReply& reply) {
  --evictions_in_flight_;
  if (reply.outcome == WriteOutcome::kDone) {
    world_.metrics.evictions.at({eviction.rule}).add();
    return;
  }
  // Gone, or another life of that name: the watch tells, or has told.
  if (reply.outcome == WriteOutcome::kGone || reply.outcome == WriteOutcome::kConflict) return;
  world_.metrics.eviction_failures.at({to_string(reply.outcome)}).add();
  if (standing_down_) return;
  // A pod that must stop is asked until it does: whoever waits for its place stops waiting by
  // himself.
  eviction.not_before = world_.clock.now() + pause(eviction.attempts, reply);
  evictions_.push_back(std::move(eviction));
}

void Executor::explain(const std::string& job, std::string_view reason,
                       const std::string& message) {
  for (const PodObject* pod : world_.book.waiting_pods(job)) {
    explain_pod(JobBook::id_of(*pod), reason, message);
  }
}

void Executor::explain_pod(const std::string& pod, std::string_view reason,
                           const std::string& message, Instant from) {
  conditions_.insert_or_assign(pod, News{{std::string(reason), message}, from});
}

void Executor::send_conditions(Instant now) {
  for (auto next = conditions_.begin(); next != conditions_.end();) {
    if (conditions_in_flight_ >= options_.conditions_parallel) return;
    const auto at = next++;
    if (at->second.from > now) continue;
    const auto due = conditions_.extract(at);
    send_condition(due.key(), due.mapped().what, now);
  }
}

void Executor::send_condition(const std::string& id, const Told& news, Instant now) {
  const PodObject* pod = world_.book.find(id);
  if (pod == nullptr || !pod->node_name.empty() || pod->finished()) return;
  const auto told = told_.find(id);
  if (told != told_.end() && told->second == news) return;
  // Another replica, or this one before a restart, may have said the same.
  const bool known = told == told_.end() && pod->scheduled && !pod->scheduled->is_true &&
                     pod->scheduled->reason == news.reason &&
                     pod->scheduled->message == news.message;
  told_.insert_or_assign(id, news);
  if (known) return;
  ++conditions_in_flight_;
  world_.transport.send(unschedulable_request(ref_of(*pod), news.reason, news.message, now),
                        [this, alive = alive_, id](const auto& reply) {
                          if (!*alive) return;
                          --conditions_in_flight_;
                          if (reply_of(reply).outcome != WriteOutcome::kDone) told_.erase(id);
                        });
}

void Executor::stand_down() {
  standing_down_ = true;
  for (const Binding& binding : std::exchange(binds_, {})) {
    outcomes_.emplace_back(model::BindRefused{binding.pod.pod, binding.pod.incarnation,
                                              "this scheduler no longer leads"});
  }
  evictions_.clear();
  conditions_.clear();
  gangs_.clear();
}

}  // namespace mainspring::kube
