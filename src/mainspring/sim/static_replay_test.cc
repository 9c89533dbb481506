// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/static_replay.h"

#include <numeric>

#include <gtest/gtest.h>

#include "mainspring/base/rng.h"
#include "mainspring/sim/static_world.h"

namespace mainspring::sim {
namespace {

struct SmallCase {
  std::vector<OpenbNode> nodes;
  std::vector<OpenbPod> pods;
  OpenbOrder order;

  [[nodiscard]] OpenbInputs inputs() const { return {nodes, pods, pods, order}; }
};

// Nodes of several sizes and models, pods of every kind, more asked for than there is. With `kinds`
// of zero all pods differ.
SmallCase random_case(uint64_t seed, size_t node_count, size_t pod_count, size_t kinds) {
  base::Rng rng(seed);
  const std::vector<std::string> models = {"A", "B", "C"};
  const std::vector<int64_t> sizes = {1, 2, 4, 8};
  SmallCase made;
  for (uint32_t row = 0; row < node_count; ++row) {
    const int64_t gpus = sizes[rng.below(sizes.size())];
    made.nodes.push_back({.row = row,
                          .name = "n" + std::to_string(row),
                          .cpu_milli = gpus * rng.between(6, 12) * 1000,
                          .memory_mib = gpus * 1000,
                          .gpu_count = gpus,
                          .gpu_model = models[rng.below(models.size())]});
  }
  std::vector<OpenbPod> mix;
  for (size_t kind = 0; kind < std::max<size_t>(kinds, 20); ++kind) {
    OpenbPod pod{.cpu_milli = rng.between(1, 12) * 1000, .memory_mib = rng.between(0, 400)};
    const uint64_t form = rng.below(8);
    if (form > 0) pod.gpu_count = form < 6 ? 1 : sizes[rng.below(4)];
    if (form > 0) pod.gpu_milli = form < 4 ? rng.between(1, 99) * 10 : 1000;
    if (form > 0 && rng.chance(1, 4))
      pod.gpu_spec = models[rng.below(3)] + "|" + models[rng.below(3)];
    mix.push_back(pod);
  }
  if (kinds == 0) {
    made.pods = generate_distinct_pods(mix, pod_count, rng);
  } else {
    while (made.pods.size() < pod_count) made.pods.push_back(mix[rng.below(mix.size())]);
  }
  made.order = generate_openb_order(made.nodes, made.pods, 1300, seed, rng);
  return made;
}

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
