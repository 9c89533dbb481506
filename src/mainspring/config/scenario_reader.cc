// SPDX-License-Identifier: Apache-2.0
#include "mainspring/config/core_parts.h"
#include "mainspring/config/scenario.h"
#include "mainspring/config/scenario_fields.h"
#include "mainspring/config/scenario_parts.h"
#include "mainspring/config/section.h"
#include "mainspring/config/yaml_tree.h"

namespace mainspring::config {
namespace {

using base::Result;

void read_settings(const Section& file, Scenario& scenario) {
  read_core_settings(file, scenario.config);
  if (const auto times = file.one("pod_times", pod_times_table())) {
    const auto range = [&](std::string_view name) {
      const auto [min, max] = times->durations(name);
      return DurationRange{min, max};
    };
    scenario.pod_times = {.bind = range("bind"), .start = range("start"), .stop = range("stop")};
  }
}

// A static replay knows no time, so what needs time is refused beside it.
void check_openb(const Section& file, const Scenario& scenario) {
  const bool nodes = file.where("cluster").find("openb") != nullptr;
  if (nodes != scenario.openb.has_value()) {
    file.report(nodes ? "cluster" : "workload",
                "`cluster.openb` and `workload.openb` need each other");
  }
  if (!scenario.openb) return;
  for (const char* field :
       {"topologies", "gpu_resources", "timeouts", "sharing", "pod_times", "priority_classes",
        "queues", "queue_changes", "faults", "chances", "expect"}) {
    if (file.has(field)) {
      file.report(field, "has no meaning beside `workload.openb`, whose pods only arrive");
    }
  }
}

void read_file(const Section& file, Scenario& scenario) {
  scenario.name = file.text("name");
  scenario.description = file.text("description");
  scenario.seed = static_cast<uint64_t>(file.amount("seed"));
  scenario.length = file.duration("length");
  read_topologies(file, scenario.config);
  read_settings(file, scenario);
  read_queues(file, scenario);
  if (const auto cluster = file.one("cluster", cluster_table())) read_cluster(*cluster, scenario);
  if (const auto workload = file.one("workload", workload_table())) {
    read_workload(*workload, scenario);
  }
  // The rest refers to nodes and jobs, so it makes no sense without them.
  if (file.reading().failed()) return;
  check_openb(file, scenario);
  for (const Section& fault : file.many("faults", fault_table())) read_fault(fault, scenario);
  if (const auto chances = file.one("chances", chances_table())) read_chances(*chances, scenario);
  for (const Section& expectation : file.many("expect", expectation_table())) {
    read_expectation(expectation, scenario);
  }
}

}  // namespace

Result<Scenario> parse_scenario(std::string_view text, const std::string& file) {
  const auto tree = parse_yaml(text, file);
  if (!tree) return tl::unexpected(tree.error());
  if (tree->kind == YamlNode::Kind::kNull) {
    return base::invalid(file + ":1:1: expected a scenario, but the file is empty");
  }
  Reading reading(file);
  Scenario scenario;
  scenario.file = file;
  read_file(Section(reading, *tree, scenario_table(), ""), scenario);
  if (reading.failed()) return tl::unexpected(reading.error());
  return scenario;
}

Result<Scenario> read_scenario(const std::string& path) {
  const auto text = read_text(path, "a scenario file");
  if (!text) return tl::unexpected(text.error());
  return parse_scenario(*text, path);
}

}  // namespace mainspring::config
