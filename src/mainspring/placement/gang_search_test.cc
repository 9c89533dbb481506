// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/gang_search.h"

#include <functional>
#include <map>
#include <set>
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

}  // namespace
}  // namespace mainspring::placement
