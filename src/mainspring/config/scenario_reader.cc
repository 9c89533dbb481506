// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "mainspring/config/scenario.h"
#include "mainspring/config/scenario_fields.h"
#include "mainspring/config/scenario_parts.h"
#include "mainspring/config/section.h"
#include "mainspring/config/yaml_tree.h"

namespace mainspring::config {
namespace {

using base::Result;

void read_topologies(const Section& file, Scenario& scenario) {
  std::vector<model::TopologySpec>& topologies = scenario.config.topologies;
  for (const Section& section : file.many("topologies", topology_table())) {
    model::TopologySpec topology{.name = section.text("name"), .levels = section.labels("levels")};
    for (const model::Label& level : topology.levels) {
      if (level.key == model::kNodeLevel) {
        section.report("levels", "the level 'node' comes by itself");
      } else if (!is_id(level.key)) {
        section.report("levels", "'" + level.key + "' is not a name for a level");
      }
    }
    topologies.push_back(std::move(topology));
    if (section.reading().failed()) return;
    if (auto ok = model::validate(scenario.config); !ok) {
      section.reading().report(section.node(), ok.error().message);
    }
  }
}

void read_settings(const Section& file, Scenario& scenario) {
  model::CoreConfig& config = scenario.config;
  if (file.has("gpu_resources")) config.gpu_resources = file.names("gpu_resources");
  if (const auto timeouts = file.one("timeouts", timeouts_table())) {
    config.gang_start_timeout = timeouts->duration("gang_start");
    config.retry_backoff_first = timeouts->duration("retry_first");
    config.retry_backoff_max = timeouts->duration("retry_max");
  }
  if (const auto sharing = file.one("sharing", sharing_table())) {
    config.usage_half_life = sharing->duration("usage_half_life");
    config.promise_timeout = sharing->duration("promise_timeout");
    config.displacements_max = static_cast<int32_t>(sharing->amount("displacements_max"));
    config.displacements_window = sharing->duration("displacements_window");
    config.consolidate_lost_max = sharing->duration("consolidate_lost_max");
  }
  if (const auto times = file.one("pod_times", pod_times_table())) {
    const auto range = [&](std::string_view name) {
      const auto [min, max] = times->durations(name);
      return DurationRange{min, max};
    };
    scenario.pod_times = {.bind = range("bind"), .start = range("start"), .stop = range("stop")};
  }
  if (file.reading().failed()) return;
  if (auto ok = model::validate(config); !ok) {
    const char* field = file.has("timeouts") ? "timeouts" : "gpu_resources";
    file.report(field, ok.error().message);
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
  read_topologies(file, scenario);
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
  Reading reading(file);
  Scenario scenario;
  scenario.file = file;
  read_file(Section(reading, *tree, scenario_table(), ""), scenario);
  if (reading.failed()) return tl::unexpected(reading.error());
  return scenario;
}

Result<Scenario> read_scenario(const std::string& path) {
  std::error_code ignored;
  std::ifstream stream(path, std::ios::binary);
  if (!stream || std::filesystem::is_directory(path, ignored)) {
    return base::failure(base::ErrorCode::kNotFound,
                         path + ": cannot be read; expected a scenario file");
  }
  std::ostringstream text;
  text << stream.rdbuf();
  return parse_scenario(text.str(), path);
}

}  // namespace mainspring::config
