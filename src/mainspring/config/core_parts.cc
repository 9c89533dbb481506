// SPDX-License-Identifier: Apache-2.0
#include "mainspring/config/core_parts.h"

#include <utility>

#include "mainspring/config/core_fields.h"

namespace mainspring::config {

void read_topologies(const Section& file, model::CoreConfig& config) {
  std::vector<model::TopologySpec>& topologies = config.topologies;
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
    if (auto ok = model::validate(config); !ok) {
      section.reading().report(section.node(), ok.error().message);
    }
  }
}

void read_core_settings(const Section& file, model::CoreConfig& config) {
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
  if (file.reading().failed()) return;
  if (auto ok = model::validate(config); !ok) {
    const char* field = file.has("timeouts") ? "timeouts" : "gpu_resources";
    file.report(field, ok.error().message);
  }
}

}  // namespace mainspring::config
