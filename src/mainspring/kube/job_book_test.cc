// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/job_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mainspring/kube/annotations.h"
#include "mainspring/kube/world_for_tests.h"

namespace mainspring::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Annotations = std::vector<std::pair<std::string_view, std::string>>;

PodObject annotated(PodObject pod, const Annotations& annotations) {
  for (const auto& [key, value] : annotations) pod.meta.annotations[std::string(key)] = value;
  return pod;
}

PodObject member(const std::string& name, const std::string& group, const std::string& min) {
  return annotated(gpu_pod(name, 1), {{annotation::kGroup, group}, {annotation::kMinCount, min}});
}

PodObject of_job(const std::string& name) {
  PodObject pod = gpu_pod(name, 1);
  pod.meta.controller =
      Owner{.api_version = "batch/v1", .kind = "Job", .name = "train", .uid = "12345678-9"};
  return pod;
}

BatchJobObject batch_job(bool finished) {
  BatchJobObject job;
  job.meta.namespace_name = "team";
  job.meta.name = "train";
  job.meta.uid = "12345678-9";
  job.finished = finished;
  return job;
}

PodObject on(PodObject pod, const std::string& node, PodPhaseWord phase = PodPhaseWord::kRunning) {
  pod.node_name = node;
  pod.phase = phase;
  return pod;
}

class JobBookTest : public testing::Test {
 protected:
  JobBookTest() {
    world_.book.node_seen(gpu_node("n1", 8));
    world_.flush();
  }
  ~JobBookTest() override { EXPECT_THAT(world_.errors, IsEmpty()); }

  std::string notice(const std::string& pod) {
    std::string code;
    for (const Notice& notice : world_.book.take_notices()) {
      if (notice.pod == pod) code = notice.obstacle ? notice.obstacle->code : "";
    }
    return code;
  }

  TestWorld world_;
};

TEST_F(JobBookTest, APlainPodIsAJobByItself) {
  world_.book.pod_seen(gpu_pod("a", 2));
  EXPECT_THAT(world_.flush(), ElementsAre("job team/pod/a@0000a-00 of 1"));
  const auto bound = world_.bind_all();
  ASSERT_EQ(bound.size(), 1U);
  EXPECT_THAT(bound[0].gpus, ElementsAre("gpu-0", "gpu-1"));
  world_.book.pod_seen(on(gpu_pod("a", 2), "n1"));
  EXPECT_THAT(world_.flush(),
              ElementsAre("job team/pod/a@0000a-00 of 1", "started team/pod/a@0000a-00"));
  world_.book.pod_seen(on(gpu_pod("a", 2), "n1", PodPhaseWord::kSucceeded));
  world_.flush();
  EXPECT_EQ(world_.state.job_count(), 0U);
  world_.book.pod_gone(gpu_pod("a", 2));
  world_.flush();
  EXPECT_EQ(world_.book.pod_count(), 0U);
}

TEST_F(JobBookTest, ADeletionTimestampAloneFreesNothing) {
  world_.book.pod_seen(on(gpu_pod("a", 8), "n1"));
  world_.flush();
  PodObject going = on(gpu_pod("a", 8), "n1");
  going.meta.deleting = true;
  world_.book.pod_seen(going);
  EXPECT_THAT(world_.flush(), ElementsAre("stopping team/pod/a@0000a-00"));
  world_.book.pod_seen(gpu_pod("b", 8));
  EXPECT_THAT(world_.bind_all(), IsEmpty());
  world_.book.pod_gone(going);
  EXPECT_EQ(world_.bind_all().size(), 1U);
}

TEST_F(JobBookTest, AGroupIsToldWhenItsMinimumExists) {
  world_.book.pod_seen(member("a", "g", "2"));
  EXPECT_THAT(world_.flush(), IsEmpty());
  EXPECT_EQ(notice("team/pod/a@0000a-00"), "PodsMissing");
  world_.book.pod_seen(member("b", "g", "2"));
  EXPECT_THAT(world_.flush(), ElementsAre("job team/group/g of 2"));
  EXPECT_EQ(notice("team/pod/a@0000a-00"), "");
  EXPECT_EQ(world_.bind_all().size(), 2U);
}

TEST_F(JobBookTest, PodsWithSchedulingGatesDoNotCount) {
  PodObject gated = member("b", "g", "2");
  gated.scheduling_gates = 1;
  world_.book.pod_seen(member("a", "g", "2"));
  world_.book.pod_seen(gated);
  EXPECT_THAT(world_.flush(), IsEmpty());
  gated.scheduling_gates = 0;
  world_.book.pod_seen(gated);
  EXPECT_THAT(world_.flush(), ElementsAre("job team/group/g of 2"));
}

TEST_F(JobBookTest, AMinimumInPercentIsRoundedUp) {
  const Annotations wishes = {
      {annotation::kGroup, "g"}, {annotation::kMinCount, "51%"}, {annotation::kGroupSize, "3"}};
  world_.book.pod_seen(annotated(gpu_pod("a", 1), wishes));
  EXPECT_THAT(world_.flush(), IsEmpty());
  world_.book.pod_seen(annotated(gpu_pod("b", 1), wishes));
  EXPECT_THAT(world_.flush(), ElementsAre("job team/group/g of 2"));
}

TEST_F(JobBookTest, APodOfAJobThatFailsIsReplaced) {
  world_.book.batch_job_seen(batch_job(false));
  world_.book.pod_seen(of_job("a"));
  EXPECT_EQ(world_.bind_all().size(), 1U);
  world_.book.pod_seen(on(of_job("a"), "n1"));
  world_.flush();
  world_.book.pod_seen(on(of_job("a"), "n1", PodPhaseWord::kFailed));
  EXPECT_THAT(world_.flush(),
              ElementsAre("job team/job/train@12345678 of 0", "gone team/pod/a@0000a-00"));
  EXPECT_EQ(world_.state.job_count(), 1U);
  world_.book.pod_seen(of_job("b"));
  EXPECT_EQ(world_.bind_all().size(), 1U);
}

TEST_F(JobBookTest, AJobIsOverWhenItsControllerSaysSo) {
  world_.book.batch_job_seen(batch_job(false));
  world_.book.pod_seen(of_job("a"));
  world_.bind_all();
  world_.book.pod_seen(on(of_job("a"), "n1", PodPhaseWord::kSucceeded));
  world_.flush();
  EXPECT_EQ(world_.state.job_count(), 1U);
  world_.book.batch_job_seen(batch_job(true));
  world_.flush();
  EXPECT_EQ(world_.state.job_count(), 0U);
  world_.book.pod_gone(of_job("a"));
  world_.flush();
  EXPECT_EQ(world_.book.pod_count(), 0U);
  EXPECT_EQ(world_.book.next_deadline(), base::Instant::never());
}

TEST_F(JobBookTest, AnEmptyGroupIsForgottenAfterAWhile) {
  world_.book.pod_seen(member("a", "g", "1"));
  world_.flush();
  world_.book.pod_gone(member("a", "g", "1"));
  world_.flush();
  EXPECT_EQ(world_.state.job_count(), 1U);
  world_.now = world_.book.next_deadline();
  EXPECT_THAT(world_.flush(), ElementsAre("no job team/group/g"));
  EXPECT_EQ(world_.state.job_count(), 0U);
}

TEST_F(JobBookTest, AnotherSchedulerMayBeQuicker) {
  world_.book.node_seen(gpu_node("n2", 8));
  world_.book.pod_seen(gpu_pod("a", 8));
  world_.flush();
  const model::Plan plan = world_.cycle();
  ASSERT_EQ(plan.decisions.size(), 1U);
  const auto& bind = std::get<model::Bind>(plan.decisions[0]);
  const std::string other = bind.pods[0].node == "n1" ? "n2" : "n1";
  world_.book.pod_seen(on(gpu_pod("a", 8), other, PodPhaseWord::kPending));
  world_.flush();
  const model::Pod& pod = world_.state.pod(world_.state.find_pod("team/pod/a@0000a-00"));
  EXPECT_EQ(world_.state.inventory().node(pod.node).name, other);
}

TEST_F(JobBookTest, PodsOfOthersHoldWhatTheyHold) {
  PodObject other = on(gpu_pod("x", 6), "n1");
  other.scheduler_name = "default-scheduler";
  world_.book.pod_seen(other);
  world_.book.pod_seen(gpu_pod("a", 4));
  EXPECT_THAT(world_.bind_all(), IsEmpty());
  world_.book.pod_seen(gpu_pod("b", 2));
  EXPECT_EQ(world_.bind_all().size(), 1U);
  world_.book.pod_gone(other);
  EXPECT_EQ(world_.bind_all().size(), 1U);
}

TEST_F(JobBookTest, MoreThanANodeHasIsHeldAsFarAsItGoes) {
  for (const char* name : {"x", "y"}) {
    PodObject other = on(gpu_pod(name, 6), "n1");
    other.scheduler_name = "default-scheduler";
    world_.book.pod_seen(other);
    world_.flush();
  }
  world_.book.pod_seen(gpu_pod("a", 1));
  EXPECT_THAT(world_.bind_all(), IsEmpty());
}

TEST_F(JobBookTest, WhoFoundTooLittleTakesTheRestBeforeAnybodyElse) {
  std::vector<PodObject> others;
  for (const char* name : {"x", "y"}) {
    others.push_back(on(gpu_pod(name, 5), "n1"));
    others.back().scheduler_name = "default-scheduler";
    world_.book.pod_seen(others.back());
    world_.flush();
  }
  world_.book.pod_seen(gpu_pod("a", 4));
  EXPECT_THAT(world_.bind_all(), IsEmpty());
  world_.book.pod_gone(others[0]);
  EXPECT_THAT(world_.bind_all(), IsEmpty());
  const model::NodeIx node = world_.state.inventory().find_node("n1");
  EXPECT_EQ(world_.state.inventory().node(node).free.gpus, 3);
  world_.book.pod_gone(others[1]);
  EXPECT_EQ(world_.bind_all().size(), 1U);
}

TEST_F(JobBookTest, APodMayArriveBeforeItsNode) {
  world_.book.pod_seen(on(gpu_pod("a", 8), "late"));
  world_.flush();
  world_.book.node_seen(gpu_node("late", 8));
  world_.flush();
  const model::NodeIx late = world_.state.inventory().find_node("late");
  EXPECT_EQ(world_.state.inventory().node(late).free.gpus, 0);
}

TEST_F(JobBookTest, ARestartFindsTheDevicesThatWereNoted) {
  PodObject pod = annotated(on(gpu_pod("a", 1), "n1"), {{annotation::kGpus, "gpu-5"}});
  world_.book.pod_seen(pod);
  world_.flush();
  EXPECT_EQ(world_.state.pod(world_.state.find_pod("team/pod/a@0000a-00")).devices, 1ULL << 5);
}

TEST_F(JobBookTest, ANameThatIsUsedAgainIsAnotherPod) {
  PodObject first = gpu_pod("a", 8);
  world_.book.pod_seen(first);
  world_.bind_all();
  PodObject second = gpu_pod("a", 8);
  second.meta.uid = "1111a-0000-0000";
  world_.book.pod_gone(first);
  world_.book.pod_seen(second);
  const auto bound = world_.bind_all();
  ASSERT_EQ(bound.size(), 1U);
  EXPECT_EQ(bound[0].pod, "team/pod/a@1111a-00");
}

TEST_F(JobBookTest, HeartbeatsOfNodesAreNoNews) {
  NodeObject node = gpu_node("n1", 8);
  node.meta.resource_version = "77";
  world_.book.node_seen(node);
  EXPECT_THAT(world_.flush(), IsEmpty());
}

struct Obstructed {
  std::string name;
  PodObject pod;
  std::string code;
};

std::vector<Obstructed> obstructed() {
  PodObject two_groups = member("a", "g", "1");
  two_groups.pod_group = "other";
  PodObject no_group = gpu_pod("a", 1);
  no_group.pod_group = "absent";
  PodObject unknown = gpu_pod("a", 1);
  unknown.requests["example.com/fpga"] = 1;
  PodObject two_kinds = gpu_pod("a", 1);
  two_kinds.requests["amd.com/gpu"] = 1;
  PodObject no_term = gpu_pod("a", 1);
  no_term.impossible_terms = true;
  PodObject alternatives = gpu_pod("a", 1);
  alternatives.node_terms.resize(2);
  PodObject by_field = gpu_pod("a", 1);
  by_field.node_terms.push_back(
      {.labels = {}, .fields = {{"metadata.name", model::SelectorOp::kIn, {"n1"}}}});
  PodObject beside = gpu_pod("a", 1);
  beside.affinity.resize(1);
  PodObject apart = gpu_pod("a", 1);
  apart.anti_affinity.resize(1);
  PodObject spread = gpu_pod("a", 1);
  spread.spread.resize(1);
  PodObject port = gpu_pod("a", 1);
  port.host_ports.resize(1);
  PodObject volume = gpu_pod("a", 1);
  volume.claims = {"data"};
  PodObject device = gpu_pod("a", 1);
  device.resource_claims = {"gpu"};
  const auto said = [](std::string_view key, const std::string& value) {
    return annotated(gpu_pod("a", 1), {{key, value}});
  };
  return {{"TwoGroups", two_groups, "TwoGroups"},
          {"AbsentPodGroup", no_group, "GroupUnclear"},
          {"UnknownResource", unknown, "UnknownResource"},
          {"TwoKindsOfGpu", two_kinds, "TwoGpuResources"},
          {"HugeCount", gpu_pod("a", 65), "TooManyGpus"},
          {"NoTerm", no_term, "NodeRequirements"},
          {"Alternatives", alternatives, "NotPlannedYet"},
          {"ByField", by_field, "NotPlannedYet"},
          {"Beside", beside, "NotPlannedYet"},
          {"Apart", apart, "NotPlannedYet"},
          {"Spread", spread, "NotPlannedYet"},
          {"Port", port, "NotPlannedYet"},
          {"Volume", volume, "NotPlannedYet"},
          {"Device", device, "NotPlannedYet"},
          {"AcrossNamespaces", member("a", "other/g", "1"), "GroupAcrossNamespaces"},
          {"NoMinimum", said(annotation::kGroup, "g"), "GroupUnclear"},
          {"ZeroMinimum", member("a", "g", "0"), "BadAnnotation"},
          {"PercentOfNothing", member("a", "g", "50%"), "BadAnnotation"},
          {"PercentAbove", member("a", "g", "101%"), "BadAnnotation"},
          {"NegativeMinimum", member("a", "g", "-1"), "BadAnnotation"},
          {"BadDuration", said(annotation::kCheckpointInterval, "soon"), "BadAnnotation"},
          {"Fraction", said(annotation::kGpuShare, "0.5"), "FractionNeedsAgent"},
          {"Memory", said(annotation::kGpuMemory, "10Gi"), "FractionNeedsAgent"}};
}

class ObstacleTest : public testing::TestWithParam<Obstructed> {};

TEST_P(ObstacleTest, KeepsOnePodPendingAndNothingElse) {
  TestWorld world;
  world.book.node_seen(gpu_node("n1", 8));
  world.book.pod_seen(GetParam().pod);
  PodObject fine = gpu_pod("fine", 1);
  world.book.pod_seen(fine);
  EXPECT_EQ(world.bind_all().size(), 1U);
  std::string code;
  std::string message;
  for (const Notice& notice : world.book.take_notices()) {
    if (notice.pod != JobBook::id_of(GetParam().pod) || !notice.obstacle) continue;
    code = notice.obstacle->code;
    message = notice.obstacle->message;
  }
  EXPECT_EQ(code, GetParam().code);
  EXPECT_THAT(message, testing::EndsWith("."));
}

INSTANTIATE_TEST_SUITE_P(JobBook, ObstacleTest, testing::ValuesIn(obstructed()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace mainspring::kube
