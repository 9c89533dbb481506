// SPDX-License-Identifier: Apache-2.0
#include "mainspring/policy/job_queue.h"

#include <gtest/gtest.h>

#include "mainspring/model/trial.h"

namespace mainspring::policy {
namespace {

using base::Instant;
using model::ClusterState;

model::JobSpec job(const std::string& id, int32_t priority, int64_t submitted_ms, uint32_t gpus,
                   uint32_t pods = 1) {
  model::JobSpec spec{.id = id, .priority = priority, .submitted_at = Instant{submitted_ms}};
  spec.groups.push_back({.name = "all"});
  model::PodShape shape;
  shape.request[model::Resource::kPods] = 1;
  shape.gpu.count = gpus;
  spec.shapes.push_back(shape);
  for (uint32_t i = 0; i < pods; ++i) spec.pods.push_back({.id = id + "-" + std::to_string(i)});
  return spec;
}

void submit(ClusterState& state, const model::JobSpec& spec) {
  ASSERT_TRUE(state.apply({.body = model::JobChanged{spec}}));
}

void add_node(ClusterState& state, const std::string& name) {
  model::NodeSpec node{.name = name};
  node.allocatable[model::Resource::kPods] = 100;
  for (int i = 0; i < 8; ++i) node.gpus.push_back({.id = "gpu-" + std::to_string(i)});
  ASSERT_TRUE(state.apply({.body = model::NodeChanged{node}}));
}

// Without a tree, and with time standing still.
std::optional<std::pair<JobKey, uint32_t>> next(JobQueue& queue, const ClusterState& state,
                                                uint64_t gains) {
  const QueueShares shares;
  return queue.next_open({.gains = gains, .claims = 0, .now = {}}, QueueOrder(state, shares));
}

std::string next_id(JobQueue& queue, const ClusterState& state, uint64_t gains) {
  const auto head = next(queue, state, gains);
  return head ? head->first.id : "";
}

TEST(JobQueueTest, OrdersByPriorityThenAgeThenId) {
  ClusterState state;
  submit(state, job("late", 0, 20, 1));
  submit(state, job("b", 0, 10, 2));
  submit(state, job("a", 0, 10, 3));
  submit(state, job("urgent", 5, 30, 4));
  JobQueue queue;
  queue.sync(state, Instant{30});
  std::vector<std::string> order;
  while (const auto head = next(queue, state, 0)) {
    order.push_back(head->first.id);
    queue.refuse(head->second, {.gains = 0});
  }
  EXPECT_EQ(order, (std::vector<std::string>{"urgent", "a", "b", "late"}));
}

TEST(JobQueueTest, AsksOncePerLineAndAgainWhenCapacityGrew) {
  ClusterState state;
  for (int i = 0; i < 10; ++i) submit(state, job("same-" + std::to_string(i), 0, i, 8));
  JobQueue queue;
  queue.sync(state, Instant{10});
  const auto head = next(queue, state, 0);
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->first.id, "same-0");
  queue.refuse(head->second, {.gains = 0});
  EXPECT_FALSE(next(queue, state, 0).has_value());
  // An equal job that comes later stands behind the refusal, even with a higher priority.
  submit(state, job("same-urgent", 9, 20, 8));
  queue.sync(state, Instant{20});
  EXPECT_FALSE(next(queue, state, 0).has_value());
  EXPECT_EQ(next_id(queue, state, 1), "same-urgent");
}

TEST(JobQueueTest, TellsStartRepairAndGrowthApart) {
  ClusterState state;
  add_node(state, "n");
  model::JobSpec elastic = job("elastic", 0, 1, 1, 3);
  elastic.groups[0].min_count = 2;
  submit(state, elastic);
  JobQueue queue;
  queue.sync(state, Instant{1});
  EXPECT_EQ(next_id(queue, state, state.inventory().gains()), "elastic");

  const model::NodeIx node = state.inventory().find_node("n");
  const auto place = [&](const std::string& pod, model::DeviceMask devices) {
    model::Trial trial(state);
    trial.place(state.find_pod(pod), node, devices, {});
    trial.commit();
    queue.sync(state, Instant{1});
  };
  place("elastic-0", 1);
  EXPECT_EQ(queue.repairs().size(), 1U);
  EXPECT_TRUE(queue.growing().empty());
  place("elastic-1", 2);
  EXPECT_TRUE(queue.repairs().empty());
  EXPECT_EQ(queue.growing().size(), 1U);
  place("elastic-2", 4);
  EXPECT_TRUE(queue.growing().empty());
  EXPECT_EQ(next_id(queue, state, state.inventory().gains()), "");
}

TEST(JobQueueTest, BackingOffJobsJoinTheirLineInTime) {
  ClusterState state;
  submit(state, job("tired", 0, 1, 1));
  ASSERT_TRUE(
      state.apply({.body = model::JobRestored{
                       .job = "tired", .failed_starts = 1, .backoff_until = Instant{500}}}));
  JobQueue queue;
  queue.sync(state, Instant{100});
  EXPECT_EQ(next_id(queue, state, 0), "");
  EXPECT_EQ(queue.first_retry(), Instant{500});
  queue.sync(state, Instant{500});
  EXPECT_EQ(next_id(queue, state, 0), "tired");
  EXPECT_EQ(queue.first_retry(), Instant::never());
}

TEST(JobQueueTest, ForgetsJobsThatLeave) {
  ClusterState state;
  submit(state, job("gone", 0, 1, 1));
  JobQueue queue;
  queue.sync(state, Instant{1});
  ASSERT_TRUE(state.apply({.body = model::JobGone{"gone"}}));
  queue.sync(state, Instant{2});
  EXPECT_EQ(next_id(queue, state, 0), "");
  EXPECT_TRUE(queue.lines().empty());
}

TEST(JobQueueTest, ANewQueueSeesWhatAnOldOneSees) {
  ClusterState state;
  JobQueue old;
  for (int i = 0; i < 50; ++i) {
    submit(state, job("j" + std::to_string(i), i % 3, i % 7, static_cast<uint32_t>(i % 4)));
    old.sync(state, Instant{i});
  }
  JobQueue fresh;
  fresh.sync(state, Instant{50});
  while (const auto head = next(old, state, 1)) {
    EXPECT_EQ(head, next(fresh, state, 1));
    old.refuse(head->second, {.gains = 1});
    fresh.refuse(head->second, {.gains = 1});
  }
  EXPECT_FALSE(next(fresh, state, 1).has_value());
}

TEST(JobQueueTest, ALineIsTriedAgainWhenItsTimeHasCome) {
  ClusterState state;
  submit(state, job("waits", 0, 1, 1));
  JobQueue queue;
  queue.sync(state, Instant{1});
  const QueueShares shares;
  const QueueOrder order(state, shares);
  const auto head = queue.next_open({}, order);
  ASSERT_TRUE(head.has_value());
  queue.refuse(head->second, {.claims = 7, .may_displace = true, .retry_at = Instant{100}});
  EXPECT_EQ(queue.first_retry(), Instant{100});
  EXPECT_FALSE(queue.next_open({.claims = 7, .now = Instant{99}}, order).has_value());
  EXPECT_TRUE(queue.next_open({.claims = 7, .now = Instant{100}}, order).has_value());
  queue.refuse(head->second, {.claims = 7, .may_displace = true});
  EXPECT_FALSE(queue.next_open({.claims = 7, .now = Instant{200}}, order).has_value());
  EXPECT_TRUE(queue.next_open({.claims = 8, .now = Instant{200}}, order).has_value());
}

TEST(JobQueueTest, WhoWasDisplacedInVainGoesFirst) {
  ClusterState state;
  submit(state, job("urgent", 9, 1, 1));
  submit(state, job("wronged", 0, 2, 2));
  ASSERT_TRUE(state.apply({.body = model::JobRestored{.job = "wronged", .goes_first = true}}));
  JobQueue queue;
  queue.sync(state, Instant{2});
  EXPECT_EQ(next_id(queue, state, 0), "wronged");
}

TEST(JobQueueTest, KnowsTheLowestPriorityThatHoldsSomething) {
  ClusterState state;
  add_node(state, "n");
  submit(state, job("low", -3, 1, 1));
  submit(state, job("high", 4, 1, 1));
  JobQueue queue;
  queue.sync(state, Instant{1});
  const model::QueueIx name = state.queues().find("default");
  EXPECT_FALSE(queue.lowest_held(state, name).has_value());
  for (const std::string id : {"high-0", "low-0"}) {
    model::Trial trial(state);
    const model::DeviceMask device = id == "low-0" ? 1 : 2;
    trial.place(state.find_pod(id), state.inventory().find_node("n"), device, {});
    trial.commit();
    queue.sync(state, Instant{1});
    EXPECT_EQ(queue.lowest_held(state, name), id == "low-0" ? -3 : 4);
  }
}

}  // namespace
}  // namespace mainspring::policy
