// SPDX-License-Identifier: Apache-2.0
// Remedies in words.
#include "mainspring/engine/amount_text.h"
#include "mainspring/engine/explain.h"
#include "mainspring/engine/what_if.h"

namespace mainspring::engine {
namespace {

using model::ClusterState;

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

// "a", "a and b", "a, b and 3 more".
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kShown = 4;
  std::string text;
  const size_t shown = names.size() <= kShown ? names.size() : kShown - 1;
  for (size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  if (shown < names.size()) text += " and " + std::to_string(names.size() - shown) + " more";
  return text;
}

int64_t in_units_of_the_model(const Change& change) {
  return unit_of(change.what) == "MiB" ? change.amount * kMiB : change.amount;
}

std::string amounts(const std::vector<Change>& changes) {
  std::vector<std::string> parts;
  parts.reserve(changes.size());
  for (const Change& change : changes) {
    parts.push_back(amount_text(change.what, in_units_of_the_model(change)));
  }
  return listed(parts);
}

std::string group_named(const Remedy& remedy, const model::Job& job) {
  if (job.groups.size() == 1) return "the job";
  const std::string& name = remedy.targets.front();
  return name.empty() ? "group " + std::to_string(remedy.group) : "group " + quoted(name);
}

std::string level_text(const Remedy& remedy, const model::Job& job) {
  const std::string who = group_named(remedy, job);
  if (remedy.value.empty()) return who + " may lie anywhere instead of inside one domain";
  return who + " has to lie inside one " + remedy.value + " only";
}

std::string lowered_text(const Remedy& remedy, const model::Job& job) {
  std::string who = "each pod";
  if (job.pods.size() == 1) who = "it";
  if (remedy.targets.size() < job.pods.size()) who = listed(remedy.targets);
  const bool several = remedy.targets.size() > 1 && remedy.targets.size() < job.pods.size();
  return who + (several ? " ask for at most " : " asks for at most ") + amounts(remedy.changes);
}

std::string new_node_text(const Remedy& remedy) {
  std::string text = "a new node with " + amounts(remedy.changes);
  if (!remedy.value.empty()) text += " (" + remedy.value + ")";
  std::vector<std::string> labels;
  labels.reserve(remedy.node.labels.size());
  for (const model::Label& label : remedy.node.labels) {
    labels.push_back(quoted(label.key + "=" + label.value));
  }
  if (labels.size() == 1) text += " and the label " + labels.front();
  if (labels.size() > 1) text += " and the labels " + listed(labels);
  return text + " is added";
}

std::string clause(const Remedy& remedy, const model::Job& job) {
  const auto& targets = remedy.targets;
  const std::string verb = targets.size() == 1 ? " is" : " are";
  switch (remedy.kind) {
    case RemedyKind::kMoreOnNode:
      return "node " + targets[0] + " has " + amounts(remedy.changes) + " more free";
    case RemedyKind::kAddNodes: {
      const int64_t count = remedy.changes[0].amount;
      std::string text = counted(count, "node") + " like " + targets[0];
      if (!remedy.value.empty()) text += ", in " + remedy.value + ",";
      return text + (count == 1 ? " is added" : " are added");
    }
    case RemedyKind::kNewNode:
      return new_node_text(remedy);
    case RemedyKind::kLowerRequest:
      return lowered_text(remedy, job);
    case RemedyKind::kLowerMinimum:
      return "the minimum of " + group_named(remedy, job) + " is " +
             std::to_string(remedy.changes[0].amount) + " instead of " +
             std::to_string(job.groups[remedy.group].min_count);
    case RemedyKind::kWidenLevel:
      return level_text(remedy, job);
    case RemedyKind::kDropSelector:
      return "it does not insist on the node label " + quoted(remedy.value);
    case RemedyKind::kDropGpuModel:
      return "it takes any GPU model";
    case RemedyKind::kDropGpuMemory:
      return "it takes GPUs of any memory size";
    case RemedyKind::kTolerateTaint:
      return std::string("it tolerates the taint") + (targets.size() == 1 ? " " : "s ") +
             listed(targets);
    case RemedyKind::kUncordon:
      return "node " + listed(targets) + verb + " uncordoned";
    case RemedyKind::kMakeReady:
      return "node " + listed(targets) + verb + " ready and open for pods again";
    case RemedyKind::kRepairGpu:
      return "GPU " + targets[1] + " of node " + targets[0] +
             " is healthy and no stranger uses its memory";
    case RemedyKind::kWaitFor:
      return "";
  }
  return "";
}

// Exact while it is short, then in the unit that one would say.
std::string span_text(int64_t seconds) {
  constexpr int64_t kMinute = 60;
  constexpr int64_t kHour = 60 * kMinute;
  if (seconds < 2 * kMinute) return counted(seconds, "second");
  if (seconds < 2 * kHour) return counted((seconds + kMinute - 1) / kMinute, "minute");
  return counted((seconds + kHour - 1) / kHour, "hour");
}

std::string wait_text(const Remedy& remedy, const ClusterState& state) {
  std::string text = "It starts when " + listed(remedy.targets) +
                     (remedy.targets.size() == 1 ? " has ended" : " have ended");
  if (remedy.at == base::Instant::never()) return text + "; no end is known.";
  const int64_t seconds = (remedy.at.ms - state.now().ms + 999) / 1000;
  if (seconds <= 0) return text + ", which was expected by now.";
  return text + ", which is expected in " + span_text(seconds) + ".";
}

}  // namespace

std::string_view to_string(RemedyKind kind) {
  switch (kind) {
    case RemedyKind::kMoreOnNode:
      return "more_on_node";
    case RemedyKind::kAddNodes:
      return "add_nodes";
    case RemedyKind::kNewNode:
      return "new_node";
    case RemedyKind::kLowerRequest:
      return "lower_request";
    case RemedyKind::kLowerMinimum:
      return "lower_minimum";
    case RemedyKind::kWidenLevel:
      return "widen_level";
    case RemedyKind::kDropSelector:
      return "drop_selector";
    case RemedyKind::kDropGpuModel:
      return "drop_gpu_model";
    case RemedyKind::kDropGpuMemory:
      return "drop_gpu_memory";
    case RemedyKind::kTolerateTaint:
      return "tolerate_taint";
    case RemedyKind::kUncordon:
      return "uncordon";
    case RemedyKind::kMakeReady:
      return "make_ready";
    case RemedyKind::kRepairGpu:
      return "repair_gpu";
    case RemedyKind::kWaitFor:
      return "wait_for";
  }
  return "unknown";
}

std::string_view unit_of(std::string_view what) {
  if (what == "gpu") return "devices";
  if (what == "gpu-milli") return "milli-GPU";
  if (what == "cpu") return "milli-CPU";
  if (what == "gpu-memory" || what == "memory" || what == "ephemeral-storage") return "MiB";
  if (what == "min_count") return "children";
  return what;
}

std::string sentence(const Remedy& remedy, const ClusterState& state, model::JobIx job) {
  if (remedy.kind == RemedyKind::kWaitFor) return wait_text(remedy, state);
  return "It starts if " + clause(remedy, state.job(job)) + ".";
}

}  // namespace mainspring::engine
