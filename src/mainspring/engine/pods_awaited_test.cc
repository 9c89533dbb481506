// SPDX-License-Identifier: Apache-2.0
// Jobs whose pods come and go one by one, and jobs that the outside refuses again and again.
#include <gtest/gtest.h>

#include "mainspring/engine/cycle.h"
#include "mainspring/model/gang.h"

namespace mainspring::engine {
namespace {

using model::ReasonCode;

class PodsAwaited : public testing::Test {
 protected:
  PodsAwaited() {
    model::NodeSpec node{.name = "n"};
    node.allocatable.amounts = {64'000, int64_t{1} << 40, int64_t{1} << 40, 64};
    for (int i = 0; i < 8; ++i) node.gpus.push_back({.id = "gpu-" + std::to_string(i)});
    tell(model::NodeChanged{node});
  }

  void tell(model::EventBody body) {
    now_.ms += 10;
    const auto done = state_.apply({++sequence_, now_, std::move(body)});
    ASSERT_TRUE(done.has_value()) << done.error().message;
    state_.check();
  }
  // A gang of two that has these pods.
  void pods(const std::vector<std::string>& ids) {
    model::JobSpec job{.id = "j", .pods_awaited = true};
    job.groups.push_back({.name = "all", .min_count = 2});
    model::PodShape shape;
    shape.request.amounts = {1000, 1000, 0, 1};
    shape.gpu.count = 1;
    job.shapes.push_back(shape);
    for (const std::string& id : ids) job.pods.push_back({.id = id});
    tell(model::JobChanged{job});
  }
  void end(const std::string& id, model::PodEnd how) {
    const model::PodIx pod = state_.find_pod(id);
    tell(model::PodGone{id, state_.pod(pod).incarnation, how});
  }
  model::Plan cycle() { return engine_.run_cycle(state_, now_); }
  // The pods that are bound in the plan.
  static std::vector<std::string> bound(const model::Plan& plan) {
    std::vector<std::string> ids;
    for (const model::Decision& decision : plan.decisions) {
      if (const auto* bind = std::get_if<model::Bind>(&decision)) {
        for (const model::PodBinding& pod : bind->pods) ids.push_back(pod.pod);
      }
    }
    return ids;
  }
  const model::Job& job() { return state_.job(state_.find_job("j")); }

  model::ClusterState state_;
  Engine engine_;
  base::Instant now_{1'000'000};
  uint64_t sequence_ = 0;
};

using Ids = std::vector<std::string>;

TEST_F(PodsAwaited, AJobWaitsUntilItsMinimumExists) {
  pods({"a"});
  const model::Plan plan = cycle();
  EXPECT_TRUE(plan.decisions.empty());
  ASSERT_EQ(plan.explanations.size(), 1U);
  EXPECT_EQ(plan.explanations[0].verdict.code, ReasonCode::kPodsMissing);
  pods({"a", "b"});
  EXPECT_EQ(bound(cycle()), (Ids{"a", "b"}));
}

TEST_F(PodsAwaited, AJobWithoutPodsKeepsItsPast) {
  pods({"a", "b"});
  cycle();
  for (const char* id : {"a", "b"}) tell(model::PodStarted{id, 0});
  pods({});
  end("a", model::PodEnd::kRemoved);
  end("b", model::PodEnd::kRemoved);
  ASSERT_TRUE(state_.find_job("j").valid());
  EXPECT_TRUE(cycle().decisions.empty());
  pods({"c", "d"});
  EXPECT_EQ(bound(cycle()), (Ids{"c", "d"}));
  tell(model::JobGone{"j"});
  end("c", model::PodEnd::kRemoved);
  end("d", model::PodEnd::kRemoved);
  EXPECT_FALSE(state_.find_job("j").valid());
}

TEST_F(PodsAwaited, ALostMemberIsReplacedWhenItsSuccessorExists) {
  pods({"a", "b"});
  cycle();
  for (const char* id : {"a", "b"}) tell(model::PodStarted{id, 0});
  pods({"b"});
  end("a", model::PodEnd::kRemoved);
  EXPECT_TRUE(cycle().decisions.empty());
  EXPECT_NE(job().start_deadline, base::Instant::never());
  pods({"b", "c"});
  EXPECT_EQ(bound(cycle()), (Ids{"c"}));
}

TEST_F(PodsAwaited, AGangThatStaysBelowItsMinimumIsReleased) {
  pods({"a", "b"});
  cycle();
  for (const char* id : {"a", "b"}) tell(model::PodStarted{id, 0});
  pods({"b"});
  end("a", model::PodEnd::kRemoved);
  cycle();
  now_ = now_ + state_.config().gang_start_timeout;
  const model::Plan plan = cycle();
  ASSERT_EQ(plan.decisions.size(), 1U);
  const auto* release = std::get_if<model::Release>(plan.decisions.data());
  ASSERT_NE(release, nullptr);
  EXPECT_EQ(release->reason, model::ReleaseReason::kBelowMinimum);
}

TEST_F(PodsAwaited, TheFirstRefusalIsTriedAgainAtOnceAndTheSecondLater) {
  pods({"a", "b"});
  EXPECT_EQ(bound(cycle()), (Ids{"a", "b"}));
  tell(model::BindRefused{"a", 0, "webhook"});
  EXPECT_EQ(bound(cycle()), (Ids{"a"}));
  tell(model::BindRefused{"a", 1, "webhook"});
  const model::Plan plan = cycle();
  EXPECT_TRUE(plan.decisions.empty());
  EXPECT_LE(plan.next_wake, now_ + state_.config().retry_backoff_first);
  now_ = plan.next_wake;
  EXPECT_EQ(bound(cycle()), (Ids{"a"}));
}

TEST_F(PodsAwaited, WhoIsRefusedAgainAndAgainDoesNotStandInTheWayOfOthers) {
  pods({"a", "b"});
  cycle();
  for (const uint32_t life : {0U, 1U}) {
    tell(model::BindRefused{"a", life, "webhook"});
    tell(model::BindRefused{"b", life, "webhook"});
    cycle();
  }
  const model::NodeIx node = state_.inventory().find_node("n");
  EXPECT_EQ(state_.inventory().node(node).pod_count, 0U);
}

}  // namespace
}  // namespace mainspring::engine
