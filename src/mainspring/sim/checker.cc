// SPDX-License-Identifier: Apache-2.0
// Judging decisions before they are executed. What a step left behind is in checker_inspect.cc.
#include "mainspring/sim/checker.h"

#include <algorithm>

#include "mainspring/sim/gang_tree.h"

namespace mainspring::sim {
namespace {

constexpr size_t kSentencesMax = 100;

constexpr std::array<std::string_view, kRuleCount> kRuleNames = {"world_over_committed",
                                                                 "state_over_committed",
                                                                 "negative_amount",
                                                                 "state_differs",
                                                                 "event_refused",
                                                                 "unknown_name",
                                                                 "pod_not_pending",
                                                                 "node_not_usable",
                                                                 "does_not_fit",
                                                                 "wrong_device",
                                                                 "level_broken",
                                                                 "below_minimum",
                                                                 "backoff_ignored",
                                                                 "wrong_release",
                                                                 "held_below_minimum",
                                                                 "start_overdue",
                                                                 "wake_not_ahead",
                                                                 "wrong_victim",
                                                                 "wrong_right",
                                                                 "displaced_too_often",
                                                                 "wrong_promise",
                                                                 "promise_not_kept",
                                                                 "promise_overdue",
                                                                 "queue_limit",
                                                                 "pod_rules",
                                                                 "queue_quota"};

}  // namespace

std::string_view to_string(Rule rule) { return kRuleNames[static_cast<size_t>(rule)]; }

void Checker::report(Rule rule, base::Instant at, std::string sentence) {
  ++total_;
  ++counts_[static_cast<size_t>(rule)];
  if (violations_.size() < kSentencesMax) violations_.push_back({rule, at, std::move(sentence)});
}

void Checker::observe(const model::Event& event, bool accepted, base::Instant now) {
  // The owner of a queue may ask for what cannot be; that is an answer, not a mistake.
  const bool asked = std::holds_alternative<model::QueueChanged>(event.body) ||
                     std::holds_alternative<model::QueueGone>(event.body);
  if (accepted) {
    ledger_.apply(event);
  } else if (!asked) {
    report(Rule::kEventRefused, now,
           "The state refused event " + std::to_string(event.sequence) + ".");
  }
}

void Checker::judge(const model::Plan& plan, base::Instant now) {
  for (const model::Decision& decision : plan.decisions) {
    if (const auto* bind = std::get_if<model::Bind>(&decision)) {
      judge_bind(*bind, now);
    } else if (const auto* release = std::get_if<model::Release>(&decision)) {
      judge_release(*release, now);
    } else if (const auto* displace = std::get_if<model::Displace>(&decision)) {
      judge_displace(*displace, now);
    } else if (const auto* ended = std::get_if<model::PromiseEnded>(&decision)) {
      judge_promise_end(*ended, now);
    }
  }
  if (plan.next_wake <= now) {
    report(Rule::kWakeNotAhead, now,
           "The next wake-up is at " + std::to_string(plan.next_wake.ms) + " ms, which is past.");
  }
}

void Checker::judge_bind(const model::Bind& bind, base::Instant now) {
  LedgerJob* job = ledger_.find_job(bind.job);
  if (job == nullptr || job->removed) {
    report(Rule::kUnknownName, now, "A bind names the job " + bind.job + ", which is not there.");
    return;
  }
  if (now < job->retry_at || job->releasing) {
    report(Rule::kBackoffIgnored, now,
           "Job " + bind.job + " was bound before " + std::to_string(job->retry_at.ms) +
               " ms, or while it is being released.");
  }
  const bool kept = judge_promise_kept(bind, *job, now);
  judge_rules(bind.pods, now);
  std::set<std::string> bound;
  for (const model::PodBinding& binding : bind.pods) {
    LedgerPod* pod = ledger_.find_pod(binding.pod);
    if (pod == nullptr || pod->job != bind.job || pod->withdrawn) {
      report(Rule::kUnknownName, now,
             "A bind of job " + bind.job + " names the pod " + binding.pod +
                 ", which it does not have.");
      continue;
    }
    if (!judge_binding(binding, *job, *pod, kept, now)) continue;
    ledger_.claim(*pod, *job, binding);
    bound.insert(binding.pod);
  }
  job->last_bind = now;
  judge_levels(*job, bound, now);
  if (!kept) judge_queues(*job, now);
  if (!tree_minimum_met(job->spec, ledger_.counting(*job, false))) {
    report(Rule::kBelowMinimum, now,
           "Job " + bind.job + " was bound although it stays below its minimum.");
  }
}

bool Checker::judge_binding(const model::PodBinding& binding, const LedgerJob& job, LedgerPod& pod,
                            bool kept, base::Instant now) {
  if (pod.phase != LedgerPhase::kPending || pod.incarnation != binding.incarnation) {
    report(Rule::kPodNotPending, now,
           "Pod " + binding.pod + " was bound although it does not wait in life " +
               std::to_string(binding.incarnation) + ".");
    return false;
  }
  LedgerNode* node = ledger_.find_node(binding.node);
  if (node == nullptr) {
    report(
        Rule::kUnknownName, now,
        "Pod " + binding.pod + " was bound to the node " + binding.node + ", which is not there.");
    return false;
  }
  const model::PodShape& shape = job.spec.shapes[job.spec.pods[pod.position].shape];
  if (!node->listed || !node->spec.ready || !node->spec.schedulable ||
      !node_admits(node->spec, shape)) {
    report(Rule::kNodeNotUsable, now,
           "Pod " + binding.pod + " was bound to the node " + binding.node +
               ", which does not take it.");
  }
  const model::Resources taken = kept ? node->used : node->used + node->promised;
  if (!(taken + shape.request).within(node->spec.allocatable)) {
    report(Rule::kDoesNotFit, now,
           "Pod " + binding.pod + " was bound to the node " + binding.node +
               ", where it does not fit.");
  }
  judge_besides(binding, *node, shape, kept, now);
  return judge_devices(binding, *node, pod, kept, now);
}

std::vector<PlacedPod> Checker::placed_pods(bool promised) {
  std::vector<PlacedPod> placed;
  const auto add = [&](const LedgerPod& pod, const std::string& node, bool stopping) {
    if (const LedgerNode* there = ledger_.find_node(node)) {
      placed.push_back({&pod.shape, &there->spec, stopping});
    }
  };
  for (const std::string& id : ledger_.holders()) {
    const LedgerPod& pod = *ledger_.find_pod(id);
    add(pod, pod.node, pod.phase == LedgerPhase::kStopping);
  }
  if (!promised) return placed;
  for (const std::string& id : ledger_.promised()) {
    for (const model::PodBinding& place : ledger_.find_job(id)->promises) {
      // Also of a pod that moves, and stops where it is.
      add(*ledger_.find_pod(place.pod), place.node, false);
    }
  }
  return placed;
}

void Checker::judge_rules(const std::vector<model::PodBinding>& pods, base::Instant now) {
  struct Coming {
    const model::PodBinding* binding = nullptr;
    PlacedPod pod;
  };
  std::vector<Coming> left;
  bool ruled = false;
  for (const model::PodBinding& binding : pods) {
    const LedgerPod* pod = ledger_.find_pod(binding.pod);
    const LedgerNode* node = ledger_.find_node(binding.node);
    if (pod == nullptr || node == nullptr) continue;  // told elsewhere
    left.push_back({&binding, {&pod->shape, &node->spec}});
    ruled = ruled || !pod->shape.rules.empty() || !pod->shape.tags.empty();
  }
  if (!ruled) return;
  std::vector<PlacedPod> placed = placed_pods(true);  // its own are dropped by now
  std::vector<const model::NodeSpec*> nodes;
  for (const auto& [name, node] : ledger_.nodes()) {
    if (node.listed) nodes.push_back(&node.spec);
  }
  const auto comes = [&](const Coming& one) {
    if (!why_not_by_rules(placed, nodes, *one.pod.shape, *one.pod.node).empty()) return false;
    placed.push_back(one.pod);
    return true;
  };
  for (size_t before = left.size() + 1; !left.empty() && left.size() < before;) {
    before = left.size();
    std::erase_if(left, comes);
  }
  if (left.empty()) return;
  const Coming& one = left.front();
  report(Rule::kPodRules, now,
         "Pod " + one.binding->pod + " was bound to the node " + one.binding->node + ", where " +
             why_not_by_rules(placed, nodes, *one.pod.shape, *one.pod.node) + ".");
}

void Checker::judge_besides(const model::PodBinding& binding, const LedgerNode& node,
                            const model::PodShape& shape, bool kept, base::Instant now) {
  if (!demands_besides(shape)) return;
  const std::string why = why_not_beside(placed_pods(!kept), shape, node.spec);
  if (why.empty()) return;
  report(Rule::kDoesNotFit, now,
         "Pod " + binding.pod + " was bound to the node " + binding.node + ", where " + why + ".");
}

bool Checker::judge_devices(const model::PodBinding& binding, LedgerNode& node,
                            const LedgerPod& pod, bool kept, base::Instant now) {
  const model::GpuRequest& wanted = pod.shape.gpu;
  const std::set<std::string> distinct(binding.gpus.begin(), binding.gpus.end());
  if (distinct.size() != binding.gpus.size() || distinct.size() != wanted.count) {
    report(Rule::kWrongDevice, now,
           "Pod " + binding.pod + " was given " + std::to_string(distinct.size()) +
               " devices and asks for " + std::to_string(wanted.count) + ".");
  }
  for (const std::string& id : distinct) {
    const LedgerDevice* device = Ledger::find_device(node, id);
    if (device == nullptr) {
      report(Rule::kUnknownName, now,
             "Pod " + binding.pod + " was given the device " + id + ", which node " + binding.node +
                 " does not have.");
      return false;
    }
    const model::GpuSpec& spec = device->spec;
    const DeviceShare share = device_share(wanted, spec.memory_bytes);
    const bool model_suits = wanted.models.empty() ||
                             std::ranges::find(wanted.models, spec.model) != wanted.models.end();
    const bool suits = device->present && spec.healthy && model_suits &&
                       spec.resource == wanted.resource &&
                       spec.memory_bytes >= wanted.device_memory_bytes_min;
    const int64_t others = kept ? 0 : device->promised_to;
    const int64_t milli = device->used_milli + (kept ? 0 : device->promised_milli);
    const int64_t memory = device->used_memory_bytes + (kept ? 0 : device->promised_memory_bytes);
    const bool exclusive =
        !share.whole || (device->holders == 0 && others == 0 && device->foreign_memory_bytes == 0);
    const bool room = milli + share.milli <= 1000 &&
                      (share.whole || memory + share.memory_bytes + device->foreign_memory_bytes <=
                                          spec.memory_bytes);
    if (!suits || !exclusive || !room) {
      report(Rule::kWrongDevice, now,
             "Pod " + binding.pod + " was given the device " + id + " of node " + binding.node +
                 (suits ? ", which is taken." : ", which does not suit it."));
    }
  }
  return true;
}

// Every group above a pod that was bound now must lie in one domain of the level that it requires,
// unless what it held before already lay in several.
void Checker::judge_levels(const LedgerJob& job, const std::set<std::string>& bound,
                           base::Instant now) {
  const auto& groups = job.spec.groups;
  struct Domains {
    std::set<std::string> before;
    std::set<std::string> after;
  };
  std::vector<Domains> domains(groups.size());
  for (const model::PodSpec& spec : job.spec.pods) {
    const LedgerPod* pod = ledger_.find_pod(spec.id);
    if (pod == nullptr || !pod->holds()) continue;
    const LedgerNode* node = ledger_.find_node(pod->node);
    if (node == nullptr) continue;
    for (auto group = static_cast<int32_t>(spec.group); group >= 0;
         group = groups[static_cast<size_t>(group)].parent) {
      const auto at = static_cast<size_t>(group);
      if (groups[at].required_level.empty()) continue;
      std::string domain = domain_of(ledger_.config(), node->spec, groups[at].required_level);
      if (!bound.contains(spec.id)) domains[at].before.insert(domain);
      domains[at].after.insert(std::move(domain));
    }
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    const Domains& in = domains[i];
    if (in.after.empty() || in.before.size() > 1 || in.after == in.before) continue;
    if (in.after.size() == 1 && !in.after.begin()->empty()) continue;
    report(Rule::kLevelBroken, now,
           "Group " + groups[i].name + " of job " + job.spec.id + " does not lie in one " +
               groups[i].required_level + ".");
  }
}

void Checker::judge_release(const model::Release& release, base::Instant now) {
  LedgerJob* job = ledger_.find_job(release.job);
  if (job == nullptr || job->holding == 0 || job->releasing) {
    report(Rule::kWrongRelease, now,
           "Job " + release.job + " was released, but it holds nothing or goes already.");
    return;
  }
  std::set<std::string> named;
  for (const model::PodRelease& released : release.pods) {
    const LedgerPod* pod = ledger_.find_pod(released.pod);
    named.insert(released.pod);
    if (pod != nullptr && pod->job == release.job && pod->holds() &&
        pod->incarnation == released.incarnation) {
      continue;
    }
    report(Rule::kWrongRelease, now,
           "A release of job " + release.job + " names the pod " + released.pod +
               ", which holds nothing in that life.");
  }
  for (const model::PodSpec& spec : job->spec.pods) {
    const LedgerPod* pod = ledger_.find_pod(spec.id);
    if (pod == nullptr || !pod->holds() || named.contains(spec.id)) continue;
    report(Rule::kWrongRelease, now,
           "A release of job " + release.job + " leaves out the pod " + spec.id +
               ", which holds a place.");
  }
  ledger_.release(*job, release.retry_at);
}

}  // namespace mainspring::sim
