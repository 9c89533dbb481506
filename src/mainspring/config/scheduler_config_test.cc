// SPDX-License-Identifier: Apache-2.0
#include "mainspring/config/scheduler_config.h"

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "mainspring/config/reference_page_for_tests.h"
#include "mainspring/config/scheduler_fields.h"

namespace mainspring::config {
namespace {

SchedulerConfig good(std::string_view text) {
  auto config = parse_scheduler_config(text, "c.yaml");
  EXPECT_TRUE(config.has_value()) << config.error().message;
  return config.value_or(SchedulerConfig{});
}

std::string refusal(std::string_view text) {
  const auto config = parse_scheduler_config(text, "c.yaml");
  EXPECT_FALSE(config.has_value()) << text;
  return config ? std::string() : config.error().message;
}

TEST(SchedulerConfig, AnEmptyFileIsOneOpenQueue) {
  for (const char* text : {"", "\n", "# nothing\n", "{}\n", "---\n"}) {
    const SchedulerConfig config = good(text);
    EXPECT_EQ(config, SchedulerConfig{}) << "'" << text << "'";
    ASSERT_EQ(config.queues.size(), 1U);
    EXPECT_EQ(config.queues[0].name, "default");
    // Whoever cannot be displaced starts too.
    ASSERT_EQ(config.queues[0].resources.size(), 1U);
    EXPECT_EQ(config.queues[0].resources[0].quota_ppm, 1'000'000);
    EXPECT_EQ(config.queue_of("any"), "default");
    EXPECT_TRUE(warnings(config).empty());
  }
}

// What the tables say holds when nothing is said is what the struct says, and lies in its range.
TEST(SchedulerConfig, TheDefaultsOfTheTablesAreThoseOfTheStruct) {
  EXPECT_EQ(good("leader_election: {}\ntimeouts: {}\nsharing: {}\n"), SchedulerConfig{});
}

TEST(SchedulerConfig, EveryFieldArrives) {
  const SchedulerConfig config = good(R"(
schedulers: [mainspring, gangs.example.com]
mode: shadow
topologies: [{name: network, levels: {rack: example.com/rack}}]
queues:
  - name: research
    tenants: [red, blue]
    queues: [{name: vision, gpu: {quota: 8, limit: 16, weight: 3}, min_run_before_reclaim: 1m}]
  - {name: other}
default_queue: other
namespace_queues: {red: vision, blue: vision}
priority_classes: {calm: {may_displace: false}, at-work: {preemptible: false}}
gpu_resources: [example.com/gpu]
gpu_model_label: example.com/model
gpu_memory_label: memory
timeouts: {gang_start: 2m, retry_first: 1s, retry_max: 4s}
sharing: {usage_half_life: 1h, promise_timeout: 1m, displacements_max: 5,
          displacements_window: 1h, consolidate_lost_max: 0s}
cycle_delay_min: 0s
batch_wait: 50ms
binds_parallel: 4
events_for_single_pods: true
leader_election: {enabled: false, namespace: here, name: other,
                  lease_duration: 4s, renew_deadline: 3s, retry_period: 1s}
)");
  EXPECT_EQ(config.schedulers, (std::vector<std::string>{"mainspring", "gangs.example.com"}));
  EXPECT_EQ(config.mode, SchedulerMode::kShadow);
  ASSERT_EQ(config.core.topologies.size(), 1U);
  EXPECT_EQ(config.core.gpu_resources, std::vector<std::string>{"example.com/gpu"});
  EXPECT_EQ(config.core.gang_start_timeout, base::seconds(120));
  EXPECT_EQ(config.core.retry_backoff_max, base::seconds(4));
  EXPECT_EQ(config.core.usage_half_life, base::seconds(3600));
  EXPECT_EQ(config.core.displacements_max, 5);
  ASSERT_EQ(config.queues.size(), 3U);
  EXPECT_EQ(config.queues[1].parent, "research");
  EXPECT_EQ(config.queues[1].resources[0].quota, 8000);
  EXPECT_EQ(config.queue_of("blue"), "vision");
  EXPECT_EQ(config.queue_of("red"), "vision");
  EXPECT_EQ(config.queue_of("green"), "other");
  ASSERT_NE(config.rule_of("at-work"), nullptr);
  EXPECT_FALSE(config.rule_of("at-work")->preemptible);
  EXPECT_FALSE(config.rule_of("calm")->may_displace);
  EXPECT_EQ(config.rule_of("none"), nullptr);
  EXPECT_EQ(config.gpu_model_label, "example.com/model");
  EXPECT_EQ(config.gpu_memory_label, "memory");
  EXPECT_EQ(config.cycle_delay_min, base::milliseconds(0));
  EXPECT_EQ(config.batch_wait, base::milliseconds(50));
  EXPECT_EQ(config.binds_parallel, 4U);
  EXPECT_TRUE(config.events_for_single_pods);
  const LeaderElection election{
      false, "here", "other", base::seconds(4), base::seconds(3), base::seconds(1)};
  EXPECT_EQ(config.leader_election, election);
}

TEST(SchedulerConfig, EveryMistakeHasItsPlace) {
  constexpr const char* kTree =
      "queues:\n  - {name: a, tenants: [red], queues: [{name: b}]}\n  - {name: default}\n";
  const struct {
    std::string text;
    const char* message;
  } cases[] = {
      {"- a\n", "c.yaml:1:1: the file: expected a mapping with fields, found a list"},
      {"mod: bind\n", "c.yaml:1:1: the configuration: unknown field 'mod'; did you mean 'mode'?"},
      {"mode: dry\n", "c.yaml:1:7: mode: 'dry' is unknown; expected bind or shadow"},
      {"mode: bind\nmode: bind\n", "c.yaml:2:1: the key 'mode' is given twice"},
      {"schedulers: mainspring\n", "c.yaml:1:13: schedulers: expected a list such as [a, b]"},
      {"schedulers: []\n", "c.yaml:1:13: schedulers: expected 1 to 32 names"},
      {"schedulers: [a, a]\n", "c.yaml:1:17: schedulers[1]: 'a' is named twice"},
      {"schedulers: [a, My_Own]\n", "c.yaml:1:17: schedulers[1]: 'My_Own' is no name that"},
      {"binds_parallel: 0\n",
       "c.yaml:1:17: binds_parallel: '0' is out of range; expected 1 to 1024"},
      {"batch_wait: 5\n", "c.yaml:1:13: batch_wait: '5' has no unit"},
      {"batch_wait: -5ms\n", "c.yaml:1:13: batch_wait: '-5ms' is negative"},
      {"events_for_single_pods: yes\n", "c.yaml:1:25: events_for_single_pods: 'yes' is neither"},
      {"gpu_model_label: a/b/c\n", "c.yaml:1:18: gpu_model_label: 'a/b/c' is no name of a label"},
      {"timeouts: {retry_first: 5m, retry_max: 1m}\n", "c.yaml:1:11: timeouts: retry_backoff_max"},
      {"queues: []\n", "c.yaml:1:9: queues: expected at least one queue"},
      {"queues: [{name: a}, {name: a}]\n", "c.yaml:1:28: queues[1].name: there are two queues"},
      {"queues: [{name: a, gpu: {quota: 8, limit: 4}}]\n",
       "c.yaml:1:43: queues[0].gpu.limit: '4' is below the quota"},
      {"default_queue: defualt\n",
       "c.yaml:1:16: default_queue: there is no queue 'defualt'; did you mean 'default'?"},
      {std::string(kTree) + "default_queue: a\n",
       "c.yaml:4:16: default_queue: the queue 'a' only holds other queues"},
      {"namespace_queues: {red: none}\n",
       "c.yaml:1:25: namespace_queues.red: there is no queue 'none'; expected the name of a queue"},
      {"namespace_queues: {red: }\n", "c.yaml:1:2"},
      {"namespace_queues: {Red: default}\n", "c.yaml:1:20: namespace_queues.Red: 'Red' is no name"},
      {std::string(kTree) + "namespace_queues: {red: b, blue: b}\n",
       "c.yaml:4:34: namespace_queues.blue: the namespace may not use this queue, because the "
       "tenants of 'a' are others"},
      {"priority_classes: {high: {value: 3}}\n",
       "c.yaml:1:27: priority_classes.high: unknown field 'value'; expected preemptible or"},
      {"leader_election: {lease_duration: 10s}\n",
       "c.yaml:1:35: leader_election.lease_duration: expected more than the renew_deadline, which "
       "is 10s"},
      {"leader_election: {retry_period: 9s}\n",
       "c.yaml:1:18: leader_election.renew_deadline: expected more than 1.2 times the "
       "retry_period, which is 9s"},
      {"leader_election: {namespace: A}\n", "c.yaml:1:30: leader_election.namespace: 'A' is no"},
  };
  for (const auto& [text, message] : cases) {
    const std::string found = refusal(text);
    EXPECT_EQ(found.substr(0, std::string_view(message).size()), message);
    EXPECT_EQ(found.find('\n'), std::string::npos) << found;
  }
  const auto missing = read_scheduler_config("no/such/file.yaml");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().message,
            "no/such/file.yaml: cannot be read; expected the configuration of the scheduler");
}

TEST(SchedulerConfig, ATreeWithoutTheDefaultQueueIsWarnedAbout) {
  const SchedulerConfig config = good("queues: [{name: a}]\n");
  ASSERT_EQ(warnings(config).size(), 1U);
  EXPECT_EQ(warnings(config)[0],
            "no queue 'default' takes jobs: pods that name no queue wait, unless namespace_queues "
            "has one for their namespace");
}

TEST(SchedulerConfig, WhatARunningSchedulerCannotTakeOver) {
  const SchedulerConfig running = good("");
  EXPECT_TRUE(changed_until_restart(running, good("binds_parallel: 2\n")).empty());
  EXPECT_EQ(changed_until_restart(
                running, good("schedulers: [a]\nmode: shadow\nleader_election: {name: a}\n")),
            (std::vector<std::string_view>{"schedulers", "mode", "leader_election"}));
}

TEST(SchedulerConfig, TheSampleIsGood) {
  const auto sample = read_scheduler_config("deploy/config.yaml");
  ASSERT_TRUE(sample.has_value()) << sample.error().message;
  EXPECT_TRUE(warnings(*sample).empty()) << warnings(*sample)[0];
  EXPECT_EQ(sample->queues.size(), 5U);
}

// The text of `config.yaml` in a ConfigMap of a manifest.
std::string embedded_config(const char* path) {
  constexpr std::string_view kIndent = "    ";
  std::ifstream stream(path);
  std::string text;
  bool inside = false;
  for (std::string line; std::getline(stream, line);) {
    if (inside && !line.starts_with(kIndent)) break;
    if (inside) text += line.substr(kIndent.size()) + "\n";
    inside = inside || line == "  config.yaml: |";
  }
  return text;
}

TEST(SchedulerConfig, TheDeployedOnesAreGood) {
  const SchedulerConfig bind = good(embedded_config("deploy/bind/scheduler.yaml"));
  EXPECT_EQ(bind, SchedulerConfig{}) << "it says what holds anyway";
  const SchedulerConfig shadow = good(embedded_config("deploy/shadow/scheduler.yaml"));
  EXPECT_EQ(shadow.mode, SchedulerMode::kShadow);
  EXPECT_EQ(shadow.schedulers, std::vector<std::string>{"default-scheduler"});
}

TEST(SchedulerConfig, TheReferencePageIsInStep) {
  expect_page_in_step("docs/reference/configuration.md", "fields",
                      "\n" + describe_tables(scheduler_tables()));
}

TEST(SchedulerConfig, EveryTableIsNamedOnce) {
  for (const FieldTable* table : scheduler_tables()) {
    for (const Field& field : table->fields) {
      EXPECT_FALSE(field.doc.empty()) << field.name;
      EXPECT_EQ(&table->row(field.name), &field) << table->title << " has two rows " << field.name;
      if (field.section.empty()) continue;
      int found = 0;
      for (const FieldTable* other : scheduler_tables()) found += other->title == field.section;
      EXPECT_EQ(found, 1) << field.section;
    }
  }
}

}  // namespace
}  // namespace mainspring::config
