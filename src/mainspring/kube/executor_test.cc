// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mainspring/kube/annotations.h"
#include "mainspring/kube/scripted_transport_for_tests.h"
#include "mainspring/kube/world_for_tests.h"

namespace mainspring::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ExecutorTest : public testing::Test {
 protected:
  ExecutorTest()
      : metrics_("test"),
        recorder_(transport_, clock_, {}),
        executor_({transport_, clock_, world_.book, world_.state, recorder_, metrics_},
                  {.binds_parallel = 2}) {
    world_.now = clock_.now();
    world_.book.node_seen(gpu_node("n1", 8));
  }

  void gang(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      PodObject pod = gpu_pod(name, 1);
      pod.meta.annotations[std::string(annotation::kGroup)] = "g";
      pod.meta.annotations[std::string(annotation::kMinCount)] = std::to_string(names.size());
      world_.book.pod_seen(pod);
    }
  }
  void decide() {
    world_.flush();
    executor_.take_on(world_.cycle());
    executor_.tick(clock_.now());
  }
  void answer(int status, const std::string& body = "{}") {
    transport_.answer(HttpReply{.status = status, .body = body});
    executor_.tick(clock_.now());
  }
  std::vector<std::string> outcomes() {
    std::vector<std::string> words;
    for (const model::EventBody& body : executor_.take_outcomes()) {
      words.push_back(TestWorld::word_of(body));
    }
    return words;
  }
  std::string target(size_t index = 0) const { return transport_.sent.at(index).request.target; }

  TestWorld world_;
  ManualClock clock_;
  ScriptedTransport transport_;
  report::SchedulerMetrics metrics_;
  EventRecorder recorder_;
  Executor executor_;
};

TEST_F(ExecutorTest, BindsABoundedNumberAtOnce) {
  gang({"a", "b", "c"});
  decide();
  ASSERT_THAT(transport_.sent, SizeIs(2));
  EXPECT_EQ(target(), "/api/v1/namespaces/team/pods/a/binding");
  // The third waits for an answer; looking again earlier would be in vain.
  EXPECT_EQ(executor_.next_deadline(), base::Instant::never());
  EXPECT_THAT(transport_.sent[0].request.body, HasSubstr(R"("uid":"0000a-0000-0000")"));
  EXPECT_THAT(transport_.sent[0].request.body, HasSubstr(R"("mainspring.dev/gpus":"gpu-0")"));
  answer(201);
  ASSERT_THAT(transport_.sent, SizeIs(2));
  EXPECT_EQ(target(1), "/api/v1/namespaces/team/pods/c/binding");
  answer(201);
  answer(201);
  EXPECT_THAT(outcomes(), ElementsAre("bound team/pod/a@0000a-00", "bound team/pod/b@0000b-00",
                                      "bound team/pod/c@0000c-00"));
  EXPECT_TRUE(executor_.idle());
}

TEST_F(ExecutorTest, AGangIsToldOfOnce) {
  gang({"a", "b"});
  decide();
  answer(201);
  answer(201);
  recorder_.tick(clock_.now());
  ASSERT_THAT(transport_.sent, SizeIs(1));
  EXPECT_THAT(target(), HasSubstr("/apis/events.k8s.io/v1/namespaces/team/events"));
  EXPECT_THAT(transport_.sent[0].request.body, HasSubstr("2 pods of team/group/g"));
}

TEST_F(ExecutorTest, ASinglePodHasNoEvent) {
  world_.book.pod_seen(gpu_pod("a", 1));
  decide();
  answer(201);
  recorder_.tick(clock_.now());
  EXPECT_THAT(transport_.sent, IsEmpty());
}

TEST_F(ExecutorTest, AWriteOfUnknownFateIsTriedAgainAndAConflictThenIsSuccess) {
  world_.book.pod_seen(gpu_pod("a", 1));
  decide();
  transport_.answer(base::failure(base::ErrorCode::kUnavailable, "cut"));
  executor_.tick(clock_.now());
  EXPECT_THAT(transport_.sent, IsEmpty());
  EXPECT_THAT(outcomes(), IsEmpty());
  clock_.advance(base::seconds(1));
  EXPECT_LE(executor_.next_deadline(), clock_.now());
  executor_.tick(clock_.now());
  ASSERT_THAT(transport_.sent, SizeIs(1));
  answer(409);
  EXPECT_THAT(outcomes(), ElementsAre("bound team/pod/a@0000a-00"));
}

TEST_F(ExecutorTest, AConflictAtOnceIsSomebodyElse) {
  world_.book.pod_seen(gpu_pod("a", 1));
  decide();
  answer(409);
  EXPECT_THAT(outcomes(), ElementsAre("refused team/pod/a@0000a-00"));
}

TEST_F(ExecutorTest, ARefusalIsToldToPeople) {
  world_.book.pod_seen(gpu_pod("a", 1));
  decide();
  answer(403, R"({"message":"admission webhook denied the request"})");
  EXPECT_THAT(outcomes(), ElementsAre("refused team/pod/a@0000a-00"));
  recorder_.tick(clock_.now());
  ASSERT_THAT(transport_.sent, SizeIs(1));
  EXPECT_THAT(transport_.sent[0].request.body, HasSubstr("FailedBinding"));
  EXPECT_THAT(transport_.sent[0].request.body, HasSubstr("admission webhook denied"));
}

TEST_F(ExecutorTest, GivesUpAfterAFewTries) {
  world_.book.pod_seen(gpu_pod("a", 1));
  decide();
  int tries = 0;
  while (!transport_.sent.empty()) {
    ++tries;
    answer(503);
    clock_.advance(base::seconds(20));
    executor_.tick(clock_.now());
  }
  EXPECT_EQ(tries, 6);
  EXPECT_THAT(outcomes(), ElementsAre("refused team/pod/a@0000a-00"));
}

TEST_F(ExecutorTest, WhatIsNoLongerPlannedIsNotSent) {
  gang({"a", "b", "c"});
  decide();
  // The third was not sent yet, and its pod goes away.
  world_.book.pod_gone([] {
    PodObject pod = gpu_pod("c", 1);
    return pod;
  }());
  world_.flush();
  answer(201);
  answer(201);
  EXPECT_THAT(transport_.sent, IsEmpty());
}

TEST_F(ExecutorTest, AReleaseUndoesWhatIsBoundAndForgetsWhatIsNot) {
  gang({"a", "b", "c"});
  decide();
  answer(201);
  for (model::EventBody& body : executor_.take_outcomes()) world_.tell(std::move(body));
  world_.now = world_.now + base::seconds(61);
  clock_.advance(base::seconds(61));
  executor_.take_on(world_.cycle());
  executor_.tick(clock_.now());
  // a is bound and told to go; b and c are on their way.
  ASSERT_THAT(transport_.sent, SizeIs(3));
  EXPECT_EQ(target(2), "/api/v1/namespaces/team/pods/a/eviction");
  EXPECT_THAT(transport_.sent[2].request.body, HasSubstr(R"("uid":"0000a-0000-0000")"));
  answer(201);  // b was bound after all
  answer(500);  // nobody knows about c, and nobody wants to
  EXPECT_THAT(outcomes(), ElementsAre("bound team/pod/b@0000b-00", "gone team/pod/c@0000c-00"));
  ASSERT_THAT(transport_.sent, SizeIs(2));
  EXPECT_EQ(target(1), "/api/v1/namespaces/team/pods/b/eviction");
}

TEST_F(ExecutorTest, ABudgetPutsAnEvictionOff) {
  gang({"a", "b"});
  decide();
  answer(201);
  for (model::EventBody& body : executor_.take_outcomes()) world_.tell(std::move(body));
  transport_.sent.clear();
  world_.now = world_.now + base::seconds(61);
  executor_.take_on(world_.cycle());
  executor_.tick(clock_.now());
  ASSERT_THAT(transport_.sent, SizeIs(1));
  answer(429,
         R"({"message":"Cannot evict pod","details":{"causes":[{"reason":"DisruptionBudget"}]}})");
  EXPECT_THAT(transport_.sent, IsEmpty());
  clock_.advance(base::seconds(1));
  executor_.tick(clock_.now());
  EXPECT_THAT(transport_.sent, SizeIs(1));
}

TEST_F(ExecutorTest, AConditionIsWrittenOnlyWhenItChanges) {
  world_.book.pod_seen(gpu_pod("a", 1));
  world_.flush();
  const std::string job = "team/pod/a@0000a-00";
  executor_.explain(job, "Unschedulable", "No room.");
  executor_.tick(clock_.now());
  ASSERT_THAT(transport_.sent, SizeIs(1));
  EXPECT_EQ(target(), "/api/v1/namespaces/team/pods/a/status");
  EXPECT_THAT(transport_.sent[0].request.body, HasSubstr(R"("message":"No room.")"));
  answer(200);
  executor_.explain(job, "Unschedulable", "No room.");
  executor_.tick(clock_.now());
  EXPECT_THAT(transport_.sent, IsEmpty());
  executor_.explain(job, "Unschedulable", "Still no room.");
  executor_.tick(clock_.now());
  EXPECT_THAT(transport_.sent, SizeIs(1));
}

TEST_F(ExecutorTest, WhatPassesByItselfIsNotTold) {
  world_.book.pod_seen(gpu_pod("a", 1));
  world_.flush();
  const base::Instant later = clock_.now() + base::seconds(1);
  executor_.explain_pod("team/pod/a@0000a-00", "PodsMissing", "1 of 2.", later);
  executor_.tick(clock_.now());
  EXPECT_THAT(transport_.sent, IsEmpty());
  EXPECT_EQ(executor_.next_deadline(), later);
  clock_.advance(base::seconds(1));
  executor_.tick(clock_.now());
  EXPECT_THAT(transport_.sent, SizeIs(1));
}

TEST_F(ExecutorTest, WhoNoLongerLeadsWritesNothingNew) {
  gang({"a", "b", "c"});
  decide();
  executor_.stand_down();
  EXPECT_THAT(outcomes(), ElementsAre("refused team/pod/c@0000c-00"));
  answer(503);
  answer(201);
  EXPECT_THAT(transport_.sent, IsEmpty());
  EXPECT_THAT(outcomes(), ElementsAre("refused team/pod/a@0000a-00", "bound team/pod/b@0000b-00"));
}

}  // namespace
}  // namespace mainspring::kube
