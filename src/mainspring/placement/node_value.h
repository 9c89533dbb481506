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

  // What the node loses when a pod takes something away whose worth at each rate is this (a sum of
  // the functions below): not negative.
  [[nodiscard]] int32_t drop(const PriceTable::Row& loss) const {
    PriceTable::Row left;
    for (size_t r = 0; r < left.size(); ++r) left[r] = sums_[r] - loss[r];
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
  PriceTable::Row sums_{};
  int32_t value_ = 0;
  uint32_t wholes_ = 0;
};

// What a pod takes from a node, beside its CPU of worth `cpu`: a share of a device that is shared
// already, ...
inline PriceTable::Row loss_of_share(const PriceTable& table, const PriceTable::Row& cpu,
                                     int32_t free_milli, int32_t taken_milli) {
  const PriceTable::Row& before = table.share(free_milli);
  const PriceTable::Row& after = table.share(free_milli - taken_milli);
  PriceTable::Row loss;
  for (size_t r = 0; r < loss.size(); ++r) loss[r] = cpu[r] + before[r] - after[r];
  return loss;
}

// ... a share of one of `wholes` wholly free devices, ...
inline PriceTable::Row loss_of_opening(const PriceTable& table, const PriceTable::Row& cpu,
                                       uint32_t wholes, int32_t taken_milli) {
  const PriceTable::Row& before = table.wholes(wholes);
  const PriceTable::Row& after = table.wholes(wholes - 1);
  const PriceTable::Row& rest = table.share(1000 - taken_milli);
  PriceTable::Row loss;
  for (size_t r = 0; r < loss.size(); ++r) {
    loss[r] = cpu[r] + std::max(0, before[r] - after[r] - rest[r]);
  }
  return loss;
}

// ... or `taken` of `wholes` wholly free devices.
inline PriceTable::Row loss_of_wholes(const PriceTable& table, const PriceTable::Row& cpu,
                                      uint32_t wholes, uint32_t taken) {
  const PriceTable::Row& before = table.wholes(wholes);
  const PriceTable::Row& after = table.wholes(wholes - taken);
  PriceTable::Row loss;
  for (size_t r = 0; r < loss.size(); ++r) loss[r] = cpu[r] + before[r] - after[r];
  return loss;
}

}  // namespace mainspring::placement
