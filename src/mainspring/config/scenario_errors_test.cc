// SPDX-License-Identifier: Apache-2.0
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "mainspring/config/scenario.h"

namespace mainspring::config {
namespace {

// Text to put in the place of a line of a good file, and how the one line about it reads.
struct Mistake {
  const char* old_text;
  const char* new_text;
  const char* message;
};

constexpr const char* kGood = R"(name: good
seed: 1
topologies:
  - {name: network, levels: {rack: example.com/rack}}
cluster:
  generate: {tree: {rack: 2, node: 2}, gpus: {count: 4}}
workload:
  jobs:
    - {id: a, pods: {count: 2, gpus: 1}}
    - {id: b, min: 1, pods: {gpus: 1, cpu: 2, memory: 16Gi}}
faults:
  - {at: 1s, node_lost: node-0}
expect:
  - {job: a, starts_by: 20s}
)";

constexpr const char* kOwned = R"(name: owned
sharing: {promise_timeout: 2m, displacements_max: 1}
priority_classes:
  high: {value: 100, preemptible: false}
queues:
  - name: research
    gpu: {quota: 60 %, limit: 16, weight: 2}
    queues:
      - {name: vision, gpu: {quota: 4}, tenants: [red]}
  - {name: batch, parent: research, gpu_models: {H100: {quota: 8, limit: 8}}}
queue_changes:
  - {at: 1m, queue: {name: new, parent: research}}
cluster:
  generate: {count: 2, gpus: {count: 8}}
workload:
  jobs:
    - {id: a, queue: vision, tenant: blue, priority: high, pods: {gpus: 1}}
)";

std::string replaced(const char* good, const Mistake& mistake) {
  std::string text = good;
  const size_t at = text.find(mistake.old_text);
  EXPECT_NE(at, std::string::npos) << mistake.old_text;
  return text.replace(at, std::string(mistake.old_text).size(), mistake.new_text);
}

void expect_refused(std::span<const Mistake> mistakes, const char* good = kGood) {
  for (const Mistake& mistake : mistakes) {
    const auto scenario = parse_scenario(replaced(good, mistake), "x.yaml");
    ASSERT_FALSE(scenario.has_value()) << mistake.new_text;
    const std::string& message = scenario.error().message;
    EXPECT_EQ(message.substr(0, std::string(mistake.message).size()), mistake.message);
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(ScenarioErrors, TheGoodFilesAreGood) {
  for (const char* good : {kGood, kOwned}) {
    const auto scenario = parse_scenario(good, "x.yaml");
    ASSERT_TRUE(scenario.has_value()) << scenario.error().message;
  }
}

TEST(ScenarioErrors, WhatIsNoYaml) {
  const Mistake mistakes[] = {
      {kGood, "", "x.yaml:1:1: expected a scenario, but the file is empty"},
      {kGood, "- a\n- b\n", "x.yaml:1:1: the file: expected a mapping with fields, found a list"},
      {kGood, "just words",
       "x.yaml:1:1: the file: expected a mapping with fields, found 'just words'"},
      {"name: good", "name: [a", "x.yaml:"},
      {"name: good", "name: \"a", "x.yaml:"},
      {"name: good", "name: &x good", "x.yaml:1:7: anchors (&name) are not supported"},
      {"name: good", "name: *x", "x.yaml:1:"},
      {"name: good", "name: !!str good", "x.yaml:1:7: tags (!"},
      {"name: good", "name: good\nname: again", "x.yaml:2:1: the key 'name' is given twice"},
      {"name: good", "[a, b]: good", "x.yaml:1:1: expected a plain word as a key"},
      {"expect:", "---\nexpect:", "x.yaml:14:1: expected one YAML document, found two"},
      {"name: good", "name: good\n\tseed: 4", "x.yaml:2:"},
  };
  expect_refused(mistakes);
}

TEST(ScenarioErrors, FieldsThatAreWrong) {
  const Mistake mistakes[] = {
      {"seed: 1", "sede: 1",
       "x.yaml:2:1: the scenario: unknown field 'sede'; did you mean 'seed'?"},
      {"name: good", "title: good",
       "x.yaml:1:1: the scenario: unknown field 'title'; expected name, "},
      {"name: good\n", "", "x.yaml:1:1: name: is missing; expected a name for reports"},
      {"name: good", "name:", "x.yaml:2:1: name: expected a single value, found nothing"},
      {"name: good", "name: two words", "x.yaml:1:7: name: 'two words' is not a name; expected"},
      {"gpus: 1}}\n    - {id: b", "gpu: 1}}\n    - {id: b",
       "x.yaml:9:32: workload.jobs[0].pods: unknown field 'gpu'; did you mean 'gpus'?"},
      {"  jobs:\n", "  jobs: none\n  trace:\n",
       "x.yaml:8:9: workload.jobs: expected a list of mappings, found 'none'"},
      {"{count: 4}", "4",
       "x.yaml:6:46: cluster.generate.gpus: expected a list of mappings, found '4'"},
      {"{rack: example.com/rack}", "[rack]",
       "x.yaml:4:29: topologies[0].levels: expected a mapping such as"},
      {"{rack: example.com/rack}", "{node: x}",
       "x.yaml:4:29: topologies[0].levels: the level 'node' comes by itself"},
  };
  expect_refused(mistakes);
}

TEST(ScenarioErrors, AmountsThatAreWrong) {
  const Mistake mistakes[] = {
      {"gpus: 1,", "gpus: -1,", "x.yaml:10:36: workload.jobs[1].pods.gpus: '-1' is negative"},
      {"gpus: 1,", "gpus: 0.5,", "x.yaml:10:36: workload.jobs[1].pods.gpus: '0.5' is a fraction"},
      {"gpus: 1,", "gpus: .nan,",
       "x.yaml:10:36: workload.jobs[1].pods.gpus: '.nan' is not a number"},
      {"gpus: 1,", "gpus: 65,",
       "x.yaml:10:36: workload.jobs[1].pods.gpus: '65' is out of range; "
       "expected 0 to 64"},
      {"gpus: 1,", "gpus: [1],",
       "x.yaml:10:36: workload.jobs[1].pods.gpus: expected a single value"},
      {"gpus: 1,", "gpu_share: 1,",
       "x.yaml:10:41: workload.jobs[1].pods.gpu_share: '1' is out of "
       "range; expected 0.001 to 0.999"},
      {"gpus: 1,", "gpu_share: 0.5, gpu_memory: 1Gi,",
       "x.yaml:10:58: workload.jobs[1].pods.gpu_memory: and `gpu_share` exclude each other"},
      {"gpus: 1,", "gpu_models: [H100],",
       "x.yaml:10:42: workload.jobs[1].pods.gpu_models: has no "
       "meaning without `gpus`"},
      {"cpu: 2", "cpu: 9007199254740993",
       "x.yaml:10:44: workload.jobs[1].pods.cpu: '9007199254740993' "
       "is over 2^53"},
      {"cpu: 2", "cpu: 20000", "x.yaml:10:44: workload.jobs[1].pods.cpu: '20000' is out of range"},
      {"16Gi", "16Gigs",
       "x.yaml:10:55: workload.jobs[1].pods.memory: '16Gigs' has an unknown unit"},
      {"at: 1s", "at: 1", "x.yaml:12:10: faults[0].at: '1' has no unit; expected a duration"},
      {"count: 2", "count: 100001",
       "x.yaml:9:29: workload.jobs[0].pods.count: '100001' is out of range"},
      {"node: 2}", "node: 60000}",
       "x.yaml:6:36: cluster.generate.tree.node: '60000' is out of range"},
      {"node: 2}", "node: 30000}", "x.yaml:6:20: cluster.generate.tree: has more than 50000 nodes"},
  };
  expect_refused(mistakes);
}

TEST(ScenarioErrors, ThingsThatDoNotFitTogether) {
  const Mistake mistakes[] = {
      {"id: b", "id: a", "x.yaml:10:12: workload.jobs[1].id: there are two jobs with the id 'a'"},
      {"min: 1", "min: 2", "x.yaml:10:20: workload.jobs[1].min: is 2, but there are only 1 pods"},
      {"pods: {count: 2, gpus: 1}", "priority: 1",
       "x.yaml:9:7: workload.jobs[0]: expected `pods` or `groups`"},
      {"rack: 2, node: 2", "rock: 2, node: 2",
       "x.yaml:6:20: cluster.generate.tree: no topology has the level 'rock'"},
      {"rack: 2, node: 2", "rack: 2",
       "x.yaml:6:20: cluster.generate.tree: expected 'node' as the last level"},
      {"tree: {rack: 2, node: 2}", "count: 2, name: same",
       "x.yaml:6:30: cluster.generate.name: has no {} to become the number of the node"},
      {"tree: {rack: 2, node: 2}", "cpu: 4",
       "x.yaml:6:13: cluster.generate.count: is missing; expected `count` or `tree`"},
      {"node_lost: node-0", "node_lost: node-4",
       "x.yaml:12:25: faults[0].node_lost: there is no node"},
      {"node_lost: node-0", "gpu_lost: node-0",
       "x.yaml:12:24: faults[0].gpu_lost: expected a device"},
      {"node_lost: node-0", "gpu_lost: node-0/gpu-4",
       "x.yaml:12:24: faults[0].gpu_lost: the node 'node-0' has no device 'gpu-4'"},
      {"node_lost: node-0", "pod_failed: c",
       "x.yaml:12:26: faults[0].pod_failed: there is no job 'c'"},
      {"node_lost: node-0", "count: 1", "x.yaml:12:5: faults[0]: expected what goes wrong"},
      {"node_lost: node-0", "node_lost: node-0, node_back: node-0",
       "x.yaml:12:44: faults[0].node_back: is one fault too many; 'node_lost' is already there"},
      {"node_lost: node-0", "node_lost: node-0, count: 2",
       "x.yaml:12:40: faults[0].count: has no meaning for node_lost"},
      {"starts_by: 20s", "at: 20s", "x.yaml:14:5: expect[0]: expected a statement"},
      {"job: a, starts_by", "job: z, starts_by",
       "x.yaml:14:11: expect[0].job: there is no job 'z'"},
      {"job: a, starts_by", "starts_by",
       "x.yaml:14:5: expect[0].job: is missing; expected a job's id"},
      {"starts_by: 20s", "within: row",
       "x.yaml:14:22: expect[0].within: no topology has the level"},
      {"starts_by: 20s", "pending_at: 1s, reason: fragmentet",
       "x.yaml:14:38: expect[0].reason: 'fragmentet' is no reason code; did you mean "
       "'fragmented'?"},
      {"starts_by: 20s", "starts_by: 20s, reason: taints",
       "x.yaml:14:38: expect[0].reason: has no meaning for starts_by"},
  };
  expect_refused(mistakes);
}

TEST(ScenarioErrors, AmountsOfQueuesThatAreWrong) {
  const Mistake mistakes[] = {
      {"weight: 2", "weight: 0",
       "x.yaml:7:43: queues[0].gpu.weight: '0' is out of range; expected 1 to 1000000000"},
      {"weight: 2", "weight: -2", "x.yaml:7:43: queues[0].gpu.weight: '-2' is negative; expected"},
      {"weight: 2", "weight: .inf", "x.yaml:7:43: queues[0].gpu.weight: '.inf' is not a number"},
      {"60 %", "100.5 %", "x.yaml:7:18: queues[0].gpu.quota: '100.5 %' is above 100 %; expected"},
      {"60 %", "-60 %", "x.yaml:7:18: queues[0].gpu.quota: '-60 %' is negative; expected a part"},
      {"60 %", "-2",
       "x.yaml:7:18: queues[0].gpu.quota: '-2' is negative; expected GPUs such as 8 or 1.5, in "
       "steps of 0.001, or `unlimited`"},
      {"60 %", "0.0001", "x.yaml:7:18: queues[0].gpu.quota: '0.0001' is finer than the smallest"},
      {"60 %", "inf", "x.yaml:7:18: queues[0].gpu.quota: 'inf' is not a number"},
      {"60 %", "9007199254741", "x.yaml:7:18: queues[0].gpu.quota: '9007199254741' is over 2^53"},
      {"limit: 16", "limit: 60 %", "x.yaml:7:31: queues[0].gpu.limit: '60 %' has an unknown unit"},
      {"limit: 8", "limit: 4",
       "x.yaml:10:74: queues[1].gpu_models.H100.limit: '4' is below the quota; expected 8 or more"},
      {"value: 100", "value: 2147483647",
       "x.yaml:4:17: priority_classes.high.value: '2147483647' is out of range"},
      {"priority: high", "priority: 2147483647",
       "x.yaml:17:54: workload.jobs[0].priority: '2147483647' is out of range; expected 0 to "
       "1000000000"},
      {"priority: high", "priority: hihg",
       "x.yaml:17:54: workload.jobs[0].priority: 'hihg' is no priority class; did you mean "
       "'high'?"},
      {"  high:", "  100:", "x.yaml:4:8: priority_classes.100: expected a word, but '100' is a"},
      {"promise_timeout: 2m", "promise_timeout: 0s",
       "x.yaml:2:28: sharing.promise_timeout: '0s' is out of range"},
  };
  expect_refused(mistakes, kOwned);
}

TEST(ScenarioErrors, TreesOfQueuesThatAreWrong) {
  const Mistake mistakes[] = {
      {"name: vision", "name: \"vi sion\"",
       "x.yaml:9:16: queues[0].queues[0].name: 'vi sion' is not a name; expected letters"},
      {"name: vision", "name: \"v\\u00efsion\"", "x.yaml:9:16: queues[0].queues[0].name: '"},
      {"name: vision", "name: \"\"",
       "x.yaml:9:16: queues[0].queues[0].name: expected a name of 1 to 253 characters"},
      {"name: vision", "name: batch",
       "x.yaml:10:12: queues[1].name: there are two queues with the name 'batch'"},
      {"name: vision", "name: vision, parent: batch",
       "x.yaml:9:32: queues[0].queues[0].parent: the queue stands inside 'research'; expected"},
      {"name: batch, parent: research", "name: batch, parent: reserch",
       "x.yaml:10:27: queues[1].parent: there is no queue 'reserch'; did you mean 'research'?"},
      {"name: batch, parent: research", "name: batch, parent: batch",
       "x.yaml:10:5: queues[1]: queue batch: parent is the queue itself"},
      {"name: research\n", "name: research\n    parent: batch\n",
       "x.yaml:11:5: queues[1]: parent leads back to the queue itself"},
      {"[red]", "[\"red\\n\"]", "x.yaml:9:51: queues[0].queues[0].tenants[0]: '"},
      {"parent: research}}\ncluster", "parent: sales}}\ncluster",
       "x.yaml:12:41: queue_changes[0].queue.parent: there is no queue 'sales'; expected"},
      {"queue: {name: new, parent: research}", "remove: visio",
       "x.yaml:12:22: queue_changes[0].remove: there is no queue 'visio'; did you mean 'vision'?"},
      {"at: 1m, queue: {name: new, parent: research}", "at: 1m",
       "x.yaml:12:5: queue_changes[0]: expected exactly one of `queue` and `remove`"},
      {"gpu_models: {H100: {quota: 8, limit: 8}}", "gpu_models: [H100]",
       "x.yaml:10:49: queues[1].gpu_models: expected a mapping of names, found a list"},
  };
  expect_refused(mistakes, kOwned);
}

TEST(ScenarioErrors, QuotasWhoseSumOverflows) {
  std::string text = "name: x\ncluster: {}\nworkload: {}\nqueues:\n";
  for (int i = 0; i < 1100; ++i) {
    text += "  - {name: q" + std::to_string(i) + ", gpu: {quota: 9007199254740}}\n";
  }
  const auto scenario = parse_scenario(text, "x.yaml");
  ASSERT_FALSE(scenario.has_value());
  EXPECT_EQ(scenario.error().message,
            "x.yaml:261:5: queues[256]: resources.gpu.quota: with its siblings it is above 2^61");
}

TEST(ScenarioErrors, HostileFilesEndQuickly) {
  std::string deep = "name: ";
  deep.append(5000, '[');
  EXPECT_FALSE(parse_scenario(deep, "x.yaml").has_value());
  std::string braces = "name: ";
  braces.append(5000, '{');
  EXPECT_FALSE(parse_scenario(braces, "x.yaml").has_value());
  EXPECT_FALSE(parse_scenario(std::string(size_t{9} << 20, ' '), "x.yaml").has_value());
  EXPECT_FALSE(parse_scenario(std::string_view("name: a\0b", 9), "x.yaml").has_value());
  std::string sequences;
  for (int i = 0; i < 3000; ++i) sequences += "- ";
  EXPECT_FALSE(parse_scenario(sequences, "x.yaml").has_value());
}

}  // namespace
}  // namespace mainspring::config
