// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/gang_search.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "mainspring/placement/best_fit_scorer.h"
#include "mainspring/placement/small_cluster.h"

namespace mainspring::placement {
namespace {

using model::ClusterState;
using model::JobIx;
using model::Pod;
using model::Verdict;
using model::VerdictKind;

class GangSearchTest : public ::testing::Test {
 protected:
  static Verdict place(SmallCluster& cluster, JobIx job, bool grow = false) {
    const BestFitScorer scorer;
    GangSearch search(scorer);
    model::Trial trial(cluster.state());
    const Verdict verdict = search.place(trial, {.job = job, .when = {}, .grow = grow});
    if (verdict.kind == VerdictKind::kNow) {
      trial.commit();
    } else {
      EXPECT_EQ(trial.mark(), 0U);
    }
    cluster.state().check();
    return verdict;
  }

  static Verdict place(SmallCluster& cluster, const GangSpec& gang, bool grow = false) {
    return place(cluster, cluster.add_job(gang.spec()), grow);
  }

  // How many pods of the job lie in each domain of the level.
  static std::map<std::string, int> spread(SmallCluster& cluster, const std::string& job_id,
                                           const std::string& level) {
    const ClusterState& state = cluster.state();
    const model::LevelIx level_ix = state.inventory().find_level(level);
    std::map<std::string, int> counts;
    for (const model::PodIx index : state.job(state.find_job(job_id)).pods) {
      const Pod& pod = state.pod(index);
      if (!pod.holds()) continue;
      const model::Node& node = state.inventory().node(pod.node);
      const std::string name =
          level == "node" ? node.name : state.inventory().domain(node.domains[level_ix.slot]).path;
      ++counts[name];
    }
    return counts;
  }
};

// Each trap alone, and as the only room in a cluster of 512 nodes that is otherwise full.
class GangSearchTraps : public GangSearchTest, public ::testing::WithParamInterface<bool> {
 protected:
  void surround(SmallCluster& cluster) {
    if (!GetParam()) return;
    for (int i = 0; i < 512; ++i) {
      const std::string number = std::to_string(i);
      cluster.add_node("full-" + number, 64, 8, {{"rack", "full-" + std::to_string(i / 8)}});
      cluster.occupy("full-" + number, 64, 8);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(AloneAndInAFullCluster, GangSearchTraps, ::testing::Bool());

TEST_P(GangSearchTraps, SiblingsThatEachNeedOneRack) {
  SmallCluster cluster;
  surround(cluster);
  for (int i = 0; i < 4; ++i) cluster.add_node("a" + std::to_string(i), 64, 1, {{"rack", "a"}});
  for (int i = 0; i < 3; ++i) cluster.add_node("b" + std::to_string(i), 64, 1, {{"rack", "b"}});
  GangSpec gang("gang");
  gang.group(-1);
  for (const int pods : {2, 2, 3}) gang.pods(gang.group(0, 0, "rack"), pods, cluster.shape(1, 1));
  EXPECT_EQ(place(cluster, gang).kind, VerdictKind::kNow);
  const std::map<std::string, int> expected{{"rack:a", 4}, {"rack:b", 3}};
  EXPECT_EQ(spread(cluster, "gang", "rack"), expected);
}

TEST_P(GangSearchTraps, OneGroupMoreThanTheRacksTake) {
  SmallCluster cluster;
  surround(cluster);
  for (int i = 0; i < 4; ++i) cluster.add_node("a" + std::to_string(i), 64, 1, {{"rack", "a"}});
  for (int i = 0; i < 3; ++i) cluster.add_node("b" + std::to_string(i), 64, 1, {{"rack", "b"}});
  GangSpec gang("gang");
  gang.group(-1);
  for (const int pods : {3, 2, 2}) gang.pods(gang.group(0, 0, "rack"), pods, cluster.shape(1, 1));
  gang.pods(gang.group(0, 0, "rack"), 1, cluster.shape(1, 1));
  EXPECT_EQ(place(cluster, gang).kind, VerdictKind::kNotNow);
}

TEST_P(GangSearchTraps, MixedPodsOnUnevenNodes) {
  SmallCluster cluster;
  surround(cluster);
  cluster.add_node("four", 64, 4, {{"rack", "a"}});
  cluster.add_node("three", 64, 3, {{"rack", "a"}});
  GangSpec gang("gang");
  gang.group(-1);
  for (const uint32_t gpus : {2U, 2U, 3U}) gang.pods(0, 1, cluster.shape(1, gpus));
  EXPECT_EQ(place(cluster, gang).kind, VerdictKind::kNow);
  const std::map<std::string, int> expected{{"four", 2}, {"three", 1}};
  EXPECT_EQ(spread(cluster, "gang", "node"), expected);
}

TEST_P(GangSearchTraps, SumsFitButNoNodeDoes) {
  SmallCluster cluster;
  surround(cluster);
  for (int i = 0; i < 4; ++i) cluster.add_node("a" + std::to_string(i), 64, 3, {{"rack", "a"}});
  for (int i = 0; i < 2; ++i) cluster.add_node("b" + std::to_string(i), 64, 4, {{"rack", "b"}});
  GangSpec gang("gang");
  gang.pods(gang.group(-1, 0, "rack"), 2, cluster.shape(1, 4));
  EXPECT_EQ(place(cluster, gang).kind, VerdictKind::kNow);
  const std::map<std::string, int> expected{{"rack:b", 2}};
  EXPECT_EQ(spread(cluster, "gang", "rack"), expected);
  GangSpec again("again");
  again.pods(again.group(-1, 0, "rack"), 2, cluster.shape(1, 4));
  EXPECT_EQ(place(cluster, again).kind, VerdictKind::kNotNow);
}

TEST_P(GangSearchTraps, FewestRacksForEightWholeNodes) {
  SmallCluster cluster;
  surround(cluster);
  for (int rack = 0; rack < 64; ++rack) {
    for (int i = 0; i < 4; ++i) {
      const std::string name = "n" + std::to_string(rack) + "-" + std::to_string(i);
      cluster.add_node(name, 64, 8, {{"rack", "r" + std::to_string(rack)}});
      // Most racks are full to one, two or three nodes; only two of them are empty.
      if (rack != 17 && rack != 41 && i <= rack % 3) cluster.occupy(name, 1, 1);
    }
  }
  GangSpec gang("gang");
  gang.pods(gang.group(-1, 0, "", "rack"), 8, cluster.shape(1, 8));
  EXPECT_EQ(place(cluster, gang).kind, VerdictKind::kNow);
  const std::map<std::string, int> expected{{"rack:r17", 4}, {"rack:r41", 4}};
  EXPECT_EQ(spread(cluster, "gang", "rack"), expected);
}

TEST_P(GangSearchTraps, CpusThatFitOneWayOnly) {
  SmallCluster cluster;
  surround(cluster);
  cluster.add_node("large", 53, 0, {{"rack", "a"}});
  cluster.add_node("small", 31, 0, {{"rack", "a"}});
  GangSpec gang("gang");
  gang.group(-1);
  gang.pods(0, 1, cluster.shape(30, 0));
  gang.pods(0, 1, cluster.shape(50, 0));
  EXPECT_EQ(place(cluster, gang).kind, VerdictKind::kNow);
  const std::map<std::string, int> expected{{"large", 1}, {"small", 1}};
  EXPECT_EQ(spread(cluster, "gang", "node"), expected);
}

model::PodIx pod_of(SmallCluster& cluster, const std::string& id) {
  return cluster.state().find_pod(id);
}

std::string rack_of(SmallCluster& cluster, const std::string& pod_id) {
  const ClusterState& state = cluster.state();
  const model::Node& node = state.inventory().node(state.pod(pod_of(cluster, pod_id)).node);
  return state.inventory().domain(node.domains[state.inventory().find_level("rack").slot]).path;
}

// Four racks of two nodes with four GPUs each.
void add_four_racks(SmallCluster& cluster) {
  for (int i = 0; i < 8; ++i) {
    cluster.add_node("n" + std::to_string(i), 64, 4, {{"rack", std::to_string(i / 2)}});
  }
}

TEST_F(GangSearchTest, LostMemberIsReplacedInsideTheDomainOfItsGang) {
  SmallCluster cluster;
  add_four_racks(cluster);
  GangSpec gang("gang");
  gang.pods(gang.group(-1, 0, "rack"), 4, cluster.shape(1, 1));
  ASSERT_EQ(place(cluster, gang).kind, VerdictKind::kNow);
  const std::string rack = rack_of(cluster, "gang-0");
  cluster.apply(model::PodGone{"gang-2", 0, model::PodEnd::kLost});
  ASSERT_FALSE(cluster.state().pod(pod_of(cluster, "gang-2")).holds());
  ASSERT_EQ(place(cluster, cluster.state().find_job("gang")).kind, VerdictKind::kNow);
  EXPECT_EQ(rack_of(cluster, "gang-2"), rack);
}

TEST_F(GangSearchTest, LostMemberWaitsWhenItsDomainIsFull) {
  SmallCluster cluster;
  add_four_racks(cluster);
  GangSpec gang("gang");
  gang.pods(gang.group(-1, 0, "rack"), 8, cluster.shape(1, 1));
  ASSERT_EQ(place(cluster, gang).kind, VerdictKind::kNow);
  const model::NodeIx node = cluster.state().pod(pod_of(cluster, "gang-2")).node;
  const std::string name = cluster.state().inventory().node(node).name;
  cluster.apply(model::PodGone{"gang-2", 0, model::PodEnd::kLost});
  cluster.occupy(name, 1, 1);
  const Verdict verdict = place(cluster, cluster.state().find_job("gang"));
  EXPECT_EQ(verdict.kind, VerdictKind::kNotNow);
  EXPECT_EQ(verdict.culprit, "gang-2");
}

TEST_F(GangSearchTest, PreferredDomainOfPlacedPodsComesFirst) {
  SmallCluster cluster;
  add_four_racks(cluster);
  GangSpec gang("gang");
  gang.pods(gang.group(-1, 0, "", "rack"), 4, cluster.shape(1, 1));
  ASSERT_EQ(place(cluster, gang).kind, VerdictKind::kNow);
  const std::string rack = rack_of(cluster, "gang-0");
  // Elsewhere it would be packed more tightly.
  cluster.occupy(rack == "rack:3" ? "n0" : "n6", 1, 3);
  cluster.apply(model::PodGone{"gang-1", 0, model::PodEnd::kLost});
  ASSERT_EQ(place(cluster, cluster.state().find_job("gang")).kind, VerdictKind::kNow);
  EXPECT_EQ(rack_of(cluster, "gang-1"), rack);
}

TEST_F(GangSearchTest, GrowsAboveTheMinimumOnlyWhenAsked) {
  SmallCluster cluster;
  add_four_racks(cluster);
  GangSpec small("small");
  small.pods(small.group(-1, 3), 100, cluster.shape(1, 1));
  ASSERT_EQ(place(cluster, small).kind, VerdictKind::kNow);
  EXPECT_EQ(cluster.state().job(cluster.state().find_job("small")).pods_holding, 3U);
  ASSERT_EQ(place(cluster, cluster.state().find_job("small"), true).kind, VerdictKind::kNow);
  EXPECT_EQ(cluster.state().job(cluster.state().find_job("small")).pods_holding, 32U);
}

TEST_F(GangSearchTest, GrowthStaysInTheRequiredDomain) {
  SmallCluster cluster;
  add_four_racks(cluster);
  GangSpec gang("gang");
  gang.pods(gang.group(-1, 2, "rack"), 100, cluster.shape(1, 1));
  ASSERT_EQ(place(cluster, gang, true).kind, VerdictKind::kNow);
  EXPECT_EQ(spread(cluster, "gang", "rack").size(), 1U);
  EXPECT_EQ(cluster.state().job(cluster.state().find_job("gang")).pods_holding, 8U);
}

TEST_F(GangSearchTest, ElasticGangTakesADomainThatItCanGrowIn) {
  for (const bool required : {true, false}) {
    SmallCluster cluster;
    add_four_racks(cluster);
    // Any rack has the minimum; only the third has room for all.
    for (const char* name : {"n0", "n2", "n3", "n6"}) cluster.occupy(name, 1, 3);
    GangSpec gang("gang");
    const std::string rack = "rack";
    gang.pods(gang.group(-1, 2, required ? rack : "", required ? "" : rack), 8,
              cluster.shape(1, 1));
    ASSERT_EQ(place(cluster, gang, true).kind, VerdictKind::kNow);
    const std::map<std::string, int> expected{{"rack:2", 8}};
    EXPECT_EQ(spread(cluster, "gang", "rack"), expected);
  }
}

TEST_F(GangSearchTest, ElasticChildGroupsCountWhole) {
  SmallCluster cluster;
  add_four_racks(cluster);
  // Each replica is at least 3 of 4 pods in one rack of eight GPUs; two replicas are enough.
  GangSpec gang("gang");
  gang.group(-1, 2);
  for (int i = 0; i < 12; ++i) gang.pods(gang.group(0, 3, "rack"), 4, cluster.shape(1, 1));
  ASSERT_EQ(place(cluster, gang).kind, VerdictKind::kNow);
  EXPECT_EQ(cluster.state().job(cluster.state().find_job("gang")).pods_holding, 6U);
  ASSERT_EQ(place(cluster, cluster.state().find_job("gang"), true).kind, VerdictKind::kNow);
  // The first two take their fourth pod, then further replicas fill what is left.
  const model::Job& job = cluster.state().job(cluster.state().find_job("gang"));
  std::map<uint32_t, int> of_group;
  for (const model::PodIx pod : job.pods) {
    if (cluster.state().pod(pod).holds()) ++of_group[cluster.state().pod(pod).group];
  }
  for (const auto& [group, pods] : of_group) EXPECT_GE(pods, 3) << group;
  EXPECT_GE(job.pods_holding, 30U);
}

TEST_F(GangSearchTest, LightestChildrenMakeUpTheMinimum) {
  SmallCluster cluster;
  cluster.add_node("n", 64, 3, {{"rack", "a"}});
  GangSpec gang("gang");
  gang.group(-1, 2);
  gang.pods(0, 1, cluster.shape(1, 3));
  gang.pods(0, 1, cluster.shape(1, 1));
  gang.pods(0, 1, cluster.shape(1, 2));
  ASSERT_EQ(place(cluster, gang, true).kind, VerdictKind::kNow);
  EXPECT_FALSE(cluster.state().pod(pod_of(cluster, "gang-0")).holds());
}

TEST_F(GangSearchTest, PodsThatAreDoneCount) {
  SmallCluster cluster;
  cluster.add_node("n", 64, 2, {{"rack", "a"}});
  GangSpec gang("gang");
  gang.pods(gang.group(-1), 2, cluster.shape(1, 1));
  ASSERT_EQ(place(cluster, gang).kind, VerdictKind::kNow);
  cluster.apply(model::PodGone{"gang-0", 0, model::PodEnd::kSucceeded});
  cluster.apply(model::PodGone{"gang-1", 0, model::PodEnd::kLost});
  cluster.occupy("n", 1, 1);
  ASSERT_EQ(place(cluster, cluster.state().find_job("gang")).kind, VerdictKind::kNow);
  EXPECT_TRUE(cluster.state().pod(pod_of(cluster, "gang-1")).holds());
}

TEST_F(GangSearchTest, NoLeavesNoTrace) {
  SmallCluster cluster;
  add_four_racks(cluster);
  GangSpec gang("gang");
  gang.group(-1);
  for (int i = 0; i < 9; ++i) gang.pods(gang.group(0, 0, "rack"), 4, cluster.shape(1, 1));
  const JobIx job = cluster.add_job(gang.spec());
  const uint64_t hash = cluster.state().hash();
  const uint64_t gains = cluster.state().inventory().gains();
  const uint64_t changes = cluster.state().inventory().node_changes().end();
  EXPECT_EQ(place(cluster, job, true).kind, VerdictKind::kNotNow);
  EXPECT_EQ(cluster.state().hash(), hash);
  EXPECT_EQ(cluster.state().inventory().gains(), gains);
  EXPECT_EQ(cluster.state().inventory().node_changes().end(), changes);
}

TEST_F(GangSearchTest, UnknownRequiredLevelIsNever) {
  SmallCluster cluster;
  add_four_racks(cluster);
  GangSpec gang("gang");
  gang.pods(gang.group(-1, 0, "building"), 1, cluster.shape(1, 1));
  const Verdict verdict = place(cluster, gang);
  EXPECT_EQ(verdict.kind, VerdictKind::kNever);
  EXPECT_EQ(verdict.code, model::ReasonCode::kUnknownLevel);
}

TEST_F(GangSearchTest, NodesWithoutTheLabelAreInNoDomain) {
  SmallCluster cluster;
  for (int i = 0; i < 4; ++i) cluster.add_node("bare" + std::to_string(i), 64, 8);
  cluster.add_node("n", 64, 1, {{"rack", "a"}});
  GangSpec gang("gang");
  gang.pods(gang.group(-1, 0, "rack"), 2, cluster.shape(1, 1));
  EXPECT_EQ(place(cluster, gang).kind, VerdictKind::kNotNow);
  GangSpec wish("wish");
  wish.pods(wish.group(-1, 0, "", "rack"), 2, cluster.shape(1, 1));
  EXPECT_EQ(place(cluster, wish).kind, VerdictKind::kNow);
}

TEST_F(GangSearchTest, WidensLevelByLevel) {
  SmallCluster cluster({"zone", "block", "rack"});
  for (int i = 0; i < 32; ++i) {
    const std::string zone = std::to_string(i / 16);
    const std::string block = std::to_string(i / 8);
    const std::string rack = std::to_string(i / 2);
    const std::string name = "n" + std::to_string(i);
    cluster.add_node(name, 64, 4, {{"zone", zone}, {"block", block}, {"rack", rack}});
    // Each block but the third has one free rack; that one has two.
    if (i % 8 >= (i / 8 == 2 ? 4 : 2)) cluster.occupy(name, 1, 4);
  }
  GangSpec gang("gang");
  gang.pods(gang.group(-1, 0, "", "rack"), 16, cluster.shape(1, 1));
  ASSERT_EQ(place(cluster, gang).kind, VerdictKind::kNow);
  EXPECT_EQ(spread(cluster, "gang", "rack").size(), 2U);
  const std::map<std::string, int> one_block{{"zone:1/block:2", 16}};
  EXPECT_EQ(spread(cluster, "gang", "block"), one_block);
}

TEST_F(GangSearchTest, RequiredDomainIsTheOneWhereTheWishComesTrue) {
  SmallCluster cluster({"block", "rack"});
  for (int i = 0; i < 8; ++i) {
    const std::string name = "n" + std::to_string(i);
    cluster.add_node(name, 64, 4,
                     {{"block", std::to_string(i / 4)}, {"rack", std::to_string(i / 2)}});
  }
  // Block 0 is tighter, but none of its racks takes the gang whole.
  for (const char* name : {"n0", "n1", "n2", "n3"}) cluster.occupy(name, 1, 1);
  GangSpec gang("gang");
  gang.pods(gang.group(-1, 0, "block", "rack"), 8, cluster.shape(1, 1));
  ASSERT_EQ(place(cluster, gang).kind, VerdictKind::kNow);
  EXPECT_EQ(spread(cluster, "gang", "rack").size(), 1U);
}

TEST_F(GangSearchTest, SharesGoWhereAGpuIsBrokenAlready) {
  SmallCluster cluster;
  cluster.add_node("a", 64, 2, {{"rack", "a"}});
  cluster.add_node("b", 64, 2, {{"rack", "a"}});
  for (int i = 0; i < 2; ++i) {
    GangSpec share("share-" + std::to_string(i));
    share.group(-1);
    share.pods(0, 1, cluster.shape(1, 1, 400));
    ASSERT_EQ(place(cluster, share).kind, VerdictKind::kNow);
  }
  GangSpec whole("whole");
  whole.group(-1);
  whole.pods(0, 3, cluster.shape(1, 1));
  EXPECT_EQ(place(cluster, whole).kind, VerdictKind::kNow);
}

TEST_F(GangSearchTest, SharesOfSeveralDevicesAreOfDistinctOnes) {
  SmallCluster cluster;
  cluster.add_node("n", 64, 3, {{"rack", "a"}});
  GangSpec gang("gang");
  gang.group(-1);
  gang.pods(0, 3, cluster.shape(1, 2, 500));
  ASSERT_EQ(place(cluster, gang).kind, VerdictKind::kNow);
  GangSpec more("more");
  more.group(-1);
  more.pods(0, 1, cluster.shape(1, 1, 100));
  EXPECT_EQ(place(cluster, more).kind, VerdictKind::kNotNow);
}

TEST_F(GangSearchTest, SearchEndsAtItsBoundAndSaysSo) {
  SmallCluster cluster;
  // Whether these pods fit is a puzzle; with no step allowed, the first try counts.
  for (int i = 0; i < 12; ++i) {
    cluster.add_node("n" + std::to_string(i), 64, 5 + i % 4, {{"rack", "a"}});
  }
  GangSpec gang("gang");
  gang.group(-1);
  gang.pods(0, 6, cluster.shape(1, 4));
  gang.pods(0, 17, cluster.shape(1, 3));
  const BestFitScorer scorer;
  GangSearch search(scorer, {.limits = {.steps_max = 0}});
  model::Trial trial(cluster.state());
  const Verdict verdict =
      search.place(trial, {.job = cluster.add_job(gang.spec()), .when = {}, .grow = false});
  EXPECT_EQ(verdict.code, model::ReasonCode::kSearchCutShort);
  EXPECT_EQ(trial.mark(), 0U);
}

}  // namespace
}  // namespace mainspring::placement
