// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "mainspring/config/scenario_fields.h"
#include "mainspring/config/scenario_parts.h"

namespace mainspring::config {
namespace {

using enum FaultKind;

enum class Target : uint8_t { kNode, kGpu, kJob };

struct KindRow {
  FaultKind kind;
  std::string_view word;
  Target target;
};

constexpr std::array kKinds = {
    KindRow{kNodeLost, "node_lost", Target::kNode},
    KindRow{kNodeBack, "node_back", Target::kNode},
    KindRow{kNodeCordoned, "node_cordoned", Target::kNode},
    KindRow{kNodeUncordoned, "node_uncordoned", Target::kNode},
    KindRow{kNodeGpus, "node_gpus", Target::kNode},
    KindRow{kGpuLost, "gpu_lost", Target::kGpu},
    KindRow{kGpuBack, "gpu_back", Target::kGpu},
    KindRow{kGpuTaken, "gpu_taken", Target::kGpu},
    KindRow{kGpuFreed, "gpu_freed", Target::kGpu},
    KindRow{kBindRefused, "bind_refused", Target::kJob},
    KindRow{kPodNeverStarts, "pod_never_starts", Target::kJob},
    KindRow{kPodFailed, "pod_failed", Target::kJob},
    KindRow{kJobRemoved, "job_removed", Target::kJob},
    KindRow{kEvictionStuck, "eviction_stuck", Target::kJob},
    KindRow{kEvictionFreed, "eviction_freed", Target::kJob},
    KindRow{kEvictionDone, "eviction_done", Target::kJob},
    KindRow{kJobSaved, "job_saved", Target::kJob},
};

const KindRow* kind_of(const Section& section) {
  const KindRow* found = nullptr;
  for (const KindRow& row : kKinds) {
    if (!section.has(row.word)) continue;
    if (found != nullptr) {
      section.report(row.word,
                     "is one fault too many; '" + std::string(found->word) + "' is already there");
    }
    found = &row;
  }
  if (found == nullptr) {
    section.reading().report(section.node(),
                             section.path() + ": expected what goes wrong, such as node_lost");
  }
  return found;
}

const model::NodeSpec* find_node(const Scenario& scenario, std::string_view name) {
  const auto found = std::find_if(scenario.nodes.begin(), scenario.nodes.end(),
                                  [&](const auto& node) { return node.name == name; });
  return found == scenario.nodes.end() ? nullptr : &*found;
}

void read_node_target(const Section& section, const KindRow& row, const Scenario& scenario,
                      TimedFault& fault) {
  std::string name = section.text(row.word);
  if (row.target == Target::kGpu) {
    const size_t slash = name.find('/');
    if (slash == std::string::npos) {
      section.report(row.word, "expected a device such as node-3/gpu-0");
      return;
    }
    fault.gpu = name.substr(slash + 1);
    name.resize(slash);
  }
  const model::NodeSpec* node = find_node(scenario, name);
  if (node == nullptr) {
    section.report(row.word, "there is no node '" + name + "'");
    return;
  }
  const auto has_id = [&](const model::GpuSpec& gpu) { return gpu.id == fault.gpu; };
  if (row.target == Target::kGpu && std::none_of(node->gpus.begin(), node->gpus.end(), has_id)) {
    section.report(row.word, "the node '" + name + "' has no device '" + fault.gpu + "'");
  }
  fault.node = name;
}

}  // namespace

std::string_view to_string(FaultKind kind) { return kKinds[static_cast<size_t>(kind)].word; }

bool names_job(const Scenario& scenario, std::string_view name) {
  if (!scenario.trace_csv.empty()) return true;
  for (const ScenarioJob& job : scenario.jobs) {
    if (job.name == name || job.spec.id == name) return true;
  }
  for (const GeneratedWorkload& workload : scenario.generated) {
    if (name.starts_with(workload.name + "-")) return true;
  }
  return false;
}

void read_fault(const Section& section, Scenario& scenario) {
  const KindRow* row = kind_of(section);
  if (row == nullptr) return;
  TimedFault fault{.kind = row->kind, .at = section.instant("at")};
  if (row->target == Target::kJob) {
    fault.job = section.text(row->word);
    if (!names_job(scenario, fault.job)) {
      section.report(row->word, "there is no job '" + fault.job + "'");
    }
  } else {
    read_node_target(section, *row, scenario, fault);
  }
  fault.count = section.amount("count");
  fault.memory_bytes = section.amount("memory");
  const bool counts = row->kind == kNodeGpus || row->kind == kBindRefused ||
                      row->kind == kPodNeverStarts || row->kind == kPodFailed ||
                      row->kind == kEvictionStuck || row->kind == kEvictionDone;
  if (section.has("count") && !counts) {
    section.report("count", "has no meaning for " + std::string(row->word));
  }
  if (section.has("memory") && row->kind != kGpuTaken) {
    section.report("memory", "has no meaning for " + std::string(row->word));
  }
  scenario.faults.push_back(std::move(fault));
}

void read_chances(const Section& section, Scenario& scenario) {
  const auto ppm = [&](std::string_view name) {
    return static_cast<int32_t>(section.amount(name));
  };
  scenario.chances = {
      .node_lost_every = section.duration("node_lost_every"),
      .node_back_after = section.duration("node_back_after"),
      .gpu_lost_every = section.duration("gpu_lost_every"),
      .gpu_back_after = section.duration("gpu_back_after"),
      .gpu_taken_every = section.duration("gpu_taken_every"),
      .gpu_taken_for = section.duration("gpu_taken_for"),
      .bind_refused_ppm = ppm("bind_refused"),
      .pod_never_starts_ppm = ppm("pod_never_starts"),
      .pod_failed_ppm = ppm("pod_failed"),
      .event_late_ppm = ppm("event_late"),
      .event_repeated_ppm = ppm("event_repeated"),
      .event_reordered_ppm = ppm("event_reordered"),
      .event_late_by = section.duration("event_late_by"),
  };
}

}  // namespace mainspring::config
