// SPDX-License-Identifier: Apache-2.0
// Who gives way to whom, case by case.
#include <algorithm>

#include <gtest/gtest.h>

#include "mainspring/engine/cycle.h"

namespace mainspring::engine {
namespace {

using base::Instant;
using model::Displace;
using model::Plan;

// Nodes with some GPUs, driven by hand; pods start and stop as the test says.
class DisplaceTest : public testing::Test {
 protected:
  template <class Body>
  void apply(Body body) {
    const auto ok = state_.apply({.sequence = ++sequence_, .at = now_, .body = body});
    ASSERT_TRUE(ok) << ok.error().message;
  }

  void add_node(const std::string& name, int gpus) {
    model::NodeSpec node{.name = name};
    node.allocatable.amounts = {64'000, int64_t{1} << 39, int64_t{1} << 40, 110};
    for (int gpu = 0; gpu < gpus; ++gpu) node.gpus.push_back({.id = "gpu-" + std::to_string(gpu)});
    apply(model::NodeChanged{node});
  }

  void add_queue(const std::string& name, int64_t quota_gpus) {
    model::QueueSpec queue{.name = name};
    queue.resources.push_back({.name = "gpu", .quota = quota_gpus * 1000});
    apply(model::QueueChanged{queue});
  }

  model::JobSpec job(const std::string& id, const std::string& queue, uint32_t pods, uint32_t gpus,
                     int32_t priority = 0) const {
    model::JobSpec spec{.id = id, .queue = queue, .priority = priority, .submitted_at = now_};
    spec.groups.push_back({.name = "all"});
    model::PodShape shape;
    shape.request.amounts = {1000, int64_t{1} << 30, 0, 1};
    shape.gpu.count = gpus;
    spec.shapes.push_back(shape);
    for (uint32_t i = 0; i < pods; ++i) {
      spec.pods.push_back({.id = id + "/" + std::to_string(i)});
    }
    return spec;
  }

  // Submits, and brings up what is bound.
  Plan submit(const model::JobSpec& spec) {
    apply(model::JobChanged{spec});
    return cycle();
  }

  Plan cycle() {
    const Plan plan = engine_.run_cycle(state_, now_);
    for (const model::Decision& decision : plan.decisions) {
      const auto* bind = std::get_if<model::Bind>(&decision);
      if (bind == nullptr) continue;
      for (const model::PodBinding& pod : bind->pods) {
        apply(model::PodBound{pod.pod, pod.incarnation});
        apply(model::PodStarted{pod.pod, pod.incarnation});
      }
    }
    state_.check();
    return plan;
  }

  void wait(int64_t seconds) {
    now_ = now_ + base::seconds(seconds);
    apply(model::Tick{});
  }

  // The victims' pods are gone.
  void stop(const Plan& plan) {
    const Displace* displace = displaced(plan);
    if (displace == nullptr) return;
    for (const model::Victim& victim : displace->victims) {
      for (const model::PodRelease& pod : victim.pods) {
        apply(model::PodGone{pod.pod, pod.incarnation, model::PodEnd::kLost});
      }
    }
  }

  static const Displace* displaced(const Plan& plan) {
    for (const model::Decision& decision : plan.decisions) {
      if (const auto* displace = std::get_if<Displace>(&decision)) return displace;
    }
    return nullptr;
  }

  static std::vector<std::string> victims(const Plan& plan) {
    std::vector<std::string> jobs;
    const Displace* displace = displaced(plan);
    if (displace == nullptr) return jobs;
    for (const model::Victim& victim : displace->victims) jobs.push_back(victim.job);
    return jobs;
  }

  static std::vector<std::string> bound(const Plan& plan) {
    std::vector<std::string> jobs;
    for (const model::Decision& decision : plan.decisions) {
      if (const auto* bind = std::get_if<model::Bind>(&decision)) jobs.push_back(bind->job);
    }
    return jobs;
  }

  using Names = std::vector<std::string>;

  model::ClusterState state_;
  Engine engine_;
  Instant now_{1000};
  uint64_t sequence_ = 0;
};

TEST_F(DisplaceTest, APlaceIsHeldForWhomItWasFreed) {
  add_node("n", 8);
  submit(job("low", "default", 1, 8));
  Plan plan = submit(job("high", "default", 1, 8, 5));
  EXPECT_EQ(victims(plan), Names{"low"});
  EXPECT_EQ(displaced(plan)->rule, model::DisplaceRule::kPreempt);
  EXPECT_EQ(engine_.verdict(state_, state_.find_job("high")).code, model::ReasonCode::kPromised);
  // A small job that comes now does not slip in, neither before nor after the victim is gone.
  EXPECT_TRUE(bound(submit(job("small", "default", 1, 1, 1))).empty());
  stop(plan);
  EXPECT_EQ(bound(cycle()), Names{"high"});
}

TEST_F(DisplaceTest, OnlyPromisesOfWhichAPlaceChangedAreAskedFor) {
  for (const char* node : {"n1", "n2", "n3"}) {
    add_node(node, 8);
    submit(job(std::string("low-") + node, "q", 1, 8));
  }
  std::vector<Plan> plans;
  for (const char* id : {"high-1", "high-2", "high-3"}) {
    plans.push_back(submit(job(id, "q", 1, 8, 10)));
    ASSERT_NE(displaced(plans.back()), nullptr);
  }
  cycle();  // what the search for room tried on the nodes counts as a change
  wait(1);
  cycle();
  EXPECT_EQ(engine_.last_cycle().promises_asked, 0);
  stop(plans[1]);
  EXPECT_EQ(bound(cycle()), Names{"high-2"});
  EXPECT_EQ(engine_.last_cycle().promises_asked, 1);
}

TEST_F(DisplaceTest, OnlyFromWhoHoldsTooMuchAndOnlyUpToOnesShare) {
  add_node("n", 8);
  add_queue("owner", 4);
  add_queue("borrower", 4);
  for (int i = 0; i < 8; ++i) submit(job("b" + std::to_string(i), "borrower", 1, 1));
  for (int i = 0; i < 4; ++i) {
    const Plan plan = submit(job("o" + std::to_string(i), "owner", 1, 1));
    ASSERT_EQ(victims(plan).size(), 1U);
    EXPECT_EQ(displaced(plan)->rule, model::DisplaceRule::kReclaim);
    stop(plan);
    EXPECT_EQ(bound(cycle()).size(), 1U);
  }
  EXPECT_EQ(displaced(submit(job("o4", "owner", 1, 1))), nullptr);
  EXPECT_EQ(state_.queues().row(state_.queues().find("owner")).held(0), 4000);
}

TEST_F(DisplaceTest, PodsAboveAMinimumGoBeforeWholeGangs) {
  add_node("n", 8);
  add_queue("owner", 4);
  add_queue("borrower", 4);
  model::JobSpec elastic = job("elastic", "borrower", 4, 1);
  elastic.groups[0].min_count = 2;
  submit(elastic);
  submit(job("gang", "borrower", 4, 1));
  const Plan plan = submit(job("mine", "owner", 2, 1));
  ASSERT_EQ(victims(plan), Names{"elastic"});
  EXPECT_FALSE(displaced(plan)->victims[0].whole);
  EXPECT_EQ(displaced(plan)->victims[0].pods.size(), 2U);
  stop(plan);
  EXPECT_EQ(bound(cycle()), Names{"mine"});
  EXPECT_EQ(state_.job(state_.find_job("elastic")).pods_holding, 2U);
}

TEST_F(DisplaceTest, TheLeastWorkIsLost) {
  add_node("n", 2);
  model::JobSpec saved = job("saved", "default", 1, 1);
  saved.checkpoint_interval = base::seconds(600);
  submit(saved);
  submit(job("unsaved", "default", 1, 1));
  wait(3000);
  const Plan plan = submit(job("high", "default", 1, 1, 1));
  ASSERT_EQ(victims(plan), Names{"saved"});
  EXPECT_EQ(displaced(plan)->victims[0].lost_gpu_ms, 0);
  ASSERT_EQ(displaced(plan)->alternatives.size(), 0U);
}

// One pod needs the whole node x, the other fits on f as well as on y: y need not go.
TEST_F(DisplaceTest, WhoNeedNotGoStays) {
  add_node("f", 8);
  add_node("x", 8);
  add_node("y", 4);
  model::JobSpec firm = job("firm", "default", 1, 4);
  firm.preemptible = false;
  firm.shapes[0].node_requirements.push_back(
      {.key = "never", .op = model::SelectorOp::kDoesNotExist, .values = {}});
  submit(firm);
  submit(job("one", "default", 1, 8));
  submit(job("two", "default", 1, 4));
  model::JobSpec gang = job("gang", "default", 2, 8, 1);
  gang.shapes.push_back(gang.shapes[0]);
  gang.shapes[1].gpu.count = 4;
  gang.pods[1].shape = 1;
  const Plan plan = submit(gang);
  ASSERT_NE(displaced(plan), nullptr);
  EXPECT_EQ(victims(plan), Names{"one"});
}

TEST_F(DisplaceTest, ProtectionEndsInTime) {
  add_node("n", 1);
  add_queue("owner", 1);
  model::QueueSpec queue{.name = "borrower"};
  queue.resources.push_back({.name = "gpu", .quota = 0});
  queue.min_run_before_reclaim = base::seconds(100);
  apply(model::QueueChanged{queue});
  submit(job("b", "borrower", 1, 1));
  Plan plan = submit(job("o", "owner", 1, 1));
  EXPECT_EQ(displaced(plan), nullptr);
  EXPECT_EQ(plan.next_wake, now_ + base::seconds(100));
  wait(100);
  EXPECT_EQ(victims(cycle()), Names{"b"});
}

TEST_F(DisplaceTest, AFreshJobWaitsBeforeItDisplaces) {
  add_node("n", 1);
  model::QueueSpec queue{.name = "q"};
  queue.resources.push_back({.name = "gpu", .quota = 1000});
  queue.displace_after = base::seconds(60);
  apply(model::QueueChanged{queue});
  submit(job("low", "q", 1, 1));
  EXPECT_EQ(displaced(submit(job("high", "q", 1, 1, 1))), nullptr);
  wait(60);
  EXPECT_EQ(victims(cycle()), Names{"low"});
}

TEST_F(DisplaceTest, WorkThatCannotBeDisplacedStaysWithinQuota) {
  add_node("n", 4);
  add_queue("q", 2);
  add_queue("other", 2);
  model::JobSpec firm = job("firm", "q", 1, 2);
  firm.preemptible = false;
  EXPECT_EQ(bound(submit(firm)), Names{"firm"});
  model::JobSpec more = job("more", "q", 1, 1, 9);
  more.preemptible = false;
  submit(more);
  EXPECT_EQ(engine_.verdict(state_, state_.find_job("more")).code, model::ReasonCode::kQueueQuota);
  submit(job("high", "q", 1, 4, 9));
  EXPECT_EQ(state_.job(state_.find_job("firm")).pods_holding, 1U);
}

TEST_F(DisplaceTest, ThePreemptedOfNobodyWhoMayNot) {
  add_node("n", 1);
  submit(job("low", "default", 1, 1));
  model::JobSpec polite = job("polite", "default", 1, 1, 9);
  polite.may_displace = false;
  EXPECT_EQ(displaced(submit(polite)), nullptr);
}

// The third time within twelve hours, by work beyond its queue's quota.
TEST_F(DisplaceTest, TheThirdTimeIsRefused) {
  add_node("n", 1);
  model::QueueSpec queue{.name = "q"};
  queue.resources.push_back({.name = "gpu", .quota = 0});
  apply(model::QueueChanged{queue});
  submit(job("tired", "q", 1, 1));
  for (int time = 0; time < 3; ++time) {
    wait(600);
    const std::string id = "high-" + std::to_string(time);
    const Plan plan = submit(job(id, "q", 1, 1, 1));
    if (time == 2) {
      EXPECT_EQ(displaced(plan), nullptr);
      break;
    }
    ASSERT_EQ(victims(plan), Names{"tired"});
    stop(plan);
    ASSERT_EQ(bound(cycle()), Names{id});
    apply(model::PodGone{id + "/0", 0, model::PodEnd::kSucceeded});
    ASSERT_EQ(bound(cycle()), Names{"tired"});
  }
}

TEST_F(DisplaceTest, WhoWasDisplacedInVainGoesFirst) {
  add_node("n", 2);
  submit(job("a", "default", 1, 1));
  submit(job("b", "default", 1, 1));
  Plan plan = submit(job("high", "default", 1, 2, 5));
  ASSERT_EQ(victims(plan), (Names{"a", "b"}));
  // Only one of them stops; the promise ends, and the books say so.
  apply(model::PodGone{"a/0", 0, model::PodEnd::kLost});
  EXPECT_TRUE(bound(cycle()).empty());
  wait(300);
  plan = cycle();
  const auto* ended = std::get_if<model::PromiseEnded>(&plan.decisions.at(0));
  ASSERT_NE(ended, nullptr);
  EXPECT_EQ(ended->why, model::PromiseEnd::kLate);
  EXPECT_EQ(bound(plan), Names{"a"});
}

TEST_F(DisplaceTest, OthersAreMovedToMakeAHole) {
  add_node("m", 8);
  add_node("n", 8);
  for (int i = 0; i < 8; ++i) submit(job("j" + std::to_string(i), "default", 1, 2));
  // One place of two GPUs comes free on each node.
  for (const char* name : {"m", "n"}) {
    const model::PodIx pod = state_.inventory().node(state_.inventory().find_node(name)).first_pod;
    apply(model::PodGone{state_.pod(pod).id, 0, model::PodEnd::kSucceeded});
  }
  const Plan plan = submit(job("large", "default", 1, 4));
  ASSERT_EQ(victims(plan).size(), 1U);
  EXPECT_EQ(displaced(plan)->rule, model::DisplaceRule::kConsolidate);
  EXPECT_EQ(displaced(plan)->promised.size(), 2U);
  stop(plan);
  Names both = bound(cycle());
  std::ranges::sort(both);
  EXPECT_EQ(both.size(), 2U);
}

}  // namespace
}  // namespace mainspring::engine
