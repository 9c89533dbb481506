// SPDX-License-Identifier: Apache-2.0
// Every rule about displacements, promises and queues is broken here once, on purpose.
#include <gtest/gtest.h>

#include "mainspring/sim/checker.h"

namespace mainspring::sim {
namespace {

using base::Instant;
using model::DisplaceRule;

model::NodeSpec node_of(const std::string& name) {
  model::NodeSpec node{.name = name};
  node.allocatable.amounts = {4000, 1 << 30, 1 << 30, 10};
  node.gpus = {{.id = "g0", .model = "A", .memory_bytes = 1000},
               {.id = "g1", .model = "A", .memory_bytes = 1000}};
  return node;
}

model::JobSpec job_of(const std::string& id, const std::string& queue, int pods, uint32_t min) {
  model::JobSpec job{.id = id, .queue = queue};
  job.groups.push_back({.name = "all", .min_count = min});
  model::PodShape& shape = job.shapes.emplace_back();
  shape.request.amounts = {1000, 1000, 0, 1};
  shape.gpu = {.count = 1, .models = {"A"}};
  for (int i = 0; i < pods; ++i) job.pods.push_back({.id = id + "-" + std::to_string(i)});
  return job;
}

// Job `low` holds both devices of n0, `elastic` both of n1 with a minimum of one; `high` waits.
class CheckerDisplaceTest : public testing::Test {
 protected:
  CheckerDisplaceTest() {
    apply(model::ConfigChanged{});
    model::QueueSpec all{.name = "all"};
    all.resources = {{.name = "gpu", .quota = 4000, .limit = 4000}};
    model::QueueSpec team{.name = "team", .parent = "all"};
    team.resources = {{.name = "gpu", .quota = 2000, .limit = 4000}};
    model::QueueSpec other{.name = "other", .parent = "all"};
    other.resources = {{.name = "gpu", .quota = 2000, .limit = 3000}};
    for (const model::QueueSpec& queue : {all, team, other}) apply(model::QueueChanged{queue});
    apply(model::NodeChanged{node_of("n0")});
    apply(model::NodeChanged{node_of("n1")});
    apply(model::JobChanged{job_of("low", "team", 2, 0)});
    apply(model::JobChanged{job_of("elastic", "team", 2, 1)});
    judge(model::Bind{"low", {{"low-0", 0, "n0", {"g0"}}, {"low-1", 0, "n0", {"g1"}}}});
    judge(model::Bind{"elastic", {{"elastic-0", 0, "n1", {"g0"}}, {"elastic-1", 0, "n1", {"g1"}}}});
    model::JobSpec high = job_of("high", "team", 2, 0);
    high.priority = 5;
    apply(model::JobChanged{high});
    EXPECT_EQ(checker_.violation_count(), 0);
  }

  void apply(model::EventBody body) {
    checker_.observe({.sequence = ++sequence_, .at = now_, .body = std::move(body)}, true, now_);
  }
  void judge(model::Decision decision) {
    model::Plan plan;
    plan.decisions.push_back(std::move(decision));
    checker_.judge(plan, now_);
  }
  int64_t judged(model::Decision decision, Rule rule) {
    const int64_t before = checker_.count(rule);
    judge(std::move(decision));
    return checker_.count(rule) - before;
  }

  static model::Displace good() {
    model::Victim victim{.job = "low", .queue = "team", .pods = {{"low-0", 0}, {"low-1", 0}}};
    return {.job = "high",
            .queue = "team",
            .victims = {victim},
            .promised = {{"high-0", 0, "n0", {"g0"}}, {"high-1", 0, "n0", {"g1"}}},
            .until = Instant{300'000}};
  }
  static model::Bind kept() {
    return {"high", {{"high-0", 0, "n0", {"g0"}}, {"high-1", 0, "n0", {"g1"}}}};
  }
  void victims_go() {
    apply(model::PodGone{"low-0", 0, model::PodEnd::kLost});
    apply(model::PodGone{"low-1", 0, model::PodEnd::kLost});
  }

  Checker checker_{1};
  model::ClusterState empty_;
  Instant now_;
  uint64_t sequence_ = 0;
};

TEST_F(CheckerDisplaceTest, APromiseThatIsKeptIsClean) {
  judge(good());
  victims_go();
  judge(kept());
  EXPECT_EQ(checker_.violation_count(), 0);
}

TEST_F(CheckerDisplaceTest, APromiseThatEndsLateIsClean) {
  judge(good());
  now_ = Instant{300'000};
  judge(model::PromiseEnded{"high", model::PromiseEnd::kLate, Instant{310'000}});
  victims_go();
  EXPECT_EQ(checker_.violation_count(), 0);
  EXPECT_EQ(judged(kept(), Rule::kBackoffIgnored), 1);
}

TEST_F(CheckerDisplaceTest, VictimsThatCannotBe) {
  model::JobSpec firm = job_of("low", "team", 2, 0);
  firm.preemptible = false;
  apply(model::JobChanged{firm});
  EXPECT_EQ(judged(good(), Rule::kWrongVictim), 1);
}

TEST_F(CheckerDisplaceTest, VictimsThatStopAlready) {
  judge(good());
  model::Displace again = good();
  again.promised.clear();
  EXPECT_EQ(judged(again, Rule::kWrongVictim), 3) << "the job and each pod";
  model::Displace unknown = good();
  unknown.victims[0].job = "ghost";
  EXPECT_EQ(judged(unknown, Rule::kUnknownName), 1);
}

TEST_F(CheckerDisplaceTest, VictimsThatAreTheWinner) {
  judge(good());
  victims_go();
  judge(kept());
  model::Displace self = good();
  self.victims = {{.job = "high", .rule = DisplaceRule::kReclaim}};
  self.victims[0].pods = {{"high-0", 0}, {"high-1", 0}};
  EXPECT_EQ(judged(self, Rule::kWrongVictim), 1);
}

TEST_F(CheckerDisplaceTest, TooLittleOfAWholeJob) {
  model::Displace part = good();
  part.victims[0].pods.pop_back();
  EXPECT_EQ(judged(part, Rule::kWrongVictim), 1);
}

TEST_F(CheckerDisplaceTest, TooMuchOfAnElasticJob) {
  model::Displace part = good();
  part.victims[0] = {.job = "elastic", .pods = {{"elastic-0", 0}}, .whole = false};
  part.promised = {{"high-0", 0, "n1", {"g0"}}};
  EXPECT_EQ(judged(part, Rule::kWrongVictim), 0);
  model::Displace rest = good();
  rest.victims[0] = {.job = "elastic", .pods = {{"elastic-1", 0}}, .whole = false};
  EXPECT_EQ(judged(rest, Rule::kWrongVictim), 1);
}

TEST_F(CheckerDisplaceTest, WinnersThatMayNot) {
  model::JobSpec meek = job_of("high", "team", 2, 0);
  meek.priority = 5;
  meek.may_displace = false;
  apply(model::JobChanged{meek});
  EXPECT_EQ(judged(good(), Rule::kWrongRight), 1);
}

TEST_F(CheckerDisplaceTest, WinnersWithoutARight) {
  apply(model::JobChanged{job_of("high", "team", 2, 0)});
  EXPECT_EQ(judged(good(), Rule::kWrongRight), 1) << "no higher priority";
}

TEST_F(CheckerDisplaceTest, WinnersOfTheWrongQueue) {
  model::Displace reclaim = good();
  reclaim.victims[0].rule = DisplaceRule::kReclaim;
  EXPECT_EQ(judged(reclaim, Rule::kWrongRight), 1) << "of the same queue";
}

TEST_F(CheckerDisplaceTest, WinnersOfAnotherQueue) {
  model::JobSpec foreign = job_of("high", "other", 2, 0);
  foreign.priority = 5;
  apply(model::JobChanged{foreign});
  EXPECT_EQ(judged(good(), Rule::kWrongRight), 1) << "a preemption across queues";
}

TEST_F(CheckerDisplaceTest, PromisesWithoutAVictim) {
  model::Displace none = good();
  none.victims.clear();
  EXPECT_EQ(judged(none, Rule::kWrongPromise), 2) << "nobody stops, and it does not fit";
}

TEST_F(CheckerDisplaceTest, WhatOthersLeaveAnyway) {
  judge(good());
  now_ = Instant{300'000};
  judge(model::PromiseEnded{"high", model::PromiseEnd::kLate, now_});
  model::Displace hold = good();
  hold.victims.clear();
  hold.rule = DisplaceRule::kHold;
  hold.until = Instant{600'000};
  EXPECT_EQ(judged(hold, Rule::kWrongPromise), 0);
  judge(model::PromiseEnded{"high", model::PromiseEnd::kBroken, now_});
  model::Displace both = good();
  both.rule = DisplaceRule::kHold;
  EXPECT_EQ(judged(both, Rule::kWrongPromise), 1);
}

TEST_F(CheckerDisplaceTest, ADisplacedJobMayDisplaceAtOnce) {
  judge(good());
  apply(model::NodeChanged{node_of("n2")});
  model::JobSpec idle = job_of("idle", "other", 2, 0);
  apply(model::JobChanged{idle});
  judge(model::Bind{"idle", {{"idle-0", 0, "n2", {"g0"}}, {"idle-1", 0, "n2", {"g1"}}}});
  model::Displace turn{.job = "low", .queue = "team", .rule = DisplaceRule::kReclaim};
  turn.victims = {{.job = "idle", .rule = DisplaceRule::kReclaim}};
  turn.victims[0].pods = {{"idle-0", 0}, {"idle-1", 0}};
  turn.promised = {{"low-0", 1, "n2", {"g0"}}, {"low-1", 1, "n2", {"g1"}}};
  turn.until = Instant{300'000};
  judge(turn);
  EXPECT_EQ(checker_.count(Rule::kBackoffIgnored), 0);
  EXPECT_EQ(checker_.count(Rule::kWrongPromise), 0);
}

TEST_F(CheckerDisplaceTest, PromisesThatDoNotFit) {
  model::Displace elsewhere = good();
  for (model::PodBinding& place : elsewhere.promised) place.node = "n1";
  EXPECT_EQ(judged(elsewhere, Rule::kWrongPromise), 1);
}

TEST_F(CheckerDisplaceTest, PromisesOfUnsuitablePlaces) {
  apply(model::GpuSampled{.node = "n0", .gpu = "g0", .healthy = false});
  EXPECT_EQ(judged(good(), Rule::kWrongPromise), 1);
}

TEST_F(CheckerDisplaceTest, PromisesOfNothing) {
  model::Displace nothing = good();
  nothing.promised.clear();
  EXPECT_EQ(judged(nothing, Rule::kWrongPromise), 1);
}

TEST_F(CheckerDisplaceTest, PromisesBelowTheMinimum) {
  model::Displace half = good();
  half.promised.pop_back();
  EXPECT_EQ(judged(half, Rule::kWrongPromise), 1);
}

TEST_F(CheckerDisplaceTest, MovesWithoutANewPlace) {
  model::Displace move = good();
  move.victims[0].rule = DisplaceRule::kConsolidate;
  EXPECT_EQ(judged(move, Rule::kWrongPromise), 1);
}

TEST_F(CheckerDisplaceTest, PromisesThatAreNotKept) {
  judge(good());
  victims_go();
  model::Bind other = kept();
  std::swap(other.pods[0].gpus, other.pods[1].gpus);
  EXPECT_EQ(judged(other, Rule::kPromiseNotKept), 1);
}

TEST_F(CheckerDisplaceTest, PromisedPlacesGivenToOthers) {
  judge(good());
  victims_go();
  const model::Bind back{"low", {{"low-0", 1, "n0", {"g0"}}, {"low-1", 1, "n0", {"g1"}}}};
  EXPECT_EQ(judged(back, Rule::kWrongDevice), 2);
}

TEST_F(CheckerDisplaceTest, PromisesThatAreOverdue) {
  judge(good());
  now_ = Instant{301'000};
  checker_.inspect(empty_, nullptr, now_);
  EXPECT_EQ(checker_.count(Rule::kPromiseOverdue), 0);
  now_ = Instant{302'000};
  checker_.inspect(empty_, nullptr, now_);
  EXPECT_EQ(checker_.count(Rule::kPromiseOverdue), 1);
}

TEST_F(CheckerDisplaceTest, PromisesThatEndTooSoon) {
  judge(good());
  EXPECT_EQ(judged(model::PromiseEnded{"high"}, Rule::kWrongPromise), 1);
}

TEST_F(CheckerDisplaceTest, TheThirdTime) {
  // The team holds its quota and more, so each is by work beyond it.
  int64_t reports = 0;
  for (uint32_t life = 0; life < 3; ++life) {
    model::Displace displace = good();
    for (model::PodRelease& pod : displace.victims[0].pods) pod.incarnation = life;
    reports += judged(displace, Rule::kDisplacedTooOften);
    EXPECT_EQ(reports, life < 2 ? 0 : 1);
    apply(model::PodGone{"low-0", life, model::PodEnd::kLost});
    apply(model::PodGone{"low-1", life, model::PodEnd::kLost});
    now_ = displace.until;
    judge(model::PromiseEnded{"high", model::PromiseEnd::kLate, now_});
    judge(
        model::Bind{"low", {{"low-0", life + 1, "n0", {"g0"}}, {"low-1", life + 1, "n0", {"g1"}}}});
  }
  EXPECT_EQ(reports, 1);
}

TEST_F(CheckerDisplaceTest, QueuesBeyondTheirLimit) {
  model::QueueSpec team{.name = "team", .parent = "all"};
  team.resources = {{.name = "gpu", .quota = 1000, .limit = 3000}};
  apply(model::QueueChanged{team});
  apply(model::NodeChanged{node_of("n2")});
  const model::Bind bind{"high", {{"high-0", 0, "n2", {"g0"}}, {"high-1", 0, "n2", {"g1"}}}};
  EXPECT_EQ(judged(bind, Rule::kQueueLimit), 2) << "its own, and that of all";
}

TEST_F(CheckerDisplaceTest, FirmWorkBeyondTheQuota) {
  apply(model::NodeChanged{node_of("n2")});
  apply(model::NodeChanged{node_of("n3")});
  model::JobSpec firm = job_of("firm", "other", 3, 0);
  firm.preemptible = false;
  apply(model::JobChanged{firm});
  const model::Bind bind{
      "firm",
      {{"firm-0", 0, "n2", {"g0"}}, {"firm-1", 0, "n2", {"g1"}}, {"firm-2", 0, "n3", {"g0"}}}};
  EXPECT_EQ(judged(bind, Rule::kQueueQuota), 1);
}

// Half of the half that all have: two of eight devices.
TEST_F(CheckerDisplaceTest, FirmWorkBeyondAQuotaInPercent) {
  for (const char* name : {"n2", "n3"}) apply(model::NodeChanged{node_of(name)});
  model::QueueSpec all{.name = "all"};
  all.resources = {{.name = "gpu", .quota_ppm = 500'000}};
  model::QueueSpec other{.name = "other", .parent = "all"};
  other.resources = {{.name = "gpu", .quota_ppm = 500'000}};
  for (const model::QueueSpec& queue : {all, other}) apply(model::QueueChanged{queue});
  for (const std::string id : {"firm", "more"}) {
    model::JobSpec job = job_of(id, "other", id == "firm" ? 2 : 1, 0);
    job.preemptible = false;
    apply(model::JobChanged{job});
  }
  const model::Bind within{"firm", {{"firm-0", 0, "n2", {"g0"}}, {"firm-1", 0, "n2", {"g1"}}}};
  EXPECT_EQ(judged(within, Rule::kQueueQuota), 0);
  EXPECT_EQ(judged(model::Bind{"more", {{"more-0", 0, "n3", {"g0"}}}}, Rule::kQueueQuota), 1);
  // A device that fails is owned by nobody.
  apply(model::GpuSampled{.node = "n3", .gpu = "g1", .healthy = false});
  apply(model::PodGone{"more-0", 0, model::PodEnd::kLost});
  apply(model::PodGone{"firm-0", 0, model::PodEnd::kLost});
  EXPECT_EQ(judged(model::Bind{"more", {{"more-0", 1, "n3", {"g0"}}}}, Rule::kQueueQuota), 1);
}

}  // namespace
}  // namespace mainspring::sim
