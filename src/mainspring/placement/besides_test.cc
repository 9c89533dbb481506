// SPDX-License-Identifier: Apache-2.0
// Other resources, volumes and choices of nodes in the search and in what is told of a "no".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mainspring/placement/best_fit_scorer.h"
#include "mainspring/placement/diagnose.h"
#include "mainspring/placement/gang_search.h"
#include "mainspring/placement/small_cluster.h"

namespace mainspring::placement {
namespace {

using model::NodeTest;
using model::ReasonCode;
using model::Shortage;
using model::Verdict;
using model::VerdictKind;
using testing::Contains;

class BesidesTest : public ::testing::Test {
 protected:
  void add_node(const std::string& name, std::vector<model::NamedAmount> others,
                std::vector<model::NamedAmount> attachments_max = {}) {
    model::NodeSpec node{.name = name};
    node.allocatable.amounts = {64 * kCpu, int64_t{1} << 40, int64_t{1} << 40, 100};
    node.others = std::move(others);
    node.attachments_max = std::move(attachments_max);
    cluster_.apply(model::NodeChanged{node});
  }

  Verdict place(const GangSpec& gang) {
    const model::JobIx job = cluster_.add_job(gang.spec());
    GangSearch search(scorer_);
    Verdict verdict;
    {
      model::Trial trial(cluster_.state());
      verdict = search.place(trial, {.job = job, .when = {}, .grow = false});
      if (verdict.kind == VerdictKind::kNow) trial.commit();
    }
    cluster_.state().check();
    return diagnose(cluster_.state(), search, job, verdict);
  }

  Verdict place(const std::string& id, int pods, const model::PodShape& shape) {
    GangSpec gang(id);
    gang.group(-1);
    gang.pods(0, pods, shape);
    return place(gang);
  }

  static int64_t failed(const Verdict& verdict, NodeTest test) {
    return verdict.failed_nodes[static_cast<size_t>(test)];
  }

  BestFitScorer scorer_;
  SmallCluster cluster_{std::vector<std::string>{}};
};

TEST_F(BesidesTest, GangsFillWhatThereIsOfAnotherResource) {
  add_node("a", {{"hca", 3}});
  add_node("b", {{"hca", 5}});
  add_node("c", {});
  model::PodShape shape = SmallCluster::shape(1, 0);
  shape.others = {{"hca", 2}};
  EXPECT_EQ(place("four", 4, shape).kind, VerdictKind::kNever);
  EXPECT_EQ(place("three", 3, shape).kind, VerdictKind::kNow);

  const Verdict full = place("one", 1, shape);
  EXPECT_EQ(full.kind, VerdictKind::kNotNow);
  EXPECT_EQ(failed(full, NodeTest::kFreeOther), 2);
  EXPECT_EQ(failed(full, NodeTest::kCapacity), 1);
  EXPECT_THAT(full.nearest_miss.short_of, Contains(Shortage{"hca", 1}));

  shape.others = {{"hca", 6}};
  const Verdict large = place("large", 1, shape);
  EXPECT_EQ(large.kind, VerdictKind::kNever);
  EXPECT_EQ(large.code, ReasonCode::kRequestTooLarge);
}

TEST_F(BesidesTest, VolumesAreLimitedByNodeAndSharedByPods) {
  add_node("a", {}, {{"disk", 1}});
  add_node("b", {}, {{"disk", 2}});
  GangSpec gang("gang");
  gang.group(-1);
  for (const char* volume : {"v1", "v2", "v3"}) {
    model::PodShape shape = SmallCluster::shape(1, 0);
    shape.attachments = {{"disk", volume}};
    gang.pods(0, 2, shape);
  }
  EXPECT_EQ(place(gang).kind, VerdictKind::kNow);

  model::PodShape more = SmallCluster::shape(1, 0);
  more.attachments = {{"disk", "v4"}};
  const Verdict full = place("more", 1, more);
  EXPECT_EQ(full.kind, VerdictKind::kNotNow);
  EXPECT_EQ(full.code, ReasonCode::kVolumeLimit);
  EXPECT_EQ(failed(full, NodeTest::kVolumes), 2);
  EXPECT_THAT(full.nearest_miss.short_of, Contains(Shortage{"volumes", 1}));
}

TEST_F(BesidesTest, AGangTurnsBackWhereItsVolumesDoNotFit) {
  add_node("a", {}, {{"disk", 3}});
  add_node("b", {}, {{"disk", 2}});
  // The pod with three volumes has its place only where the others, which come first, are not.
  GangSpec gang("gang");
  gang.group(-1);
  const auto with = [](std::vector<model::Attachment> attachments) {
    model::PodShape shape = SmallCluster::shape(1, 0);
    shape.attachments = std::move(attachments);
    return shape;
  };
  gang.pods(0, 1, with({{"disk", "v3"}, {"disk", "v4"}, {"disk", "v5"}}));
  gang.pods(0, 1, with({{"disk", "v1"}}));
  gang.pods(0, 1, with({{"disk", "v2"}}));
  EXPECT_EQ(place(gang).kind, VerdictKind::kNow);
}

TEST_F(BesidesTest, APodIsPinnedToANodeByItsName) {
  add_node("a", {});
  add_node("b", {});
  model::PodShape shape = SmallCluster::shape(1, 0);
  shape.node_choices = {{{{{model::kNodeNameKey, model::SelectorOp::kIn, {"b"}}}}}};
  ASSERT_EQ(place("pinned", 1, shape).kind, VerdictKind::kNow);
  const model::ClusterState& state = cluster_.state();
  EXPECT_EQ(state.pod(state.find_pod("pinned-0")).node, state.inventory().find_node("b"));

  shape.node_choices = {{{{{model::kNodeNameKey, model::SelectorOp::kIn, {"z"}}}}}};
  const Verdict nowhere = place("nowhere", 1, shape);
  EXPECT_EQ(nowhere.kind, VerdictKind::kNever);
  EXPECT_EQ(nowhere.code, ReasonCode::kNodeRequirements);
  EXPECT_THAT(nowhere.nearest_miss.short_of, Contains(Shortage{"label:@name", 1}));
}

}  // namespace
}  // namespace mainspring::placement
