// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "mainspring/config/core_fields.h"
#include "mainspring/config/field.h"

// The fields of a scenario file, section by section. The reference page is printed from these.

namespace mainspring::config {

// What one file may describe altogether.
inline constexpr size_t kScenarioNodesMax = 50'000;
inline constexpr size_t kScenarioGpusMax = 400'000;
inline constexpr size_t kScenarioPodsMax = 1'000'000;

const FieldTable& scenario_table();
const FieldTable& pod_times_table();
const FieldTable& priority_class_table();
const FieldTable& queue_change_table();
const FieldTable& cluster_table();
const FieldTable& generated_nodes_table();
const FieldTable& node_table();
const FieldTable& gpus_table();
const FieldTable& taint_table();
const FieldTable& openb_nodes_table();
const FieldTable& workload_table();
const FieldTable& job_table();
const FieldTable& group_table();
const FieldTable& pods_table();
const FieldTable& requirement_table();
const FieldTable& toleration_table();
const FieldTable& pod_rule_table();
const FieldTable& generated_jobs_table();
const FieldTable& mix_table();
const FieldTable& trace_table();
const FieldTable& openb_pods_table();
const FieldTable& philly_table();
const FieldTable& fault_table();
const FieldTable& chances_table();
const FieldTable& expectation_table();

// All of them, in the order of the reference page.
std::span<const FieldTable* const> scenario_tables();

}  // namespace mainspring::config
