// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/demand_mix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

namespace mainspring::placement {

namespace {

struct Resolution {
  double cpu_ratio;    // CPU amounts within this factor are one size
  int32_t level_step;  // shares are rounded up to multiples of this many hundredths
};

constexpr std::array kResolutions{Resolution{1.25, 1}, Resolution{1.6, 1}, Resolution{1.6, 2},
                                  Resolution{2.5, 4},  Resolution{4.0, 5}, Resolution{1e9, 5}};
constexpr double kSmallestCpuMilli = 120.0;
constexpr double kRatioOfKinds = 2.0;
constexpr double kPartsOfSupply = 1024.0;

// Steps of the ratio from `first` up to the value. Multiplication only: the same everywhere.
int32_t bucket(double value, double first, double ratio) {
  int32_t count = 0;
  for (double edge = first; value >= edge && count < 200; edge *= ratio) ++count;
  return count;
}

std::vector<MixItem> merge(std::span<const DemandEntry> demand, const Resolution& resolution) {
  using Key = std::tuple<uint32_t, int32_t, int32_t>;  // devices, level, CPU
  std::map<Key, MixItem> items;
  for (const DemandEntry& entry : demand) {
    if (entry.weight <= 0) continue;
    int32_t level = 0;
    if (entry.gpu_count > 0) {
      level = (std::clamp(entry.gpu_milli, 1, 1000) * PriceTable::kLevels + 999) / 1000;
      level = (level + resolution.level_step - 1) / resolution.level_step * resolution.level_step;
      level = std::min(level, PriceTable::kLevels);
    }
    const auto cpu_milli = static_cast<double>(entry.cpu_milli);
    MixItem& item =
        items[{entry.gpu_count, level, bucket(cpu_milli, kSmallestCpuMilli, resolution.cpu_ratio)}];
    const auto weight = static_cast<double>(entry.weight);
    item.gpu_count = entry.gpu_count;
    item.level = level;
    item.cores += cpu_milli / 1000.0 * weight;
    item.weight += weight;
  }
  std::vector<MixItem> mix;
  for (const auto& [key, item] : items) {
    mix.push_back(item);
    mix.back().cores /= item.weight;
  }
  return mix;
}

}  // namespace

std::vector<MixItem> mix_of(std::span<const DemandEntry> demand) {
  std::vector<MixItem> mix;
  for (const Resolution& resolution : kResolutions) {
    mix = merge(demand, resolution);
    if (mix.size() <= kMixItemsMax) break;
  }
  // Gangs of very many different widths: the rarest give way.
  if (mix.size() > kMixItemsMax) {
    std::ranges::stable_sort(mix, [](const MixItem& a, const MixItem& b) {
      return a.weight * a.gpus() > b.weight * b.gpus();
    });
    mix.resize(kMixItemsMax);
  }
  double gpus = 0.0;
  for (const MixItem& item : mix) gpus += item.weight * item.gpus();
  if (gpus <= 0.0) return {};
  for (MixItem& item : mix) item.weight /= gpus;
  return mix;
}

std::vector<MixKind> kinds_of(std::span<const SupplyEntry> supply) {
  std::map<int32_t, MixKind> kinds;
  double gpus = 0.0;
  for (const SupplyEntry& entry : supply) {
    if (entry.gpus == 0 || entry.nodes <= 0) continue;
    const double devices = entry.gpus;
    const double cores = static_cast<double>(entry.cpu_milli) / 1000.0;
    const double first = std::sqrt(0.5) / 16.0;
    MixKind& kind = kinds[bucket(cores / devices, first, kRatioOfKinds)];
    const auto nodes = static_cast<double>(entry.nodes);
    kind.gpus += devices * nodes;
    kind.cores += cores * nodes;
    kind.gpus_of_node_max = std::max(kind.gpus_of_node_max, entry.gpus);
    kind.cores_of_node_max = std::max(kind.cores_of_node_max, cores);
    gpus += devices * nodes;
  }
  std::vector<MixKind> result;
  for (auto& [key, kind] : kinds) {
    const double part = std::ceil(kind.gpus / gpus * kPartsOfSupply) / kPartsOfSupply;
    const double ratio = kind.cores / kind.gpus;
    kind.gpus = part;
    kind.cores = part * std::round(ratio * 16.0) / 16.0;
    result.push_back(kind);
  }
  return result;
}

}  // namespace mainspring::placement
