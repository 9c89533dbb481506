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

constexpr const char* kOwned = R"(name: owned
sharing: {usage_half_life: 7d, promise_timeout: 2m, displacements_max: 1,
          displacements_window: 6h, consolidate_lost_max: 0s}
priority_classes:
  high: {value: 100, preemptible: false}
  calm: {value: 5, may_displace: false}
queues:
  - name: research
    priority: 3
    gpu: {quota: 60 %, limit: unlimited, weight: 2}
    gpu_models: {H100: {quota: 1.5, limit: 8}}
    cpu: {quota: -1}
    memory: {quota: 64Gi}
    tenants: [red, blue]
    min_run_before_preempt: 1m
    min_run_before_reclaim: 2m
    displace_after: 3m
    queues:
      - {name: vision, gpu: {quota: 70 %}, queues: [{name: small}, {name: large}]}
      - {name: speech, gpu: {quota: 50 %}}
  - {name: batch, parent: research}
queue_changes:
  - {at: 2h, remove: guest}
  - {at: 1h, queue: {name: guest, gpu: {quota: 2}}}
cluster: {generate: {count: 2, gpus: {count: 8}}}
workload:
  jobs:
    - {id: a, queue: large, tenant: red, priority: high, may_displace: false,
       checkpoint_every: 15m, restart_time: 1m, pods: {gpus: 1}}
    - {id: b, queue: nowhere, priority: calm, preemptible: false, pods: {gpus: 1}}
  generate:
    name: g
    until: 1h
    jobs_per_hour: 1
    mix: [{name: m, tenant: blue, priority: calm, checkpoint_every: 1h, duration_mean: 1m,
           pods: {gpus: 1}}]
)";

TEST(Scenario, ReadsTheTreeOfQueues) {
  const auto scenario = parse_scenario(kOwned, "owned.yaml");
  ASSERT_TRUE(scenario.has_value()) << scenario.error().message;
  EXPECT_EQ(scenario->config.usage_half_life, base::seconds(7 * 24 * 3600));
  EXPECT_EQ(scenario->config.promise_timeout, base::seconds(120));
  EXPECT_EQ(scenario->config.displacements_max, 1);
  EXPECT_EQ(scenario->config.displacements_window, base::seconds(6 * 3600));
  EXPECT_EQ(scenario->config.consolidate_lost_max, base::Duration{});
  const model::QueueSpec research{.name = "research",
                                  .priority = 3,
                                  .resources = {{.name = "gpu", .quota_ppm = 600'000, .weight = 2},
                                                {.name = "gpu:H100", .quota = 1500, .limit = 8000},
                                                {.name = "cpu", .quota = model::kUnlimited},
                                                {.name = "memory", .quota = int64_t{64} << 30}},
                                  .tenants = {"red", "blue"},
                                  .min_run_before_preempt = base::seconds(60),
                                  .min_run_before_reclaim = base::seconds(120),
                                  .displace_after = base::seconds(180)};
  ASSERT_EQ(scenario->queues.size(), 6U);
  EXPECT_EQ(scenario->queues[0], research);
  const std::vector<std::pair<std::string, std::string>> parents = {
      {"research", ""},    {"vision", "research"}, {"small", "vision"},
      {"large", "vision"}, {"speech", "research"}, {"batch", "research"}};
  for (size_t i = 0; i < parents.size(); ++i) {
    EXPECT_EQ(scenario->queues[i].name, parents[i].first);
    EXPECT_EQ(scenario->queues[i].parent, parents[i].second);
  }
  ASSERT_EQ(scenario->queue_changes.size(), 2U);
  EXPECT_EQ(scenario->queue_changes[0].at, base::Instant{3'600'000});
  EXPECT_EQ(scenario->queue_changes[0].queue.resources[0].quota, 2000);
  EXPECT_FALSE(scenario->queue_changes[0].gone);
  EXPECT_TRUE(scenario->queue_changes[1].gone);
  EXPECT_EQ(scenario->queue_changes[1].queue.name, "guest");
  // 70 % and 50 % are more than there is: legal, and said.
  ASSERT_EQ(scenario->warnings.size(), 1U);
  EXPECT_NE(scenario->warnings[0].find("promised 120 %"), std::string::npos);
}

TEST(Scenario, ReadsWhoseJobsAreAndWhatTheyMayDo) {
  const auto scenario = parse_scenario(kOwned, "owned.yaml");
  ASSERT_TRUE(scenario.has_value()) << scenario.error().message;
  const model::JobSpec& first = scenario->jobs[0].spec;
  EXPECT_EQ(first.tenant, "red");
  EXPECT_EQ(first.priority, 100);
  EXPECT_FALSE(first.preemptible);
  EXPECT_FALSE(first.may_displace);
  EXPECT_EQ(first.checkpoint_interval, base::seconds(900));
  EXPECT_EQ(first.restart_time, base::seconds(60));
  const model::JobSpec& second = scenario->jobs[1].spec;
  EXPECT_EQ(second.queue, "nowhere");
  EXPECT_EQ(second.priority, 5);
  EXPECT_FALSE(second.preemptible);
  EXPECT_FALSE(second.may_displace);
  EXPECT_EQ(second.checkpoint_interval, base::Duration{});
  const model::JobSpec& form = scenario->generated[0].mix[0].form;
  EXPECT_EQ(form.tenant, "blue");
  EXPECT_EQ(form.priority, 5);
  EXPECT_TRUE(form.preemptible);
  EXPECT_EQ(form.checkpoint_interval, base::seconds(3600));
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
