// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "mainspring/placement/price_table.h"

// What one node's free devices and CPU are worth, and how much of it a pod would take away. A pod
// goes where that is least: into the gap that nothing better would have filled.

namespace mainspring::placement {

// One device as pricing sees it.
struct DeviceFree {
  int32_t free_milli = 0;
  bool wholly_free = false;
};

class NodeValue {
 public:
  // The least over the rates of what is free, each part priced on its own. O(devices).
  void assign(const PriceTable& table, int64_t cpu_milli, std::span<const DeviceFree> devices) {
    sums_ = table.cpu(cpu_milli);
    uint32_t wholes = 0;
    for (const DeviceFree& device : devices) {
      if (device.wholly_free) {
        ++wholes;
      } else {
        add(table.share(device.free_milli));
      }
    }
    wholes_ = wholes;
    add(table.wholes(wholes));
    value_ = lowest(sums_);
  }

  // Of PriceTable::kUnit.
  [[nodiscard]] int32_t value() const { return value_; }
  [[nodiscard]] uint32_t wholes() const { return wholes_; }

  // What the node loses to a pod, never negative. `cpu` is the pod's row of the table.
  [[nodiscard]] int32_t drop_cpu(const PriceTable::Row& cpu) const {
    PriceTable::Row left;
    for (size_t r = 0; r < left.size(); ++r) left[r] = sums_[r] - cpu[r];
    return value_ - lowest(left);
  }
  // For `count` wholly free devices of the node, which has as many.
  [[nodiscard]] int32_t drop_wholes(const PriceTable& table, const PriceTable::Row& cpu,
                                    uint32_t count) const {
    return drop(cpu, table.wholes(wholes_), table.wholes(wholes_ - count));
  }
  // For a share of a device that is shared already.
  [[nodiscard]] int32_t drop_share(const PriceTable& table, const PriceTable::Row& cpu,
                                   int32_t free_milli, int32_t taken_milli) const {
    return drop(cpu, table.share(free_milli), table.share(free_milli - taken_milli));
  }
  // For a share of a wholly free device.
  [[nodiscard]] int32_t drop_opened(const PriceTable& table, const PriceTable::Row& cpu,
                                    int32_t taken_milli) const {
    const PriceTable::Row& before = table.wholes(wholes_);
    const PriceTable::Row& after = table.wholes(wholes_ - 1);
    const PriceTable::Row& rest = table.share(1000 - taken_milli);
    PriceTable::Row left;
    for (size_t r = 0; r < left.size(); ++r) {
      left[r] = sums_[r] - cpu[r] - std::max(0, before[r] - after[r] - rest[r]);
    }
    return value_ - lowest(left);
  }

 private:
  static int32_t lowest(const PriceTable::Row& row) {
    int32_t low = row[0];
    for (size_t r = 1; r < row.size(); ++r) low = std::min(low, row[r]);
    return low;
  }
  void add(const PriceTable::Row& row) {
    for (size_t r = 0; r < row.size(); ++r) sums_[r] += row[r];
  }
  [[nodiscard]] int32_t drop(const PriceTable::Row& cpu, const PriceTable::Row& before,
                             const PriceTable::Row& after) const {
    PriceTable::Row left;
    for (size_t r = 0; r < left.size(); ++r) left[r] = sums_[r] - cpu[r] - before[r] + after[r];
    return value_ - lowest(left);
  }

  PriceTable::Row sums_{};
  int32_t value_ = 0;
  uint32_t wholes_ = 0;
};

}  // namespace mainspring::placement
