// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/price_table.h"

#include <algorithm>
#include <cmath>

#include "mainspring/placement/demand_mix.h"
#include "mainspring/placement/linear_program.h"

namespace mainspring::placement {

namespace {

using Entry = LinearProgram::Entry;

// Expected demand, in devices per device of the cluster: a little more than fits, so that room is
// scarce and has a price.
constexpr double kDemand = 1.05;
// CPU of a kind of node costs nothing up to this part of it, and then ever more: prices feel that
// CPU runs out on single nodes before it runs out in sum. Costs are in devices per mean CPU of one
// device's worth of GPU pods.
constexpr double kFreeCpu = 0.68;
constexpr double kCpuStep = 0.08;
constexpr std::array kCpuCosts{0.05, 0.1, 0.2, 0.4};
// The rates of the tables, in the same unit: dense where they are low.
constexpr double kTopRate = 1.65;
constexpr std::array<double, PriceTable::kRates> kRateSteps{0.0,   0.054, 0.153, 0.281,
                                                            0.432, 0.604, 0.794, 1.0};
constexpr int kRateShift = 20;
constexpr int64_t kWorthMax = int64_t{1} << 29;
// Breaks the ties of degenerate programs, far below what a price shows.
constexpr double kPerturbation = 1e-7;
// In devices per device; below it prices are rounding errors.
constexpr double kScarcityMin = 0.01;
constexpr int kRoundsMax = 200;
constexpr double kGain = 1e-6;

// A device filled as it pays best: an unbounded knapsack over shares.
class Knapsack {
 public:
  explicit Knapsack(std::span<const MixItem> items) : items_(items) {}

  // `worth` of each item; items of several devices are left out, and items that another beats with
  // no larger share.
  void fill(std::span<const double> worth) {
    choose_items(worth);
    value_[0] = 0.0;
    for (size_t u = 1; u < value_.size(); ++u) {
      double best = value_[u - 1];
      int32_t last = -1;
      for (size_t c = 0; c < chosen_count_ && chosen_[c].level <= u; ++c) {
        const double value = value_[u - chosen_[c].level] + chosen_[c].worth;
        if (value > best + 1e-12) {
          best = value;
          last = chosen_[c].item;
        }
      }
      value_[u] = best;
      last_[u] = last;
    }
  }

  [[nodiscard]] double value(size_t level) const { return value_[level]; }

  // How often each item is in the best filling of a whole device.
  void pattern(std::vector<uint32_t>& counts) const {
    counts.assign(items_.size(), 0);
    for (size_t u = PriceTable::kLevels; u > 0;) {
      if (last_[u] < 0) {
        --u;
        continue;
      }
      const auto item = static_cast<size_t>(last_[u]);
      ++counts[item];
      u -= static_cast<size_t>(items_[item].level);
    }
  }

 private:
  struct Chosen {
    double worth = 0.0;
    size_t level = 0;
    int32_t item = -1;
  };

  void choose_items(std::span<const double> worth) {
    std::array<Chosen, PriceTable::kLevels + 1> best_of_level{};
    for (size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].gpu_count != 1) continue;
      const auto level = static_cast<size_t>(items_[i].level);
      if (worth[i] <= best_of_level[level].worth) continue;
      best_of_level[level] = {worth[i], level, static_cast<int32_t>(i)};
    }
    chosen_count_ = 0;
    double best = 0.0;
    for (const Chosen& candidate : best_of_level) {
      if (candidate.worth <= best) continue;
      best = candidate.worth;
      chosen_[chosen_count_++] = candidate;
    }
  }

  std::span<const MixItem> items_;
  std::array<Chosen, PriceTable::kLevels + 1> chosen_{};
  size_t chosen_count_ = 0;
  std::array<double, PriceTable::kLevels + 1> value_{};
  std::array<int32_t, PriceTable::kLevels + 1> last_{};
};

// Rows: one per item (served or turned away), then the devices and the CPU of each kind.
class CuttingStock {
 public:
  CuttingStock(std::span<const MixItem> items, std::span<const MixKind> kinds)
      : items_(items), kinds_(kinds), worth_(items.size()), knapsack_(items) {
    double gpu_cores = 0.0;
    for (const MixItem& item : items) {
      if (item.gpu_count > 0) gpu_cores += item.weight * item.cores;
    }
    cores_per_gpu_ = std::max(0.1, gpu_cores);
  }

  // What a pod of each item is worth, in devices.
  std::vector<double> prices() {
    LinearProgram program = start();
    for (int round = 0; round < kRoundsMax; ++round) {
      program.solve();
      if (!add_patterns(program)) break;
    }
    std::vector<double> prices(items_.size());
    double all = 0.0;
    for (size_t k = 0; k < kinds_.size(); ++k) {
      all += std::max(0.0, program.prices()[gpu_row(k)]) * kinds_[k].gpus +
             std::max(0.0, program.prices()[cpu_row(k)]) * kinds_[k].cores;
    }
    // Where room is not scarce at all there is nothing to be scaled to.
    if (all < kScarcityMin) all = 1.0;
    for (size_t i = 0; i < items_.size(); ++i) {
      prices[i] = std::max(0.0, -program.prices()[i]) / all;
    }
    return prices;
  }

  [[nodiscard]] double cores_per_gpu() const { return cores_per_gpu_; }

 private:
  [[nodiscard]] uint32_t gpu_row(size_t kind) const {
    return static_cast<uint32_t>(items_.size() + kind);
  }
  [[nodiscard]] uint32_t cpu_row(size_t kind) const {
    return static_cast<uint32_t>(items_.size() + kinds_.size() + kind);
  }

  LinearProgram start() {
    std::vector<double> right(items_.size() + 2 * kinds_.size());
    std::vector<double> own(right.size(), 0.0);
    for (size_t i = 0; i < items_.size(); ++i) {
      right[i] = items_[i].weight * kDemand + kPerturbation * static_cast<double>(1 + i % 7);
      own[i] = -items_[i].gpus();
    }
    for (size_t k = 0; k < kinds_.size(); ++k) {
      right[gpu_row(k)] = kinds_[k].gpus;
      right[cpu_row(k)] = kinds_[k].cores * kFreeCpu;
    }
    LinearProgram program(right, own);
    for (size_t k = 0; k < kinds_.size(); ++k) {
      const Entry entry{cpu_row(k), -1.0};
      for (const double cost : kCpuCosts) {
        program.add_column(std::span(&entry, 1), -cost / cores_per_gpu_,
                           kinds_[k].cores * kCpuStep);
      }
    }
    for (size_t k = 0; k < kinds_.size(); ++k) {
      for (size_t i = 0; i < items_.size(); ++i) add_single(program, k, i);
    }
    return program;
  }

  // Pods that are not cut from one device.
  void add_single(LinearProgram& program, size_t kind, size_t number) const {
    const MixItem& item = items_[number];
    if (item.gpu_count == 1 || item.gpu_count > kinds_[kind].gpus_of_node_max ||
        item.cores > kinds_[kind].cores_of_node_max) {
      return;
    }
    std::array<Entry, 3> entries{Entry{static_cast<uint32_t>(number), 1.0},
                                 Entry{cpu_row(kind), item.cores},
                                 Entry{gpu_row(kind), static_cast<double>(item.gpu_count)}};
    program.add_column(std::span(entries).first(item.gpu_count > 0 ? 3 : 2), 0.0);
  }

  bool add_patterns(LinearProgram& program) {
    bool added = false;
    for (size_t k = 0; k < kinds_.size(); ++k) {
      const double cpu_price = program.prices()[cpu_row(k)];
      for (size_t i = 0; i < items_.size(); ++i) {
        worth_[i] = -program.prices()[i] - cpu_price * items_[i].cores;
      }
      knapsack_.fill(worth_);
      if (knapsack_.value(PriceTable::kLevels) <= program.prices()[gpu_row(k)] + kGain) continue;
      knapsack_.pattern(counts_);
      pattern_.clear();
      double cores = 0.0;
      for (size_t i = 0; i < items_.size(); ++i) {
        if (counts_[i] == 0) continue;
        pattern_.push_back({static_cast<uint32_t>(i), static_cast<double>(counts_[i])});
        cores += counts_[i] * items_[i].cores;
      }
      pattern_.push_back({gpu_row(k), 1.0});
      pattern_.push_back({cpu_row(k), cores});
      program.add_column(pattern_, 0.0);
      added = true;
    }
    return added;
  }

  std::span<const MixItem> items_;
  std::span<const MixKind> kinds_;
  std::vector<double> worth_;
  Knapsack knapsack_;
  std::vector<uint32_t> counts_;
  std::vector<Entry> pattern_;
  double cores_per_gpu_ = 1.0;
};

// What a cluster of which nothing is known is taken to be asked for, as so many pods.
constexpr int64_t kKnownPods = 256;
constexpr std::array kUnknown{DemandEntry{0, 1, 1000, ~uint64_t{0}, 8},
                              DemandEntry{0, 1, 500, ~uint64_t{0}, 4},
                              DemandEntry{0, 1, 250, ~uint64_t{0}, 4}};
constexpr double kUnknownCpu = 0.75;  // of the CPU that comes with the device

void add_unknown(std::span<const SupplyEntry> supply, std::vector<DemandEntry>& demand) {
  int64_t gpu_pods = 0;
  for (const DemandEntry& entry : demand) gpu_pods += entry.gpu_count > 0 ? entry.weight : 0;
  if (gpu_pods >= kKnownPods) return;
  double cpu_milli = 0.0;
  double gpus = 0.0;
  for (const SupplyEntry& entry : supply) {
    if (entry.gpus == 0) continue;
    const auto nodes = static_cast<double>(entry.nodes);
    cpu_milli += static_cast<double>(entry.cpu_milli) * nodes;
    gpus += static_cast<double>(entry.gpus) * nodes;
  }
  if (gpus <= 0.0) return;
  for (DemandEntry entry : kUnknown) {
    entry.cpu_milli =
        static_cast<int64_t>(kUnknownCpu * cpu_milli / gpus * entry.gpu_milli / 1000.0);
    demand.push_back(entry);
  }
}

int32_t rounded(double devices) {
  const double units = std::min(devices * PriceTable::kUnit, static_cast<double>(kWorthMax));
  return static_cast<int32_t>(std::lround(units));
}

}  // namespace

PriceTable PriceTable::solve(std::span<const DemandEntry> demand,
                             std::span<const SupplyEntry> supply) {
  PriceTable table;
  std::vector<DemandEntry> expected(demand.begin(), demand.end());
  add_unknown(supply, expected);
  const std::vector<MixItem> items = mix_of(expected);
  const std::vector<MixKind> kinds = kinds_of(supply);
  if (items.empty() || kinds.empty()) return table;
  CuttingStock stock(items, kinds);
  const std::vector<double> prices = stock.prices();

  Knapsack knapsack(items);
  std::vector<double> worth(items.size());
  for (size_t r = 0; r < kRates; ++r) {
    const double rate = kTopRate / stock.cores_per_gpu() * kRateSteps[r];
    table.cpu_rates_[r] = std::llround(rate / 1000.0 * kUnit * (1 << kRateShift));
    for (size_t i = 0; i < items.size(); ++i) worth[i] = prices[i] - rate * items[i].cores;
    knapsack.fill(worth);
    for (size_t level = 0; level <= kLevels; ++level) {
      table.shares_[level][r] = rounded(knapsack.value(level));
    }
    std::array<double, kWholesMax + 1> best{};
    for (uint32_t count = 1; count <= kWholesMax; ++count) {
      best[count] = best[count - 1] + knapsack.value(kLevels);
      for (size_t i = 0; i < items.size(); ++i) {
        const uint32_t width = items[i].gpu_count;
        if (width < 2 || width > count) continue;
        best[count] = std::max(best[count], best[count - width] + worth[i]);
      }
      table.wholes_[count][r] = rounded(best[count]);
    }
  }
  return table;
}

PriceTable::Row PriceTable::cpu(int64_t cpu_milli) const {
  Row row;
  // A node of more CPU than this is priced as if it had this much.
  const int64_t bounded = std::clamp<int64_t>(cpu_milli, 0, int64_t{1} << 32);
  for (size_t r = 0; r < kRates; ++r) {
    row[r] = static_cast<int32_t>(std::min(kWorthMax, (bounded * cpu_rates_[r]) >> kRateShift));
  }
  return row;
}

}  // namespace mainspring::placement
