// SPDX-License-Identifier: Apache-2.0
#include "mainspring/policy/admission.h"

#include "mainspring/policy/queue_world_for_tests.h"

namespace mainspring::policy {
namespace {

using model::ReasonCode;
using model::Verdict;
using model::VerdictKind;

// Eight GPUs; `org` may use six, and its `team` owns two and may use four.
class AdmissionTest : public QueueWorld {
 protected:
  AdmissionTest() {
    add_node("n", 8);
    model::QueueSpec org = gpu_queue("org", 4);
    org.resources[0].limit = 6000;
    model::QueueSpec team = gpu_queue("team", 2, "org");
    team.resources[0].limit = 4000;
    for (const model::QueueSpec& spec : {org, team}) apply(model::QueueChanged{spec});
  }
  Verdict admitted(const model::JobSpec& spec) { return admit(state_, shares(), submit(spec)); }
  void expect(const Verdict& verdict, VerdictKind kind, ReasonCode code, const char* culprit) {
    EXPECT_EQ(verdict.kind, kind);
    EXPECT_EQ(verdict.code, code);
    EXPECT_EQ(verdict.culprit, culprit);
  }
  static model::JobSpec firm(model::JobSpec spec) {
    spec.preemptible = false;
    return spec;
  }
};

TEST_F(AdmissionTest, OnlyLeavesOfTheTreeTakeJobs) {
  EXPECT_EQ(admitted(job("fine", "team", 1, 1)).kind, VerdictKind::kNow);
  expect(admitted(job("lost", "temm", 1, 1)), VerdictKind::kNever, ReasonCode::kUnknownQueue,
         "temm");
  expect(admitted(job("high", "org", 1, 1)), VerdictKind::kNever, ReasonCode::kQueueNotLeaf, "org");
  add_queue("orphan", 1, "nowhere");
  expect(admitted(job("sad", "orphan", 1, 1)), VerdictKind::kNever, ReasonCode::kUnknownQueue,
         "orphan");
  for (const char* name : {"team", "org", "orphan"}) apply(model::QueueGone{name});
  EXPECT_EQ(admit(state_, shares(), state_.find_job("lost")).kind, VerdictKind::kNow)
      << "there is no tree";
}

TEST_F(AdmissionTest, TenantsUseTheQueuesThatAreTheirs) {
  model::QueueSpec org = gpu_queue("org", 4);
  org.tenants = {"red", "blue"};
  model::QueueSpec team = gpu_queue("team", 2, "org");
  team.tenants = {"red", "green"};
  for (const model::QueueSpec& spec : {org, team}) apply(model::QueueChanged{spec});
  add_queue("open", 2, "org");
  const auto verdict_of = [&](const char* tenant, const char* queue) {
    model::JobSpec spec = job(std::string(tenant) + "-" + queue, queue, 1, 1);
    spec.tenant = tenant;
    return admitted(spec);
  };
  EXPECT_EQ(verdict_of("red", "team").kind, VerdictKind::kNow);
  EXPECT_EQ(verdict_of("blue", "open").kind, VerdictKind::kNow);
  expect(verdict_of("blue", "team"), VerdictKind::kNever, ReasonCode::kQueueForbidden, "team");
  expect(verdict_of("green", "team"), VerdictKind::kNever, ReasonCode::kQueueForbidden, "team");
  expect(verdict_of("", "open"), VerdictKind::kNever, ReasonCode::kQueueForbidden, "open");
}

TEST_F(AdmissionTest, LimitsOfEveryQueueAbove) {
  expect(admitted(job("huge", "team", 1, 5)), VerdictKind::kNever, ReasonCode::kQueueLimit, "team");
  run(job("first", "team", 3, 1));
  EXPECT_EQ(admitted(job("one", "team", 1, 1)).kind, VerdictKind::kNow);
  expect(admitted(job("two", "team", 2, 1)), VerdictKind::kNotNow, ReasonCode::kQueueLimit, "team");
  add_queue("other", 0, "org");
  expect(admitted(job("next", "other", 4, 1)), VerdictKind::kNotNow, ReasonCode::kQueueLimit,
         "org");
  expect(admitted(job("vast", "other", 7, 1)), VerdictKind::kNever, ReasonCode::kQueueLimit, "org");
  // Only the minimum has to fit.
  model::JobSpec elastic = job("elastic", "team", 4, 1);
  elastic.groups[0].min_count = 1;
  EXPECT_EQ(admitted(elastic).kind, VerdictKind::kNow);
  // Whatever is not shared out has no limit.
  EXPECT_EQ(admitted(job("cpu", "team", 1, 0)).kind, VerdictKind::kNow);
}

TEST_F(AdmissionTest, WhatStopsStillCountsTowardsLimits) {
  run(job("first", "team", 3, 1));
  apply(model::PodStopping{"first-0", 0});
  expect(admitted(job("two", "team", 2, 1)), VerdictKind::kNotNow, ReasonCode::kQueueLimit, "team");
  apply(model::PodGone{"first-0", 0, model::PodEnd::kSucceeded});
  EXPECT_EQ(admit(state_, shares(), state_.find_job("two")).kind, VerdictKind::kNow);
}

TEST_F(AdmissionTest, WorkThatCannotBeDisplacedStaysWithinQuota) {
  EXPECT_EQ(admitted(job("soft", "team", 3, 1)).kind, VerdictKind::kNow);
  expect(admitted(firm(job("hard", "team", 3, 1))), VerdictKind::kNever, ReasonCode::kQueueQuota,
         "team");
  run(job("soft", "team", 3, 1));
  EXPECT_EQ(admitted(firm(job("small", "team", 1, 1))).kind, VerdictKind::kNow)
      << "what can be displaced does not count";
  run(firm(job("small", "team", 1, 1)));
  apply(model::JobGone{"soft"});
  for (const char* pod : {"soft-0", "soft-1", "soft-2"}) {
    apply(model::PodGone{pod, 0, model::PodEnd::kRemoved});
  }
  expect(admitted(firm(job("pair", "team", 2, 1))), VerdictKind::kNotNow, ReasonCode::kQueueQuota,
         "team");
}

// Which pods above a minimum are placed, and on which device, is known only then.
TEST_F(AdmissionTest, LimitsAreAskedAgainOncePlaced) {
  model::JobSpec elastic = job("elastic", "team", 5, 1);
  elastic.groups[0].min_count = 1;
  const model::JobIx index = submit(elastic);
  const auto within_with = [&](size_t pods) {
    model::Trial trial(state_);
    for (size_t i = 0; i < pods; ++i) {
      trial.place(state_.job(index).pods[i], state_.inventory().find_node("n"),
                  model::DeviceMask{1} << i, {now_});
    }
    return within_limits(state_, shares(), index);
  };
  EXPECT_TRUE(within_with(4));
  EXPECT_FALSE(within_with(5));
  submit(firm(elastic));
  EXPECT_TRUE(within_with(2));
  EXPECT_FALSE(within_with(3));
}

}  // namespace
}  // namespace mainspring::policy
