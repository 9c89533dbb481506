// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/allocation_bound.h"

#include <gtest/gtest.h>

#include "mainspring/sim/openb_cases_for_tests.h"

namespace mainspring::sim {
namespace {

std::vector<OpenbNode> nodes_of(int64_t count, int64_t cpu_milli) {
  std::vector<OpenbNode> nodes;
  nodes.reserve(static_cast<size_t>(count));
  for (uint32_t row = 0; row < count; ++row) {
    nodes.push_back({.row = row,
                     .name = std::to_string(row),
                     .cpu_milli = cpu_milli,
                     .memory_mib = 1000,
                     .gpu_count = 1,
                     .gpu_model = "A"});
  }
  return nodes;
}

double bound_of(const std::vector<OpenbNode>& nodes, const OpenbPod& pod, size_t copies,
                int percent) {
  OpenbOrder order;
  for (uint32_t row = 0; row < nodes.size(); ++row) order.nodes.push_back(row);
  order.pods.assign(copies, 0);
  return allocation_bound(nodes, {pod}, order, percent).value_or(-1);
}

TEST(AllocationBound, KnowsThatSharesMustFitIntoDevices) {
  const OpenbPod pod{.name = "p", .cpu_milli = 100, .gpu_count = 1, .gpu_milli = 600};
  // Two devices, two pods of 0.6: both fit. Three have arrived at 90 %: one does not.
  EXPECT_NEAR(bound_of(nodes_of(2, 1000), pod, 3, 60), 60, 1e-6);
  EXPECT_NEAR(bound_of(nodes_of(2, 1000), pod, 3, 90), 60, 1e-6);
  EXPECT_EQ(bound_of(nodes_of(2, 1000), pod, 3, 100), -1);
}

TEST(AllocationBound, KnowsCpuModelsAndSizes) {
  OpenbPod pod{.name = "p", .cpu_milli = 600, .gpu_count = 1, .gpu_milli = 500};
  EXPECT_NEAR(bound_of(nodes_of(10, 600), pod, 20, 100), 50, 1e-6);
  pod.gpu_spec = "B|C";
  EXPECT_NEAR(bound_of(nodes_of(10, 600), pod, 20, 100), 0, 1e-6);
  pod.gpu_spec = "B|A";
  pod.cpu_milli = 601;
  EXPECT_NEAR(bound_of(nodes_of(10, 600), pod, 20, 100), 0, 1e-6);
}

TEST(AllocationBound, IsAboveEveryBaseline) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const SmallCase made = random_case(seed, 10 + seed * 3, 300, 5 + seed * 4);
    for (const int percent : {50, 80, 95, 100, 130}) {
      const auto bound = allocation_bound(made.nodes, made.pods, made.order, percent);
      for (const BaselineKind kind :
           {BaselineKind::kFgd, BaselineKind::kFirstFit, BaselineKind::kBestFit}) {
        const auto result = run_openb(made.inputs(), kind, seed);
        ASSERT_TRUE(result);
        const auto reached = result->curve.at(percent);
        ASSERT_EQ(bound.has_value(), reached.has_value());
        // The curve is rounded to two decimals.
        EXPECT_GE(bound.value_or(0), reached.value_or(0) - 0.006) << seed << " at " << percent;
      }
      EXPECT_LE(bound.value_or(0), 100.0 + 1e-6);
    }
  }
}

}  // namespace
}  // namespace mainspring::sim
