// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/fragmentation.h"

#include <gtest/gtest.h>

#include "mainspring/sim/baseline_fgd.h"

namespace mainspring::sim {
namespace {

std::vector<OpenbPod> list_of(const std::vector<std::pair<OpenbPod, int>>& kinds) {
  std::vector<OpenbPod> pods;
  for (const auto& [pod, copies] : kinds) {
    for (int copy = 0; copy < copies; ++copy) pods.push_back(pod);
  }
  return pods;
}

StaticWorld small_world() {
  const std::vector<OpenbNode> nodes = {{.row = 0,
                                         .name = "a",
                                         .cpu_milli = 8000,
                                         .memory_mib = 100,
                                         .gpu_count = 2,
                                         .gpu_model = "A"},
                                        {.row = 1,
                                         .name = "b",
                                         .cpu_milli = 8000,
                                         .memory_mib = 100,
                                         .gpu_count = 1,
                                         .gpu_model = "B"}};
  return *StaticWorld::make(nodes, {1, 0});
}

const OpenbPod kWhole{.cpu_milli = 4000, .gpu_count = 1, .gpu_milli = 1000};
const OpenbPod kHalf{.cpu_milli = 1000, .gpu_count = 1, .gpu_milli = 500};
const OpenbPod kPair{.cpu_milli = 1000, .gpu_count = 2, .gpu_milli = 1000};
const OpenbPod kOnlyB{.cpu_milli = 1000, .gpu_count = 1, .gpu_milli = 500, .gpu_spec = "B|C"};
const OpenbPod kCpu{.cpu_milli = 1000};

TEST(TypicalPods, TakesTheMostFrequentUntilNearlyAllAreCovered) {
  const StaticWorld world = small_world();
  const TypicalPods typical =
      typical_pods(list_of({{kWhole, 60}, {kHalf, 20}, {kCpu, 16}, {kPair, 4}}), world);
  ASSERT_EQ(typical.pods.size(), 3U);
  EXPECT_EQ(typical.pods[0].shape.gpu_milli, 1000);
  EXPECT_DOUBLE_EQ(typical.pods[0].weight, 60.0 / 96);
  EXPECT_EQ(typical.pods[2].shape.gpu_milli, 0);
  EXPECT_EQ(typical.shares.size(), TypicalPods::kLanes);
  EXPECT_EQ(typical.shares[typical.pods[1].share], 500);
}

TEST(TypicalPods, EqualCountsComeLargestFirst) {
  const TypicalPods typical =
      typical_pods(list_of({{kCpu, 5}, {kHalf, 5}, {kPair, 5}, {kWhole, 5}}), small_world());
  ASSERT_EQ(typical.pods.size(), 4U);
  EXPECT_EQ(typical.pods[0].shape.cpu_milli, 4000);
  EXPECT_EQ(typical.pods[1].shape.gpu_count, 2);
  EXPECT_EQ(typical.pods[2].shape.gpu_milli, 500);
  EXPECT_EQ(typical.pods[3].shape.gpu_milli, 0);
  EXPECT_TRUE(typical_pods({}, small_world()).pods.empty());
}

TEST(Fragment, IsWhatTypicalPodsCannotUse) {
  const StaticWorld world = small_world();
  StaticNode node = world.nodes()[1];  // two GPUs of model A
  const auto fragment_for = [&](const OpenbPod& pod) {
    return fragment_milli(node, typical_pods({pod}, world));
  };
  EXPECT_EQ(fragment_for(kWhole), 0);
  EXPECT_EQ(fragment_for(kCpu), 2000);
  EXPECT_EQ(fragment_for(kOnlyB), 2000);
  node.gpu_free_milli[0] = 400;
  EXPECT_EQ(fragment_for(kWhole), 400);
  EXPECT_EQ(fragment_for(kHalf), 400);
  EXPECT_EQ(fragment_for(kPair), 1400);
  node.cpu_free_milli = 999;
  EXPECT_EQ(fragment_for(kHalf), 1400);
  EXPECT_EQ(fragment_milli(node, typical_pods({kHalf, kCpu}, world)), 1400);
}

TEST(Fragment, ScoreIsATruncatedSigmoidOfTheDrop) {
  EXPECT_EQ(score_of_drop(0), 50);
  EXPECT_EQ(score_of_drop(-1e-9), 49);
  EXPECT_EQ(score_of_drop(1000), 73);
  EXPECT_EQ(score_of_drop(-8000), 0);
  EXPECT_EQ(score_of_drop(8000), 99);
}

TEST(Fragment, SharesGoToTheFirstBestDevice) {
  const StaticWorld world = small_world();
  const TypicalPods typical = typical_pods(list_of({{kWhole, 9}, {kHalf, 1}}), world);
  StaticNode node = world.nodes()[1];
  const StaticShape half = world.shape_of(kHalf);
  EXPECT_EQ(fragment_score(node, half, typical).devices, 1);
  node.gpu_free_milli[1] = 500;  // filling this one breaks no whole GPU
  EXPECT_EQ(fragment_score(node, half, typical).devices, 2);
  EXPECT_EQ(fragment_score(node, half, typical).score, fragment_score_on(node, half, 2, typical));
}

TEST(DropScores, AgreeWithTheDefinitionOrAreUnsure) {
  const DropScores scores;
  EXPECT_EQ(scores.score(0), DropScores::kUnsure);
  for (int32_t step = -90'000; step <= 90'000; ++step) {
    const double drop_milli = step * 0.1 + 0.03;
    EXPECT_EQ(scores.score(drop_milli), score_of_drop(drop_milli)) << drop_milli;
  }
}

}  // namespace
}  // namespace mainspring::sim
