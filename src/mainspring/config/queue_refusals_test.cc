// SPDX-License-Identifier: Apache-2.0
// What nobody should be able to say of queues, said in a scenario and in an event file. Each is
// refused with the name of the field, and what runs is not touched.
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mainspring/base/json.h"
#include "mainspring/config/event_json.h"
#include "mainspring/config/scenario.h"
#include "mainspring/model/history_for_tests.h"

namespace mainspring::config {
namespace {

using testing::HasSubstr;

struct BadInput {
  const char* what;
  const char* line;  // a queue or a job of a scenario; empty: what only happens while it runs
  const char* scenario_says;
  const char* event;
  const char* event_says;
};

#define EVENT(body) R"({"sequence":9,"event":)" body "}"
#define QUEUE(body) EVENT(R"("queue_changed","queue":{)" body "}")
#define QUEUE_WITH(gpu) \
  QUEUE(R"("name":"team","parent":"all","resources":[{"name":"gpu",)" gpu "}]")
#define QUEUE_NAMED(name) QUEUE(R"("name":")" name R"(")")
#define JOB_WITH(more)                                                               \
  EVENT(R"("job_changed","job":{"id":"new","groups":[{"name":"root","parent":-1}],)" \
        R"("shapes":[{"request":{"pods":1}}],"pods":[["new-0",0,0]],)" more "}")

constexpr BadInput kBadInputs[] = {
    {"a weight of zero", "queue: {name: team, gpu: {weight: 0}}", "queue.gpu.weight: '0'",
     QUEUE_WITH(R"("weight":0)"), "resources.gpu.weight is not in 1..1000000000 (0)"},
    {"a negative weight", "queue: {name: team, gpu: {weight: -3}}", "queue.gpu.weight: '-3'",
     QUEUE_WITH(R"("weight":-3)"), "resources.gpu.weight is not in 1..1000000000 (-3)"},
    {"an infinite weight", "queue: {name: team, gpu: {weight: .inf}}", "queue.gpu.weight: '.inf'",
     QUEUE_WITH(R"("weight":1e300)"), "queue.resources[0].weight: expected integer"},
    {"a weight without a bound", "queue: {name: team, gpu: {weight: 9223372036854775807}}",
     "queue.gpu.weight: '9223372036854775807'", QUEUE_WITH(R"("weight":9223372036854775807)"),
     "resources.gpu.weight is not in 1..1000000000"},
    {"a quota that is too large to count", "queue: {name: team, gpu: {quota: 9007199254741}}",
     "queue.gpu.quota: '9007199254741'", QUEUE_WITH(R"("quota":9007199254740993)"),
     "resources.gpu.quota is above 2^53"},
    {"a negative quota", "queue: {name: team, gpu: {quota: -2}}", "queue.gpu.quota: '-2'",
     QUEUE_WITH(R"("quota":-2000)"), "resources.gpu.quota is below -1"},
    {"a space in a name", "queue: {name: 'te am'}", "queue.name: 'te am'", QUEUE_NAMED("te am"),
     "queue.name has a space"},
    {"a control character in a name", "queue: {name: \"te\\u0007am\"}", "queue.name: '",
     QUEUE_NAMED("te\\u0007am"), "queue.name has a control character"},
    {"a name that is written backwards", "queue: {name: \"\\u202Eam\"}", "queue.name: '",
     QUEUE_NAMED("\\u202eam"), "queue.name has a character outside ASCII"},
    {"no name", "queue: {name: ''}", "queue.name: expected a name", QUEUE_NAMED(""),
     "queue.name is empty"},
    {"a queue above itself", "queue: {name: all, parent: all}", "parent is the queue itself",
     QUEUE(R"("name":"all","parent":"team")"), "parent team lies below it"},
    {"the highest priority that there is", "job: {priority: 2147483647}",
     "priority: '2147483647' is out of range", JOB_WITH(R"("priority":2147483647)"),
     "job.priority is not in -1,000,000,000..1,000,000,000"},
    {"a queue name with odd characters in a job", "job: {queue: \"\\u202Eam\"}", "queue: '",
     JOB_WITH(R"("queue":"\u202eam")"), "job.queue has a character outside ASCII"},
    {"a tenant that pretends to be two lines", "job: {tenant: \"red\\nblue\"}", "tenant: '",
     JOB_WITH(R"("tenant":"red\nblue")"), "job.tenant has a control character"},
    {"a queue deleted while others lie below it", "", "", EVENT(R"("queue_gone","queue":"all")"),
     "queue all cannot go: other queues lie below it"},
    {"a queue deleted while its jobs run", "", "", EVENT(R"("queue_gone","queue":"team")"),
     "queue team cannot go: jobs of it are running"},
};

#undef EVENT
#undef QUEUE
#undef QUEUE_WITH
#undef QUEUE_NAMED
#undef JOB_WITH

// Job `runs` holds a place in the queue `team` below `all`.
class QueueRefusals : public testing::Test {
 protected:
  QueueRefusals() {
    apply(model::QueueChanged{{.name = "all"}});
    apply(model::QueueChanged{{.name = "team", .parent = "all"}});
    model::NodeSpec node{.name = "n"};
    node.allocatable.amounts = {8000, 1 << 20, 1 << 20, 8};
    apply(model::NodeChanged{node});
    model::JobSpec job{.id = "runs", .queue = "team"};
    job.groups.push_back({.name = "root"});
    job.shapes.emplace_back().request.amounts = {1000, 0, 0, 1};
    job.pods.push_back({.id = "runs-0"});
    apply(model::JobChanged{job});
    model::Trial trial(state_);
    model::RandomHistory::place_first_fit(trial, state_.find_job("runs"));
    trial.commit();
  }

  void apply(model::EventBody body) {
    const auto done = state_.apply({++sequence_, base::Instant{}, std::move(body)});
    ASSERT_TRUE(done.has_value()) << done.error().message;
  }
  std::string refusal(const model::Event& event) {
    const uint64_t before = state_.hash();
    const auto done = state_.apply(event);
    EXPECT_EQ(state_.hash(), before);
    state_.check();
    return done ? "accepted" : done.error().message;
  }

  model::ClusterState state_;
  uint64_t sequence_ = 0;
};

std::string scenario_with(const std::string& line) {
  std::string text = "name: x\ncluster: {}\n";
  if (line.starts_with("queue: ")) {
    text += "queues: [{name: other}]\nqueue_changes:\n  - {at: 1s, " + line + "}\n";
    return text + "workload: {}\n";
  }
  const std::string fields = line.substr(line.find('{') + 1);
  return text + "workload:\n  jobs:\n    - {id: a, pods: {gpus: 1}, " + fields + "\n";
}

TEST_F(QueueRefusals, InEventFiles) {
  for (const BadInput& bad : kBadInputs) {
    SCOPED_TRACE(bad.what);
    const auto json = base::parse_json(bad.event);
    ASSERT_TRUE(json.has_value()) << json.error().message;
    const auto event = decode_event(*json);
    if (event) {
      EXPECT_THAT(refusal(*event), HasSubstr(bad.event_says));
    } else {
      EXPECT_THAT(event.error().message, HasSubstr(bad.event_says));
    }
    EXPECT_TRUE(state_.pod(state_.find_pod("runs-0")).holds());
  }
}

TEST_F(QueueRefusals, InScenarios) {
  for (const BadInput& bad : kBadInputs) {
    if (*bad.line == '\0') continue;
    SCOPED_TRACE(bad.what);
    const auto scenario = parse_scenario(scenario_with(bad.line), "x.yaml");
    ASSERT_FALSE(scenario.has_value());
    EXPECT_THAT(scenario.error().message, HasSubstr(bad.scenario_says));
    EXPECT_EQ(scenario.error().message.find('\n'), std::string::npos);
  }
}

TEST_F(QueueRefusals, SumsOfQuotasThatOverflow) {
  model::QueueSpec queue{.parent = "all"};
  queue.resources = {{.name = "gpu", .quota = model::kAmountMax}};
  for (int i = 0; i < 256; ++i) {
    queue.name = "q" + std::to_string(i);
    apply(model::QueueChanged{queue});
  }
  apply(model::QueueChanged{queue});  // once more as it is
  queue.name = "one-more";
  EXPECT_EQ(refusal({900, {}, model::QueueChanged{queue}}),
            "queue one-more: resources.gpu.quota: with its siblings it is above 2^61");
  queue.parent = "team";
  apply(model::QueueChanged{queue});
}

TEST_F(QueueRefusals, DemandThatOverflows) {
  model::JobSpec job{.id = "vast", .queue = "team"};
  job.groups.push_back({.name = "root"});
  job.shapes.emplace_back().request.amounts = {0, model::kAmountMax, 0, 1};
  for (int i = 0; i < 256; ++i) job.pods.push_back({.id = "vast-" + std::to_string(i)});
  apply(model::JobChanged{job});
  job.id = "more";
  job.pods = {{.id = "more-0"}};
  EXPECT_EQ(refusal({900, {}, model::JobChanged{job}}),
            "job.pods: request.memory with what others ask for is above 2^61");
  apply(model::JobGone{"vast"});
  apply(model::JobChanged{job});
}

}  // namespace
}  // namespace mainspring::config
