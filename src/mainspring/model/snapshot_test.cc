// SPDX-License-Identifier: Apache-2.0
#include "mainspring/model/snapshot.h"

#include <array>
#include <memory>

#include <gtest/gtest.h>

#include "mainspring/model/history_for_tests.h"

namespace mainspring::model {
namespace {

std::unique_ptr<ClusterState> rebuild(const ClusterState& state) {
  auto again = std::make_unique<ClusterState>();
  for (const Event& event : take_snapshot(state)) {
    const auto done = again->apply(event);
    EXPECT_TRUE(done.has_value()) << done.error().message;
  }
  return again;
}

TEST(Snapshot, OfAnEmptyStateIsItsConfiguration) {
  const ClusterState state;
  const auto events = take_snapshot(state);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<ConfigChanged>(events[0].body));
  EXPECT_TRUE(std::holds_alternative<GpuModelsRestored>(events[1].body));
  EXPECT_EQ(rebuild(state)->hash(), state.hash());
}

TEST(Snapshot, RebuildsAnEqualStateAtAnyMoment) {
  int64_t held = 0;
  int64_t promised = 0;
  int64_t in_trees = 0;
  int64_t refused = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    ClusterState state;
    RandomHistory history(seed);
    for (int step = 0; step < 200; ++step) {
      if (!history.step(state)) ++refused;
      if (step % 20 != 19) continue;
      const auto again = rebuild(state);
      again->check();
      ASSERT_EQ(again->hash(), state.hash()) << "seed " << seed << ", step " << step;
      for (const Pod& pod : state.pods()) held += pod.alive && pod.holds() ? 1 : 0;
      for (const Job& job : state.jobs()) promised += job.alive && job.promised() ? 1 : 0;
      for (const Queue& queue : state.queues().rows()) in_trees += queue.depth > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(held, 10'000);
  EXPECT_GT(promised, 300);
  EXPECT_GT(in_trees, 300);
  EXPECT_GT(refused, 100);
}

TEST(Snapshot, LaterEventsDoTheSameToBoth) {
  for (uint64_t seed = 1000; seed < 1100; ++seed) {
    ClusterState state;
    RandomHistory history(seed);
    for (int step = 0; step < 150; ++step) history.step(state);
    const auto again = rebuild(state);
    RandomHistory same = history;
    for (int step = 0; step < 150; ++step) {
      const bool accepted = history.step(state);
      ASSERT_EQ(same.step(*again), accepted) << "seed " << seed << ", step " << step;
      ASSERT_EQ(again->hash(), state.hash()) << "seed " << seed << ", step " << step;
    }
    again->check();
  }
}

NodeSpec node_with_gpus(size_t count) {
  NodeSpec node{.name = "n"};
  node.allocatable.amounts = {8000, 1 << 20, 1 << 20, 8};
  for (size_t i = 0; i < count; ++i) {
    node.gpus.push_back({.id = "g" + std::to_string(i), .model = "A", .memory_bytes = 1000});
  }
  return node;
}

JobSpec job_of(std::vector<std::string> pods) {
  JobSpec job{.id = "j"};
  job.groups.push_back({.name = "root"});
  PodShape shape;
  shape.request[Resource::kPods] = 1;
  shape.gpu.count = 1;
  job.shapes.push_back(shape);
  for (std::string& pod : pods) job.pods.push_back({.id = std::move(pod)});
  return job;
}

// Whatever left while something still held it is the hard part.
TEST(Snapshot, KeepsWhatLeftButIsHeld) {
  ClusterState state;
  ASSERT_TRUE(state.apply({1, {}, NodeChanged{node_with_gpus(3)}}).has_value());
  ASSERT_TRUE(state.apply({2, {}, JobChanged{job_of({"a", "b", "c"})}}).has_value());
  {
    Trial trial(state);
    ASSERT_EQ(RandomHistory::place_first_fit(trial, state.find_job("j")).size(), 3U);
    trial.commit();
  }
  ASSERT_TRUE(state.apply({3, {}, JobChanged{job_of({"c", "a"})}}).has_value());
  ASSERT_TRUE(state.apply({4, {}, PodBound{"a", 0}}).has_value());
  ASSERT_TRUE(state.apply({5, {}, PodGone{"c", 0, PodEnd::kLost}}).has_value());
  ASSERT_TRUE(state.apply({6, {}, NodeChanged{node_with_gpus(1)}}).has_value());
  ASSERT_TRUE(state.apply({7, {}, NodeGone{"n"}}).has_value());
  state.begin_release(state.find_job("j"), base::Instant{5000});
  const auto again = rebuild(state);
  EXPECT_EQ(again->hash(), state.hash());
  EXPECT_TRUE(again->pod(again->find_pod("b")).withdrawn);
  EXPECT_FALSE(again->inventory().node(again->inventory().find_node("n")).listed);
  EXPECT_EQ(again->inventory().node(again->inventory().find_node("n")).gpus.size(), 3U);
  for (const auto& gone : {PodGone{"b", 0}, PodGone{"a", 0, PodEnd::kLost}}) {
    ASSERT_TRUE(state.apply({8, {}, gone}).has_value());
    ASSERT_TRUE(again->apply({8, {}, gone}).has_value());
    EXPECT_EQ(again->hash(), state.hash());
  }
  EXPECT_FALSE(again->inventory().find_node("n").valid());
  EXPECT_FALSE(again->find_pod("b").valid());
}

// A tenant who submits and deletes jobs, no two alike.
TEST(Snapshot, ForgetsTheNamesThatNothingUses) {
  ClusterState state;
  ASSERT_TRUE(state.apply({1, {}, NodeChanged{node_with_gpus(3)}}).has_value());
  ASSERT_TRUE(state.apply({2, {}, JobChanged{job_of({"kept"})}}).has_value());
  const size_t before = state.names_known();
  for (int64_t number = 0; number < 500; ++number) {
    JobSpec job = job_of({"p"});
    job.id = "passing";
    job.shapes[0].request[Resource::kCpuMilli] = number;
    job.shapes[0].node_requirements.push_back(
        {.key = "wish-" + std::to_string(number), .op = SelectorOp::kExists});
    ASSERT_TRUE(state.apply({3, {}, JobChanged{job}}).has_value());
    ASSERT_TRUE(state.apply({4, {}, JobGone{job.id}}).has_value());
  }
  EXPECT_GE(state.names_known(), before + 1500);
  const auto ends = end_of_unused_demand(state);
  EXPECT_EQ(ends.size(), 500U);
  for (const DemandRestored& end : ends) ASSERT_TRUE(state.apply({5, {}, end}).has_value());
  EXPECT_EQ(state.arrivals(), 1);
  const ClusterState again = without_unused_names(state);
  EXPECT_LE(again.names_known(), before);
  EXPECT_EQ(again.hash(), state.hash());
  EXPECT_TRUE(again.find_pod("kept").valid());
}

}  // namespace
}  // namespace mainspring::model
