// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/baseline_scores.h"

#include <gtest/gtest.h>

namespace mainspring::sim {
namespace {

constexpr StaticShape kShare{.cpu_milli = 16'000, .gpu_count = 1, .gpu_milli = 400};
constexpr StaticShape kOneGpu{.cpu_milli = 16'000, .gpu_count = 1, .gpu_milli = 1000};
constexpr StaticShape kFourGpus{.cpu_milli = 16'000, .gpu_count = 4, .gpu_milli = 1000};
constexpr StaticShape kCpuOnly{.cpu_milli = 16'000};

StaticNode node_with(std::vector<int16_t> gpu_free_milli) {
  StaticNode node{.cpu_free_milli = 64'000, .memory_free_mib = 1000};
  node.gpu_count = static_cast<uint8_t>(gpu_free_milli.size());
  std::copy(gpu_free_milli.begin(), gpu_free_milli.end(), node.gpu_free_milli.begin());
  return node;
}

TEST(BaselineScores, DotProductPrefersSmallProducts) {
  // 1 - (0.5 × 0.125 + 0.25 × 0.05) / 2 = 0.9625
  EXPECT_EQ(dot_product_score(node_with({1000, 1000}), kShare), 96);
  // 1 - (0.5 × 0.125 + 1 × 0.5) / 2 = 0.71875
  const StaticNode idle = node_with({1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000});
  EXPECT_EQ(dot_product_score(idle, kFourGpus), 71);
}

TEST(BaselineScores, BestFitCountsWhatIsLeft) {
  // Left: 48 of 128 CPUs and 1.6 of 8 GPUs: 1 - (0.375 + 0.2) / 2 = 0.7125
  EXPECT_EQ(best_fit_score(node_with({1000, 1000}), kShare), 71);
  EXPECT_EQ(best_fit_score(node_with({400}), kShare), 81);
}

TEST(BaselineScores, PackingPrefersSharedThenUsedThenFree) {
  EXPECT_EQ(gpu_packing_score(node_with({400, 1000}), kShare), 96);   // fills a shared GPU
  EXPECT_EQ(gpu_packing_score(node_with({300, 1000}), kShare), 49);   // breaks a free one
  EXPECT_EQ(gpu_packing_score(node_with({1000, 1000}), kShare), 31);  // an idle node
  EXPECT_EQ(gpu_packing_score(node_with({0, 1000, 1000, 1000, 1000}), kFourGpus), 46);
  const StaticNode idle = node_with({1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000});
  EXPECT_EQ(gpu_packing_score(idle, kOneGpu), 25);
  EXPECT_EQ(gpu_packing_score(idle, kCpuOnly), 0);
}

TEST(BaselineScores, ClusteringPrefersTheSameSize) {
  StaticNode node = node_with({600, 1000, 1000, 1000, 1000, 1000, 1000, 1000});
  const StaticNode idle = node_with({1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000});
  EXPECT_EQ(gpu_clustering_score(idle, kShare), 25);
  node.pods_by_gpus[0] = 1;
  EXPECT_EQ(gpu_clustering_score(node, kShare), 75 + 1);
  EXPECT_EQ(gpu_clustering_score(node, kOneGpu), 0 + 1);
  node.pods_by_gpus[4] = 2;
  EXPECT_EQ(gpu_clustering_score(node, kShare), 50 + 1);
  EXPECT_EQ(gpu_clustering_score(node, kCpuOnly), 0);
}

}  // namespace
}  // namespace mainspring::sim
