// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/engine_replay.h"

#include <gtest/gtest.h>

#include "mainspring/sim/openb_cases_for_tests.h"

namespace mainspring::sim {
namespace {

EngineReplayResult run(const SmallCase& made, bool check) {
  EngineReplayOptions options;
  options.check = check;
  auto result = replay_openb(made.inputs(), options);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return std::move(*result);
}

TEST(EngineReplay, KeepsItsBooksAndRepeatsItself) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const SmallCase made = random_case(seed, 30, 300, seed % 2 == 0 ? 0 : 20);
    const EngineReplayResult first = run(made, true);
    EXPECT_EQ(first.violation_count, 0)
        << (first.violations.empty() ? "" : first.violations.front());
    const OpenbResult& result = first.result;
    EXPECT_EQ(result.arrived_pods, static_cast<int64_t>(made.order.pods.size()));
    EXPECT_LE(result.allocated_milli, result.capacity_milli);
    EXPECT_EQ(run(made, false).result.run_hash, result.run_hash);
    // The metric is that of the baselines.
    const auto baseline = run_openb(made.inputs(), BaselineKind::kFirstFit, seed);
    ASSERT_TRUE(baseline.has_value());
    EXPECT_EQ(result.capacity_milli, baseline->capacity_milli);
    EXPECT_EQ(result.arrived_pods, baseline->arrived_pods);
    EXPECT_GT(result.allocated_milli, baseline->allocated_milli * 9 / 10);
  }
}

TEST(EngineReplay, PlacesWhateverFits) {
  SmallCase made;
  for (uint32_t row = 0; row < 2; ++row) {
    made.nodes.push_back({.row = row,
                          .name = std::to_string(row),
                          .cpu_milli = 1000,
                          .memory_mib = 10,
                          .gpu_count = 2,
                          .gpu_model = "A"});
  }
  made.pods = {{.row = 0, .name = "two", .cpu_milli = 100, .gpu_count = 2, .gpu_milli = 1000},
               {.row = 1, .name = "half", .cpu_milli = 100, .gpu_count = 1, .gpu_milli = 500},
               {.row = 2, .name = "b", .gpu_count = 1, .gpu_milli = 1000, .gpu_spec = "B|C"}};
  made.order = {.seed = 1, .nodes = {1, 0}, .pods = {0, 1, 2, 1, 0, 1, 1, 1}};
  const OpenbResult result = run(made, true).result;
  EXPECT_EQ(result.placed_pods, 5);
  EXPECT_EQ(result.allocated_milli, 4000);
  EXPECT_EQ(result.capacity_milli, 4000);
}

TEST(EngineReplay, ANodeThatCannotBeIsAnError) {
  SmallCase made;
  made.nodes = {{.row = 0, .name = "bad name", .gpu_count = 1}};
  made.order = {.seed = 1, .nodes = {0}, .pods = {}};
  const auto result = replay_openb(made.inputs());
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message.find("node.name"), std::string::npos);
}

}  // namespace
}  // namespace mainspring::sim
