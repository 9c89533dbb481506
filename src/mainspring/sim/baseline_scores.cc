// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/baseline_scores.h"

#include <algorithm>

namespace mainspring::sim {
namespace {

constexpr double kCpuMilliOfScale = 128'000.0;
constexpr int32_t kGpuMilliOfScale = 8000;
constexpr int32_t kScoreMax = 100;

}  // namespace

int32_t dot_product_score(const StaticNode& node, const StaticShape& shape) {
  const double gpu_scale = kGpuMilliOfScale;
  const double cpu = static_cast<double>(node.cpu_free_milli) / kCpuMilliOfScale *
                     (static_cast<double>(shape.cpu_milli) / kCpuMilliOfScale);
  const double gpu = static_cast<double>(node.gpu_free_milli_total()) / gpu_scale *
                     (static_cast<double>(shape.gpu_count * shape.gpu_milli) / gpu_scale);
  const double score = 1.0 - (cpu + gpu) / 2.0;
  return static_cast<int32_t>(kScoreMax * score);
}

int32_t best_fit_score(const StaticNode& node, const StaticShape& shape) {
  const auto cpu_left = static_cast<double>(node.cpu_free_milli - shape.cpu_milli);
  const auto gpu_left =
      static_cast<double>(node.gpu_free_milli_total() - shape.gpu_count * shape.gpu_milli);
  double left = 0;
  left += cpu_left / kCpuMilliOfScale * 0.5;
  left += gpu_left / static_cast<double>(kGpuMilliOfScale) * 0.5;
  // The artifact then stretches the scores of all nodes to 0..100. That keeps their order and their
  // ties, as there are at most 101 different ones: it is left out.
  return static_cast<int32_t>((1.0 - left) * kScoreMax);
}

int32_t gpu_packing_score(const StaticNode& node, const StaticShape& shape) {
  if (shape.gpu_count == 0) return 0;
  const int32_t whole_free = node.whole_free_count();
  if (whole_free == node.gpu_count) return std::max(kScoreMax / 3 - whole_free, whole_free);

  std::array<int16_t, kStaticDevicesMax> ascending = node.gpu_free_milli;
  std::sort(ascending.begin(), ascending.end());
  int32_t wanted = shape.gpu_count;
  int32_t whole_taken = 0;
  int32_t free_percent = 0;
  for (const int16_t free : ascending) {
    if (wanted == 0) break;
    if (free < shape.gpu_milli) continue;
    --wanted;
    if (free == kMilliPerGpu) ++whole_taken;
    free_percent += free * 100 / static_cast<int32_t>(kMilliPerGpu);
  }
  if (whole_taken > 0) return std::max(kScoreMax / 2 - whole_taken, kScoreMax / 3);
  return std::max(kScoreMax - free_percent / 10, kScoreMax / 2);
}

int32_t gpu_clustering_score(const StaticNode& node, const StaticShape& shape) {
  if (shape.gpu_count == 0) return 0;
  const size_t size = shape.is_share() ? 0 : static_cast<size_t>(shape.gpu_count);
  const auto sizes_served = std::count_if(node.pods_by_gpus.begin(), node.pods_by_gpus.end(),
                                          [](int32_t count) { return count > 0; });
  int32_t rank = 0;
  if (node.pods_by_gpus[size] > 0) {
    rank = sizes_served == 1 ? 3 : 2;
  } else if (sizes_served == 0) {
    rank = 1;
  }
  constexpr int32_t kQuarter = kScoreMax / 4;
  const int32_t fullness =
      kQuarter * (kGpuMilliOfScale - node.gpu_free_milli_total()) / kGpuMilliOfScale;
  return rank * kQuarter + fullness;
}

}  // namespace mainspring::sim
