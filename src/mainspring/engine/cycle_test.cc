// SPDX-License-Identifier: Apache-2.0
#include "mainspring/engine/cycle.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace mainspring::engine {
namespace {

using base::Instant;
using model::ClusterState;
using model::Plan;

// A cluster of 8-GPU nodes in racks of two, driven by hand.
class CycleTest : public ::testing::Test {
 protected:
  CycleTest() {
    model::CoreConfig config;
    config.topologies.push_back({.name = "fabric", .levels = {{"rack", "example.com/rack"}}});
    apply(model::ConfigChanged{config});
  }

  template <class Body>
  void apply(Body body, int64_t at_ms = 0) {
    const auto ok = state_.apply({.sequence = ++sequence_, .at = Instant{at_ms}, .body = body});
    ASSERT_TRUE(ok) << ok.error().message;
  }

  void add_nodes(int count) {
    for (int i = 0; i < count; ++i) {
      model::NodeSpec node{.name = "node-" + std::to_string(nodes_)};
      node.labels.push_back({"example.com/rack", "r" + std::to_string(nodes_ / 2)});
      node.allocatable.amounts = {64'000, int64_t{1} << 39, int64_t{1} << 40, 110};
      for (int gpu = 0; gpu < 8; ++gpu) node.gpus.push_back({.id = "gpu-" + std::to_string(gpu)});
      apply(model::NodeChanged{node});
      ++nodes_;
    }
  }

  static model::JobSpec job(const std::string& id, uint32_t pods, uint32_t gpus,
                            uint32_t min = model::GroupSpec::kAllChildren) {
    model::JobSpec spec{.id = id};
    spec.groups.push_back({.name = "all", .min_count = min});
    model::PodShape shape;
    shape.request.amounts = {1000, int64_t{1} << 30, 0, 1};
    shape.gpu.count = gpus;
    spec.shapes.push_back(shape);
    for (uint32_t i = 0; i < pods; ++i) {
      spec.pods.push_back({.id = id + "/" + std::to_string(i)});
    }
    return spec;
  }

  void submit(model::JobSpec spec, int64_t at_ms = 0) {
    spec.submitted_at = Instant{at_ms};
    apply(model::JobChanged{std::move(spec)}, at_ms);
  }

  Plan cycle(int64_t at_ms) {
    apply(model::Tick{}, at_ms);
    Plan plan = engine_.run_cycle(state_, Instant{at_ms});
    state_.check();
    return plan;
  }

  void start_all(const Plan& plan, int64_t at_ms) {
    for (const model::PodBinding& pod : bound(plan)) {
      apply(model::PodBound{pod.pod, pod.incarnation}, at_ms);
      apply(model::PodStarted{pod.pod, pod.incarnation}, at_ms);
    }
  }

  // The one pod that holds a place on the node.
  std::string pod_on(const std::string& node) const {
    const model::PodIx pod = state_.inventory().node(state_.inventory().find_node(node)).first_pod;
    return state_.pod(pod).id;
  }

  static std::vector<model::PodBinding> bound(const Plan& plan) {
    std::vector<model::PodBinding> pods;
    for (const model::Decision& decision : plan.decisions) {
      if (const auto* bind = std::get_if<model::Bind>(&decision)) {
        pods.insert(pods.end(), bind->pods.begin(), bind->pods.end());
      }
    }
    return pods;
  }

  static std::vector<std::string> jobs_bound(const Plan& plan) {
    std::vector<std::string> jobs;
    for (const model::Decision& decision : plan.decisions) {
      if (const auto* bind = std::get_if<model::Bind>(&decision)) jobs.push_back(bind->job);
    }
    return jobs;
  }

  static const model::Release* released(const Plan& plan) {
    for (const model::Decision& decision : plan.decisions) {
      if (const auto* release = std::get_if<model::Release>(&decision)) return release;
    }
    return nullptr;
  }

  ClusterState state_;
  Engine engine_;
  uint64_t sequence_ = 0;
  int nodes_ = 0;
};

TEST_F(CycleTest, StartsAJobAndNamesItsDevices) {
  add_nodes(1);
  submit(job("train", 1, 4));
  const Plan plan = cycle(1);
  const auto pods = bound(plan);
  ASSERT_EQ(pods.size(), 1U);
  EXPECT_EQ(pods[0].pod, "train/0");
  EXPECT_EQ(pods[0].node, "node-0");
  EXPECT_EQ(pods[0].gpus.size(), 4U);
  EXPECT_TRUE(plan.explanations.empty());
}

TEST_F(CycleTest, TwoGangsThatEachNeedEverythingDoNotDivideIt) {
  add_nodes(4);
  submit(job("a", 4, 8), 1);
  submit(job("b", 4, 8), 1);
  const Plan plan = cycle(1);
  EXPECT_EQ(jobs_bound(plan), std::vector<std::string>{"a"});
  EXPECT_EQ(state_.job(state_.find_job("b")).pods_holding, 0U);
  ASSERT_EQ(plan.explanations.size(), 1U);
  EXPECT_EQ(plan.explanations[0].job, "b");
  EXPECT_EQ(plan.explanations[0].verdict.kind, model::VerdictKind::kNotNow);
}

TEST_F(CycleTest, AnIdleCycleTriesNothing) {
  add_nodes(2);
  submit(job("a", 2, 8), 1);
  submit(job("b", 2, 8), 1);
  cycle(1);
  cycle(2);
  EXPECT_EQ(engine_.last_cycle().jobs_tried, 0);
}

TEST_F(CycleTest, AGangThatDoesNotStartInTimeIsReleasedWholeAndTriedLater) {
  add_nodes(2);
  submit(job("gang", 2, 8), 0);
  Plan plan = cycle(0);
  EXPECT_EQ(plan.next_wake, Instant{60'000});
  apply(model::PodBound{"gang/0", 0}, 100);
  apply(model::PodStarted{"gang/0", 0}, 5'000);
  EXPECT_TRUE(cycle(59'999).decisions.empty());

  plan = cycle(60'000);
  const model::Release* release = released(plan);
  ASSERT_NE(release, nullptr);
  EXPECT_EQ(release->reason, model::ReleaseReason::kStartTimeout);
  EXPECT_EQ(release->pods.size(), 2U);
  EXPECT_EQ(release->retry_at, Instant{70'000});

  // An eviction is a request: until the pods are gone, nothing is free.
  EXPECT_EQ(state_.inventory().total_free().gpus, 0);
  apply(model::PodGone{"gang/0", 0, model::PodEnd::kLost}, 61'000);
  apply(model::PodGone{"gang/1", 0, model::PodEnd::kLost}, 62'000);
  EXPECT_EQ(state_.inventory().total_free().gpus, 16);
  plan = cycle(62'000);
  EXPECT_TRUE(plan.decisions.empty());
  EXPECT_EQ(plan.next_wake, Instant{70'000});
  EXPECT_EQ(engine_.verdict(state_, state_.find_job("gang")).code, model::ReasonCode::kBackingOff);

  plan = cycle(70'000);
  EXPECT_EQ(bound(plan).size(), 2U);
  EXPECT_EQ(bound(plan)[0].incarnation, 1U);
  // The second failure waits twice as long.
  plan = cycle(130'000);
  ASSERT_NE(released(plan), nullptr);
  EXPECT_EQ(released(plan)->retry_at, Instant{150'000});
}

TEST_F(CycleTest, AStartedGangIsLeftAlone) {
  add_nodes(2);
  submit(job("gang", 2, 8), 0);
  start_all(cycle(0), 1'000);
  const Plan plan = cycle(60'000);
  EXPECT_TRUE(plan.decisions.empty());
  EXPECT_EQ(plan.next_wake, Instant::never());
}

TEST_F(CycleTest, ALostMemberIsReplacedBeforeNewGangs) {
  add_nodes(3);
  submit(job("old", 2, 8), 0);
  start_all(cycle(0), 1'000);
  model::JobSpec urgent = job("urgent", 2, 8);
  urgent.priority = 100;
  urgent.may_displace = false;
  submit(urgent, 2'000);
  EXPECT_TRUE(cycle(2'000).decisions.empty());

  apply(model::PodGone{"old/1", 0, model::PodEnd::kLost}, 3'000);
  const Plan plan = cycle(3'000);
  EXPECT_EQ(jobs_bound(plan), std::vector<std::string>{"old"});
  EXPECT_EQ(bound(plan)[0].pod, "old/1");
  EXPECT_EQ(bound(plan)[0].incarnation, 1U);
}

TEST_F(CycleTest, ABrokenGangThatCannotBeRepairedIsReleasedInTime) {
  add_nodes(2);
  submit(job("old", 2, 8), 0);
  start_all(cycle(0), 1'000);
  model::NodeSpec broken{.name = "node-1"};
  broken.ready = false;
  apply(model::NodeChanged{broken}, 2'000);
  apply(model::PodGone{pod_on("node-1"), 0, model::PodEnd::kLost}, 3'000);
  Plan plan = cycle(3'000);
  EXPECT_TRUE(plan.decisions.empty());
  EXPECT_EQ(plan.next_wake, Instant{63'000});
  plan = cycle(63'000);
  ASSERT_NE(released(plan), nullptr);
  EXPECT_EQ(released(plan)->reason, model::ReleaseReason::kBelowMinimum);
}

TEST_F(CycleTest, AnElasticGangGrowsIntoWhatComesFree) {
  add_nodes(1);
  submit(job("elastic", 4, 4, 2), 0);
  Plan plan = cycle(0);
  EXPECT_EQ(bound(plan).size(), 2U);
  start_all(plan, 1'000);
  EXPECT_TRUE(cycle(2'000).decisions.empty());
  add_nodes(1);
  plan = cycle(3'000);
  EXPECT_EQ(jobs_bound(plan), std::vector<std::string>{"elastic"});
  EXPECT_EQ(bound(plan).size(), 2U);
  EXPECT_EQ(state_.job(state_.find_job("elastic")).start_deadline, Instant::never());
}

TEST_F(CycleTest, ARefusedBindIsTriedElsewhere) {
  add_nodes(2);
  submit(job("single", 1, 8), 0);
  const std::string first = bound(cycle(0)).at(0).node;
  apply(model::GpuSampled{.node = first, .gpu = "gpu-3", .foreign_memory_bytes = 1 << 20}, 100);
  apply(model::BindRefused{"single/0", 0, "a GPU is used by somebody else"}, 100);
  const Plan plan = cycle(100);
  ASSERT_EQ(bound(plan).size(), 1U);
  EXPECT_NE(bound(plan)[0].node, first);
}

TEST_F(CycleTest, EveryWaitingJobIsToldOnceAndAgainWhenItsAnswerChanges) {
  add_nodes(1);
  submit(job("huge", 1, 9), 0);
  submit(job("huge-too", 1, 9), 0);
  Plan plan = cycle(0);
  ASSERT_EQ(plan.explanations.size(), 2U);
  EXPECT_EQ(plan.explanations[0].verdict.kind, model::VerdictKind::kNever);
  submit(job("huge-three", 1, 9), 10);
  plan = cycle(10);
  ASSERT_EQ(plan.explanations.size(), 1U);
  EXPECT_EQ(plan.explanations[0].job, "huge-three");
  EXPECT_EQ(plan.explanations[0].verdict.kind, model::VerdictKind::kNever);
  EXPECT_TRUE(cycle(20).explanations.empty());

  model::NodeSpec wide{.name = "wide"};
  wide.allocatable.amounts = {64'000, int64_t{1} << 39, int64_t{1} << 40, 110};
  for (int gpu = 0; gpu < 9; ++gpu) wide.gpus.push_back({.id = "gpu-" + std::to_string(gpu)});
  wide.schedulable = false;
  apply(model::NodeChanged{wide}, 30);
  plan = cycle(30);
  ASSERT_EQ(plan.explanations.size(), 3U);
  EXPECT_EQ(plan.explanations[0].verdict.kind, model::VerdictKind::kNotNow);
}

}  // namespace
}  // namespace mainspring::engine
