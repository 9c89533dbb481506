// SPDX-License-Identifier: Apache-2.0
#include "mainspring/config/scenario.h"

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mainspring::config {
namespace {

constexpr const char* kWhole = R"(name: everything
description: one of each
seed: 7
length: 2h
topologies:
  - name: network
    levels: {zone: topology.kubernetes.io/zone, rack: example.com/rack}
gpu_resources: [nvidia.com/gpu, amd.com/gpu]
timeouts: {gang_start: 30s, retry_first: 5s, retry_max: 1m}
pod_times: {bind: 1ms, start: 1s..2s, stop: 0s..5s}
cluster:
  generate:
    tree: {zone: 2, rack: 3, node: 4}
    name: "n{}"
    cpu: 96
    memory: 1Ti
    gpus: {count: 8, model: H100, memory: 80Gi}
    labels: {pool: train}
  nodes:
    - name: mixed
      gpus:
        - {count: 2, model: A100, memory: 40Gi}
        - {count: 1, model: MI300, memory: 192Gi, resource: amd.com/gpu}
      taints: [{key: team, value: red, effect: NoExecute}]
      schedulable: false
workload:
  jobs:
    - id: gang
      at: 10s
      queue: research
      priority: 5
      duration: 1h
      min: 2
      required: zone
      groups:
        - name: workers
          copies: 2
          min: 3
          preferred: rack
          pods: {count: 4, gpus: 2, cpu: 500m, memory: 16Gi, gpu_models: [H100, H200]}
        - name: driver
          pods: {cpu: 4, node_selector: {pool: train}, tolerations: [{key: team, exists: true}]}
    - id: share
      copies: 3
      every: 1m
      pods: [{gpu_share: 0.5}, {gpu_memory: 2000Mi, gpu_memory_min: 40Gi}]
  generate:
    name: day
    until: 1h
    jobs_per_hour: 60
    mix:
      - {name: small, weight: 3, duration_mean: 5m, pods: {gpus: 1}}
      - {name: gang, duration_mean: 10m, duration: 1m..1h, min: 2, pods: {count: 4, gpus: 8}}
faults:
  - {at: 5s, node_lost: n3}
  - {at: 6s, gpu_taken: n4/gpu-7, memory: 30Gi}
  - {at: 7s, bind_refused: gang, count: 3}
chances: {bind_refused: 1 %, event_late: 0.05, node_lost_every: 6h}
expect:
  - {job: gang, starts_by: 20s}
  - {job: gang, domains_at_most: 2, level: rack}
  - {job: share, pending_at: 3s, verdict: not_now, reason: not_enough_free, sentence: "free"}
  - {running_pods: 3, at: 20s}
  - {invariant_violations: 0}
  - {utilisation_at_least: 50 %}
  - {same_hash: true}
)";

TEST(Scenario, ReadsEveryPart) {
  const auto scenario = parse_scenario(kWhole, "whole.yaml");
  ASSERT_TRUE(scenario.has_value()) << scenario.error().message;
  EXPECT_EQ(scenario->seed, 7U);
  EXPECT_EQ(scenario->config.gang_start_timeout, base::seconds(30));
  ASSERT_EQ(scenario->nodes.size(), 25U);
  EXPECT_EQ(scenario->nodes[23].name, "n23");
  EXPECT_EQ(scenario->nodes[23].labels.back().value, "rack-1-2");
  EXPECT_EQ(scenario->nodes[24].gpus[2].resource, "amd.com/gpu");
  EXPECT_FALSE(scenario->nodes[24].schedulable);
  ASSERT_EQ(scenario->jobs.size(), 4U);
  const model::JobSpec& gang = scenario->jobs[0].spec;
  EXPECT_EQ(gang.groups.size(), 4U);
  EXPECT_EQ(gang.groups[0].min_count, 2U);
  EXPECT_EQ(gang.groups[2].name, "workers-1");
  EXPECT_EQ(gang.groups[2].preferred_level, "rack");
  EXPECT_EQ(gang.groups[3].min_count, model::GroupSpec::kAllChildren);
  EXPECT_EQ(gang.pods.size(), 9U);
  EXPECT_EQ(gang.pods[5].id, "gang/workers-1/1");
  EXPECT_EQ(gang.shapes.size(), 2U);
  EXPECT_EQ(gang.expected_run, base::seconds(3600));
  const ScenarioJob& share = scenario->jobs[2];
  EXPECT_EQ(share.spec.id, "share-1");
  EXPECT_EQ(share.spec.submitted_at, base::Instant{60'000});
  EXPECT_EQ(share.spec.shapes[0].gpu.milli, 500);
  EXPECT_EQ(share.spec.shapes[1].gpu.memory_bytes, int64_t{2000} << 20);
  EXPECT_FALSE(share.run.has_value());
  EXPECT_EQ(scenario->faults[1].gpu, "gpu-7");
  EXPECT_EQ(scenario->faults[2].count, 3);
  EXPECT_EQ(scenario->chances.bind_refused_ppm, 10'000);
  EXPECT_EQ(scenario->chances.event_late_ppm, 50'000);
  EXPECT_EQ(scenario->expectations[2].reason, model::ReasonCode::kNotEnoughFree);
  EXPECT_EQ(scenario->expectations[5].count, 500);
}

TEST(Scenario, DrawsTheSameJobsFromTheSameSeed) {
  const auto scenario = parse_scenario(kWhole, "whole.yaml");
  ASSERT_TRUE(scenario.has_value());
  const auto first = draw_jobs(*scenario, 1);
  const auto again = draw_jobs(*scenario, 1);
  const auto other = draw_jobs(*scenario, 2);
  ASSERT_EQ(first.size(), again.size());
  EXPECT_GT(first.size(), 30U);
  bool differs = first.size() != other.size();
  std::set<std::string> ids;
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].spec, again[i].spec);
    EXPECT_TRUE(ids.insert(first[i].spec.id).second) << first[i].spec.id;
    EXPECT_TRUE(model::validate(first[i].spec).has_value());
    const size_t before = i == 0 ? 0 : i - 1;
    EXPECT_LE(first[before].spec.submitted_at, first[i].spec.submitted_at);
    differs = differs || first[i].spec != other[i].spec;
  }
  EXPECT_TRUE(differs);
}

TEST(Scenario, EveryShippedScenarioIsReadable) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("scenarios")) {
    if (entry.path().extension() != ".yaml") continue;
    ++count;
    const auto scenario = read_scenario(entry.path().string());
    EXPECT_TRUE(scenario.has_value()) << scenario.error().message;
  }
  EXPECT_GE(count, 15U);
}

TEST(Scenario, AMissingFileIsAnError) {
  const auto scenario = read_scenario("scenarios/no-such-file.yaml");
  ASSERT_FALSE(scenario.has_value());
  EXPECT_NE(scenario.error().message.find("no-such-file.yaml: cannot be read"), std::string::npos);
  EXPECT_FALSE(read_scenario("scenarios").has_value());
}

}  // namespace
}  // namespace mainspring::config
