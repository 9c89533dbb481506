// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/static_replay.h"

#include <gtest/gtest.h>

#include "mainspring/sim/openb_cases_for_tests.h"
#include "mainspring/sim/static_world.h"

namespace mainspring::sim {
namespace {

OpenbResult run(const SmallCase& made, BaselineKind kind, TieBreak tie_break = TieBreak::kFirst) {
  auto result = run_openb(made.inputs(), kind, 5, tie_break);
  EXPECT_TRUE(result) << result.error().message;
  return *result;
}

TEST(StaticReplay, FastFgdDecidesLikeItsDefinition) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    const SmallCase made =
        random_case(seed, 4 + seed * 4, 100 + seed * 10, seed % 3 == 0 ? 0 : 4 + seed);
    for (const TieBreak tie_break : {TieBreak::kFirst, TieBreak::kRandom}) {
      const OpenbResult naive = run(made, BaselineKind::kFgdNaive, tie_break);
      const OpenbResult fast = run(made, BaselineKind::kFgd, tie_break);
      ASSERT_EQ(naive.run_hash, fast.run_hash) << "seed " << seed;
      ASSERT_EQ(naive.placed_pods, fast.placed_pods);
      ASSERT_GT(naive.placed_pods, 0);
    }
  }
}

TEST(StaticReplay, EveryBaselineRepeatsItselfAndKeepsItsBooks) {
  const SmallCase made = random_case(9, 40, 400, 30);
  for (const BaselineKind kind : kBaselineKinds) {
    for (const TieBreak tie_break : {TieBreak::kFirst, TieBreak::kRandom}) {
      const OpenbResult first = run(made, kind, tie_break);
      const OpenbResult second = run(made, kind, tie_break);
      EXPECT_EQ(first.run_hash, second.run_hash) << baseline_name(kind);
      EXPECT_EQ(first.arrived_pods, static_cast<int64_t>(made.order.pods.size()));
      EXPECT_LE(first.placed_pods, first.arrived_pods);
      EXPECT_LE(first.allocated_milli, first.capacity_milli);
      EXPECT_GT(first.allocated_milli, first.capacity_milli / 2) << baseline_name(kind);
    }
    EXPECT_EQ(baseline_of_name(baseline_name(kind)), kind);
  }
  EXPECT_FALSE(baseline_of_name("worst-fit"));
}

TEST(StaticReplay, FirstFitTakesTheFirstNodeOfTheOrder) {
  SmallCase made;
  for (uint32_t row = 0; row < 3; ++row) {
    made.nodes.push_back({.row = row,
                          .name = std::to_string(row),
                          .cpu_milli = 1000,
                          .memory_mib = 10,
                          .gpu_count = 1,
                          .gpu_model = "A"});
  }
  made.pods = {{.name = "p", .cpu_milli = 400, .memory_mib = 1, .gpu_count = 1, .gpu_milli = 300}};
  made.order = {.seed = 1, .nodes = {2, 0, 1}, .pods = std::vector<uint32_t>(8, 0)};
  const OpenbResult result = run(made, BaselineKind::kFirstFit);
  EXPECT_EQ(result.placed_pods, 6);  // CPU for two on each node
  EXPECT_EQ(result.allocated_milli, 1800);
}

TEST(StaticReplay, PodsOfModelsThatNoNodeHasAreRefused) {
  SmallCase made = random_case(3, 10, 50, 10);
  for (OpenbPod& pod : made.pods) pod.gpu_spec = "Z|Y";
  const OpenbResult result = run(made, BaselineKind::kFgd);
  EXPECT_EQ(result.allocated_milli, 0);
}

TEST(StaticReplay, RefusesNodeListsThatTheBaselinesCannotTake) {
  SmallCase made = random_case(3, 3, 10, 3);
  made.nodes[1].gpu_count = 9;
  const auto result = run_openb(made.inputs(), BaselineKind::kFgd, 1);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "the baselines take at most 8 GPUs a node, n1 has 9");
  for (OpenbNode& node : made.nodes) node.gpu_count = 0;
  EXPECT_EQ(run_openb(made.inputs(), BaselineKind::kFgd, 1).error().message,
            "the node list has no GPU");
}

TEST(StaticWorld, RefusesToOverCommit) {
  const SmallCase made = random_case(4, 2, 10, 3);
  auto world = StaticWorld::make(made.nodes, made.order.nodes);
  ASSERT_TRUE(world);
  const StaticShape shape{.gpu_count = 1, .gpu_milli = 700, .model_mask = ~uint64_t{0}};
  world->place(shape, {.node = 0, .devices = 1});
  EXPECT_DEATH(world->place(shape, {.node = 0, .devices = 1}), "no GPU is over-committed|fits");
  EXPECT_DEATH(world->place(shape, {.node = 1, .devices = 3}), "as many GPUs as it asks for");
}

}  // namespace
}  // namespace mainspring::sim
