// SPDX-License-Identifier: Apache-2.0
// Jobs of the Philly trace in a scenario file.
#include "mainspring/config/field_limits.h"
#include "mainspring/config/scenario_fields.h"
#include "mainspring/config/scenario_parts.h"

namespace mainspring::config {
namespace {

using enum FieldType;

constexpr Field kPhilly[] = {
    {.name = "first",
     .type = kCount,
     .doc = "only so many jobs, by arrival; left out: all 82,247",
     .min = 1,
     .max = kPodsMax},
    {.name = "queues",
     .type = kChoice,
     .doc = "one queue for all, or one for each virtual cluster of the trace: its quota is its "
            "part of the GPU-hours of all jobs in the file, of the GPUs of the cluster, rounded up",
     .fallback = "one",
     .words = "one tenants"},
    {.name = "checkpoint_interval",
     .type = kDuration,
     .doc = "every job saves its work so often; 0: never",
     .fallback = "0s",
     .min = 0,
     .max = kTimeMax},
    {.name = "restart_time",
     .type = kDuration,
     .doc = "what a restart costs every job",
     .fallback = "0s",
     .min = 0,
     .max = kTimeMax},
};

}  // namespace

const FieldTable& philly_table() {
  static constexpr FieldTable kTable{
      "philly jobs",
      "Jobs of the public trace of Microsoft's Philly cluster of 2017: when they came, how long "
      "they ran and on how many GPUs. What is above 8 GPUs is a gang of pods with 8 each, and one "
      "with the rest; other jobs are one pod. Pods ask for GPUs and nothing else.",
      kPhilly};
  return kTable;
}

void read_philly(const Section& section, Scenario& scenario) {
  PhillyWorkload philly;
  if (section.has("first")) philly.jobs_max = section.amount("first");
  philly.by_tenant = section.choice("queues") == 1;
  philly.checkpoint_interval = section.duration("checkpoint_interval");
  philly.restart_time = section.duration("restart_time");
  scenario.philly = philly;
}

}  // namespace mainspring::config
