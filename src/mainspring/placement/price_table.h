// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

// What free devices and free CPU are worth to the pods that are expected.
//
// The expected pods are those that arrived so far; how many of them a cluster can hold is a
// cutting-stock problem: cut devices into shares. Its linear relaxation, solved by column
// generation (Gilmore and Gomory 1961: which pattern of shares pays best is a knapsack), prices a
// pod of each size. Free shares are then worth the best-paid pods that fit into them, so that what
// no pod fits into is worth nothing.
//
// CPU enters by Lagrangian relaxation: at a rate per core, every pod is worth its price less its
// CPU, and a node is worth its free CPU at that rate plus its devices so filled. The node's worth
// is the least of this over a few fixed rates (each gives an upper bound; the least is the
// tightest). All tables below therefore come as one number per rate.
//
// Which GPU model a pod may use does not enter here: see scarcity.h. Doubles stay inside the
// solution; tables are whole numbers. Immutable, a pure function of its arguments.

namespace mainspring::placement {

// Pods that are alike.
struct DemandEntry {
  int64_t cpu_milli = 0;
  uint32_t gpu_count = 0;
  int32_t gpu_milli = 0;  // of each device, 1..1000; 0 without GPUs
  uint64_t models = ~uint64_t{0};
  int64_t weight = 0;  // how many arrived
};

// Nodes that are alike.
struct SupplyEntry {
  int64_t cpu_milli = 0;
  uint32_t gpus = 0;
  int64_t nodes = 0;
};

class PriceTable {
 public:
  // One average device with its part of the cluster's CPU.
  static constexpr int32_t kUnit = 10'000;
  static constexpr size_t kRates = 8;
  static constexpr int32_t kLevels = 100;  // a share is priced in hundredths of a device
  static constexpr uint32_t kWholesMax = 64;
  using Row = std::array<int32_t, kRates>;

  // Without demand a plain mix of whole GPUs, halves and quarters is expected; it is forgotten once
  // enough GPU pods arrived. O(entries) plus the program: a millisecond or two.
  static PriceTable solve(std::span<const DemandEntry> demand, std::span<const SupplyEntry> supply);

  // The worth of a device of which this much is free but which is not wholly free.
  [[nodiscard]] const Row& share(int32_t free_milli) const {
    return shares_[static_cast<size_t>(free_milli * kLevels / 1000)];
  }
  // Of so many wholly free devices of one node.
  [[nodiscard]] const Row& wholes(uint32_t count) const { return wholes_[count]; }
  // Of CPU.
  [[nodiscard]] Row cpu(int64_t cpu_milli) const;

  // By how much the cluster could hold more if one more device's worth of room came: 0 when neither
  // GPUs nor expected GPU pods exist.
  [[nodiscard]] bool priced() const { return wholes_[1][0] > 0; }

  friend bool operator==(const PriceTable&, const PriceTable&) = default;

 private:
  std::array<Row, kLevels + 1> shares_{};
  std::array<Row, kWholesMax + 1> wholes_{};
  std::array<int64_t, kRates> cpu_rates_{};  // kUnit per milli-CPU, times 2^20
};

}  // namespace mainspring::placement
