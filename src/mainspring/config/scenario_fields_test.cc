// SPDX-License-Identifier: Apache-2.0
#include "mainspring/config/scenario_fields.h"

#include <string>

#include <gtest/gtest.h>

#include "mainspring/config/reference_page_for_tests.h"
#include "mainspring/config/scenario.h"

namespace mainspring::config {
namespace {

TEST(ScenarioFields, TheReferencePageIsInStep) {
  expect_page_in_step("docs/reference/scenario-format.md", "fields",
                      "\n" + describe_tables(scenario_tables()));
}

// A default that the table's own range refuses would refuse every file that leaves the field out.
TEST(ScenarioFields, EveryDefaultIsInItsRange) {
  const auto scenario = parse_scenario("name: x\ncluster: {}\nworkload: {}\n", "x.yaml");
  ASSERT_TRUE(scenario.has_value()) << scenario.error().message;
  const auto full = parse_scenario(
      "name: x\n"
      "timeouts: {}\nsharing: {}\npod_times: {}\nchances: {}\n"
      "priority_classes: {high: {value: 1}}\n"
      "queues: [{name: q, gpu: {}, cpu: {}, memory: {}, gpu_models: {H100: {}}}]\n"
      "queue_changes: [{at: 1s, queue: {name: q}}]\n"
      "cluster: {generate: {count: 1, gpus: {count: 1}, taints: [{key: a}]}}\n"
      "workload:\n"
      "  jobs: [{id: a, pods: {gpus: 1, tolerations: [{key: a}], rules: [{kind: near, tag: a}], "
      "node_requirements: [{key: a, op: "
      "Exists}]}}]\n"
      "  generate: {name: g, until: 1h, jobs_per_hour: 1, mix: [{name: m, duration_mean: 1m, pods: "
      "{}}]}\n"
      "faults: [{at: 1s, node_lost: node-0}]\n",
      "x.yaml");
  ASSERT_TRUE(full.has_value()) << full.error().message;
  // The tables and the model agree about what holds when nothing is said.
  EXPECT_EQ(full->config, model::CoreConfig{});
}

TEST(ScenarioFields, EveryTableIsNamedOnce) {
  for (const FieldTable* table : scenario_tables()) {
    for (const Field& field : table->fields) {
      EXPECT_FALSE(field.doc.empty()) << field.name;
      EXPECT_EQ(&table->row(field.name), &field) << table->title << " has two rows " << field.name;
      if (field.section.empty()) continue;
      int found = 0;
      for (const FieldTable* other : scenario_tables()) found += other->title == field.section;
      EXPECT_EQ(found, 1) << field.section;
    }
  }
}

}  // namespace
}  // namespace mainspring::config
