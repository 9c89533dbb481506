// SPDX-License-Identifier: Apache-2.0
#include "mainspring/model/cluster_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mainspring/model/history_for_tests.h"

namespace mainspring::model {
namespace {

using testing::HasSubstr;

class ClusterStateTest : public testing::Test {
 protected:
  ClusterStateTest() {
    node_.name = "n";
    node_.allocatable.amounts = {8000, 1 << 20, 1 << 20, 8};
    node_.gpus = {{.id = "g0", .model = "A", .memory_bytes = 1000},
                  {.id = "g1", .model = "A", .memory_bytes = 1000}};
    job_.id = "j";
    job_.groups.push_back({.name = "root"});
    PodShape shape;
    shape.request.amounts = {1000, 1000, 0, 1};
    shape.gpu.count = 1;
    job_.shapes.push_back(shape);
    job_.pods = {{.id = "a"}, {.id = "b"}};
    ok(NodeChanged{node_});
    ok(JobChanged{job_});
  }

  void ok(EventBody body) {
    ++sequence_;
    const auto done = state_.apply(
        {static_cast<uint64_t>(sequence_), base::Instant{sequence_ * 10}, std::move(body)});
    ASSERT_TRUE(done.has_value()) << done.error().message;
    state_.check();
  }
  // The message of the refusal; the state must be as it was.
  std::string refused(EventBody body) {
    const uint64_t before = state_.hash();
    ++sequence_;
    const auto done = state_.apply(
        {static_cast<uint64_t>(sequence_), base::Instant{sequence_ * 10}, std::move(body)});
    EXPECT_FALSE(done.has_value());
    EXPECT_EQ(state_.hash(), before);
    return done ? "" : done.error().message;
  }
  void place_all() {
    Trial trial(state_);
    RandomHistory::place_first_fit(trial, job());
    trial.commit();
    state_.set_start_deadline(job(), base::Instant{60'000});
  }
  [[nodiscard]] JobIx job() const { return state_.find_job("j"); }
  [[nodiscard]] const Job& the_job() const { return state_.job(job()); }
  [[nodiscard]] const Pod& pod(const char* id) const { return state_.pod(state_.find_pod(id)); }
  [[nodiscard]] const Node& the_node() const {
    return state_.inventory().node(state_.inventory().find_node("n"));
  }

  ClusterState state_;
  NodeSpec node_;
  JobSpec job_;
  int64_t sequence_ = 0;
};

TEST_F(ClusterStateTest, LifeOfAPod) {
  EXPECT_EQ(the_job().pods_pending, 2U);
  place_all();
  EXPECT_EQ(pod("a").phase, PodPhase::kClaimed);
  ok(PodBound{"a", 0});
  EXPECT_EQ(pod("a").phase, PodPhase::kStarting);
  EXPECT_EQ(pod("a").holding, HoldingState::kConfirmed);
  ok(PodStarted{"a", 0});
  EXPECT_EQ(the_job().pods_started, 1U);
  EXPECT_EQ(the_job().start_deadline, base::Instant{60'000});
  ok(PodStarted{"b", 0});  // before it was seen bound
  EXPECT_EQ(the_job().start_deadline, base::Instant::never());
  ok(PodBound{"b", 0});  // late: nothing
  EXPECT_EQ(pod("b").phase, PodPhase::kRunning);
  ok(PodStopping{"a", 0});
  EXPECT_EQ(the_node().free.gpus, 0);
  ok(PodGone{"a", 0, PodEnd::kSucceeded});
  EXPECT_EQ(the_node().free.gpus, 1);
  EXPECT_EQ(pod("a").phase, PodPhase::kGone);
  EXPECT_EQ(the_job().pods_succeeded, 1U);
  ok(PodGone{"b", 0, PodEnd::kSucceeded});
  EXPECT_FALSE(job().valid());
  EXPECT_FALSE(state_.find_pod("a").valid());
}

TEST_F(ClusterStateTest, RepeatedAndOldNewsAreIgnoredAndCounted) {
  place_all();
  ok(PodStarted{"a", 0});
  ok(PodGone{"a", 0, PodEnd::kLost});
  EXPECT_EQ(pod("a").incarnation, 1U);
  EXPECT_EQ(pod("a").phase, PodPhase::kPending);
  const int64_t stale = state_.stale().old_incarnation;
  ok(PodGone{"a", 0, PodEnd::kSucceeded});
  ok(PodStarted{"a", 0});
  ok(BindRefused{"a", 0, "late"});
  EXPECT_EQ(state_.stale().old_incarnation, stale + 3);
  EXPECT_EQ(pod("a").phase, PodPhase::kPending);
  place_all();
  ok(PodGone{"a", 0, PodEnd::kLost});
  EXPECT_TRUE(pod("a").holds()) << "an old life's end freed a new life's place";
  ok(PodGone{"ghost", 0});
  ok(NodeGone{"ghost"});
  ok(JobGone{"ghost"});
  EXPECT_EQ(state_.stale().unknown_pod, 1);
  EXPECT_EQ(state_.stale().unknown_node, 1);
  EXPECT_EQ(state_.stale().unknown_job, 1);
}

TEST_F(ClusterStateTest, OnlyTheEndFreesWhatAReleasedGangHeld) {
  place_all();
  state_.begin_release(job(), base::Instant{99'000});
  EXPECT_TRUE(the_job().releasing);
  EXPECT_EQ(the_job().failed_starts, 1U);
  EXPECT_EQ(the_node().free.gpus, 0);
  ok(PodGone{"a", 0, PodEnd::kLost});
  EXPECT_TRUE(the_job().releasing);
  ok(PodGone{"b", 0, PodEnd::kLost});
  EXPECT_FALSE(the_job().releasing);
  EXPECT_EQ(the_job().backoff_until, base::Instant{99'000});
  EXPECT_EQ(the_job().pods_pending, 2U);
  EXPECT_EQ(the_node().free.gpus, 2);
}

TEST_F(ClusterStateTest, ABrokenGangKeepsItsDeadline) {
  place_all();
  ok(PodStarted{"a", 0});
  ok(PodStarted{"b", 0});
  ok(PodStopping{"b", 0});
  state_.set_start_deadline(job(), base::Instant{70'000});
  ok(PodGone{"b", 0, PodEnd::kLost});
  EXPECT_EQ(the_job().start_deadline, base::Instant{70'000}) << "one that is left runs";
  place_all();
  ok(PodStarted{"b", 1});
  EXPECT_EQ(the_job().start_deadline, base::Instant::never());
}

TEST_F(ClusterStateTest, ARefusedBindWaitsAgain) {
  place_all();
  ok(BindRefused{"a", 0, "taken"});
  EXPECT_EQ(pod("a").phase, PodPhase::kPending);
  EXPECT_EQ(pod("a").incarnation, 1U);
  ok(PodStarted{"b", 0});
  ok(BindRefused{"b", 0, "nonsense"});
  EXPECT_TRUE(pod("b").holds());
}

TEST_F(ClusterStateTest, ANodeThatLeftIsKeptUntilItsPodsAreGone) {
  place_all();
  ok(NodeGone{"n"});
  EXPECT_EQ(the_node().free, Free{});
  EXPECT_FALSE(the_node().usable());
  ok(PodGone{"a", 0, PodEnd::kLost});
  EXPECT_TRUE(state_.inventory().find_node("n").valid());
  ok(PodGone{"b", 0, PodEnd::kLost});
  EXPECT_FALSE(state_.inventory().find_node("n").valid());
  ok(NodeChanged{node_});
  EXPECT_EQ(the_node().free.gpus, 2);
}

TEST_F(ClusterStateTest, ANodeThatComesBackBeforeItsPodsAreGoneKeepsThem) {
  place_all();
  ok(NodeGone{"n"});
  ok(NodeChanged{node_});
  EXPECT_EQ(the_node().pod_count, 2U);
  EXPECT_EQ(the_node().free.gpus, 0);
}

TEST_F(ClusterStateTest, ADeviceThatLeftWhileHeldKeepsItsPosition) {
  place_all();
  NodeSpec fewer = node_;
  fewer.gpus.erase(fewer.gpus.begin());
  ok(NodeChanged{fewer});
  ASSERT_EQ(the_node().gpus.size(), 2U);
  EXPECT_FALSE(the_node().gpus[0].usable());
  ok(PodGone{"a", 0, PodEnd::kLost});
  EXPECT_EQ(the_node().free.gpus, 0);
  ok(PodGone{"b", 0, PodEnd::kLost});
  ASSERT_EQ(the_node().gpus.size(), 1U);
  EXPECT_EQ(the_node().free.gpus, 1);
}

TEST_F(ClusterStateTest, JobUpdates) {
  place_all();
  JobSpec update = job_;
  update.priority = 7;
  update.pods = {{.id = "b"}, {.id = "c"}};
  ok(JobChanged{update});
  EXPECT_EQ(the_job().priority, 7);
  EXPECT_TRUE(pod("a").withdrawn);
  EXPECT_TRUE(pod("a").holds());
  EXPECT_EQ(the_job().pods_pending, 1U);
  EXPECT_EQ(state_.arrivals(), 3);
  ok(PodGone{"a", 0, PodEnd::kLost});
  EXPECT_FALSE(state_.find_pod("a").valid());
  update.pods = {{.id = "b"}};
  ok(JobChanged{update});
  EXPECT_FALSE(state_.find_pod("c").valid());
  ok(JobGone{"j"});
  EXPECT_TRUE(the_job().removed);
  ok(PodGone{"b", 0, PodEnd::kRemoved});
  EXPECT_FALSE(job().valid());
}

TEST_F(ClusterStateTest, AJobWithoutPodsIsNotKept) {
  JobSpec empty{.id = "empty"};
  empty.groups.push_back({.name = "root"});
  ok(JobChanged{empty});
  EXPECT_FALSE(state_.find_job("empty").valid());
  ok(JobGone{"j"});
  EXPECT_FALSE(job().valid());
}

TEST_F(ClusterStateTest, RefusesByNameAndChangesNothing) {
  JobSpec thief = job_;
  thief.id = "thief";
  EXPECT_THAT(refused(JobChanged{thief}), HasSubstr("pod a belongs to job j"));
  place_all();
  JobSpec changed = job_;
  changed.shapes[0].gpu.count = 2;
  EXPECT_THAT(refused(JobChanged{changed}), HasSubstr("only its tags and rules can still change"));
  changed.shapes[0].request[Resource::kCpuMilli] = -1;
  EXPECT_THAT(refused(JobChanged{changed}), HasSubstr("request.cpu is negative"));
  EXPECT_THAT(refused(GpuSampled{"n", "g9"}), HasSubstr("no GPU g9"));
  EXPECT_THAT(refused(GpuSampled{"n", "g0", true, -5}), HasSubstr("foreign_memory_bytes"));
  EXPECT_THAT(refused(PodFound{.pod = "a", .node = "n", .gpus = {"g0"}, .phase = 3}),
              HasSubstr("found twice"));
  NodeSpec other = node_;
  other.gpus.push_back({.id = "new", .resource = "unknown.example/gpu"});
  other.gpus[0].model = "a-model-that-only-a-refused-node-has";
  const size_t models = state_.inventory().gpu_models().size();
  EXPECT_THAT(refused(NodeChanged{other}), HasSubstr("unknown.example/gpu"));
  EXPECT_EQ(state_.inventory().gpu_models().size(), models);
  NodeSpec huge{.name = "huge"};
  huge.allocatable[Resource::kCpuMilli] = kAmountMax + 1;
  EXPECT_THAT(refused(NodeChanged{huge}), HasSubstr("above 2^53"));
  CoreConfig config;
  config.gang_start_timeout = base::seconds(0);
  EXPECT_THAT(refused(ConfigChanged{config}), HasSubstr("gang_start_timeout"));
}

TEST_F(ClusterStateTest, FoundPodsMustSuitTheirPlace) {
  const auto found = [](std::vector<std::string> gpus, std::string node = "n") {
    return PodFound{.pod = "a",
                    .incarnation = 4,
                    .node = std::move(node),
                    .gpus = std::move(gpus),
                    .phase = static_cast<uint8_t>(PodPhase::kRunning)};
  };
  EXPECT_THAT(refused(found({"g0", "g1"})), HasSubstr("another number of GPUs"));
  EXPECT_THAT(refused(found({"g9"})), HasSubstr("no GPU g9"));
  EXPECT_THAT(refused(found({"g0"}, "m")), HasSubstr("unknown node m"));
  ok(found({"g0"}));
  EXPECT_EQ(pod("a").incarnation, 4U);
  EXPECT_EQ(the_job().pods_started, 1U);
  PodFound second = found({"g0"});
  second.pod = "b";
  EXPECT_THAT(refused(second), HasSubstr("which is taken"));
}

TEST_F(ClusterStateTest, TimeAndSequenceNeverRunBackwards) {
  const base::Instant now = state_.now();
  ASSERT_TRUE(state_.apply({1, base::Instant{1}, Tick{}}).has_value());
  EXPECT_EQ(state_.now(), now);
  EXPECT_EQ(state_.sequence(), 2U);
}

TEST(ClusterStateHistory, CountsAlwaysAddUpAndRefusalsLeaveNoTrace) {
  for (uint64_t seed = 500; seed < 600; ++seed) {
    ClusterState state;
    RandomHistory history(seed);
    uint64_t before = state.hash();
    for (int step = 0; step < 150; ++step) {
      const bool accepted = history.step(state);
      const uint64_t after = state.hash();
      if (!accepted) {
        ASSERT_EQ(after, before) << "seed " << seed << ", step " << step;
      }
      before = after;
      state.check();
    }
  }
}

}  // namespace
}  // namespace mainspring::model
