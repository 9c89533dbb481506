// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "mainspring/config/scenario.h"
#include "mainspring/config/section.h"

// The parts of a scenario file, one source each. All report into the section's Reading.

namespace mainspring::config {

// Scenarios know one driver of volumes.
inline constexpr const char* kVolumeDriver = "disk";

// After `config.topologies`, whose labels the trees of nodes need.
void read_cluster(const Section& cluster, Scenario& scenario);

// The priority classes, the queues and what changes of them.
void read_queues(const Section& file, Scenario& scenario);
// To whom a job, or a kind of the mix, belongs, and what it may do to others. After the priority
// classes.
void read_owner(const Section& section, const std::vector<PriorityClass>& classes,
                model::JobSpec& spec);

void read_workload(const Section& workload, Scenario& scenario);
void read_philly(const Section& section, Scenario& scenario);

// The groups, pods and shapes of a job, a group or a kind of the mix, into `spec`; ids of pods are
// relative to the job's ("workers/3").
void read_gang(const Section& section, model::JobSpec& spec);
// The job with this id, and its pods with ids below it.
model::JobSpec named_job(const model::JobSpec& form, const std::string& id);

// Whether an inline job, or the jobs of a generated workload, may be called that.
bool names_job(const Scenario& scenario, std::string_view name);

// Both after nodes and jobs, to which they refer.
void read_fault(const Section& fault, Scenario& scenario);
void read_expectation(const Section& expectation, Scenario& scenario);
void read_chances(const Section& chances, Scenario& scenario);

}  // namespace mainspring::config
