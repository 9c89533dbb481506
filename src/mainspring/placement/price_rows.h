// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "mainspring/model/inventory.h"
#include "mainspring/placement/node_value.h"
#include "mainspring/placement/price_table.h"
#include "mainspring/placement/scarcity.h"

// What price scoring reads of each node, side by side, and the sums that scarcity is judged by.
// Derived from an inventory and from prices; follows the inventory's change log.

namespace mainspring::placement {

// Free milli of a device: both its time and its memory must be free.
int32_t effective_milli(const model::Gpu& gpu);

struct PriceRow {
  static constexpr size_t kPartsMax = 8;
  // Shared devices that are equally free, by the first of them.
  struct Part {
    int16_t free_milli = 0;
    uint8_t device = 0;
  };

  NodeValue value;
  model::Resources free;
  int64_t device_memory_bytes = 0;
  int64_t counted_milli = 0;  // see ModelFree
  int32_t tie = 0;            // of nodes that lose the same: less is tighter
  std::array<Part, kPartsMax> parts{};
  std::array<uint8_t, Scarcity::kSlotClassesMax> slots{};  // how many of each class fit
  uint8_t part_count = 0;
  uint8_t model = 0;  // of the first device
  uint8_t resource = 0;
  // Its devices are alike, their memory is no tighter than their time, and few differ in what is
  // free: no need to look at each.
  bool plain = false;
  bool has_gpus = false;
  bool counted = false;  // in the sums
};

class PriceRows {
 public:
  // O(nodes × devices).
  void rebuild(const model::Inventory& inventory, const PriceTable& table,
               const Scarcity& scarcity);
  // Brings the rows up to date: O(nodes changed since the last call × devices).
  void sync(const model::Inventory& inventory, const PriceTable& table, const Scarcity& scarcity);

  [[nodiscard]] const PriceRow& operator[](uint32_t node_slot) const { return rows_[node_slot]; }
  // Of usable nodes. A node of several models counts for the first.
  [[nodiscard]] std::span<const ModelFree> by_model() const { return by_model_; }
  [[nodiscard]] std::span<const int64_t> slots_free() const { return slots_free_; }

 private:
  void set_row(const model::Node& node, PriceRow& row, const PriceTable& table,
               const Scarcity& scarcity) const;
  static void set_devices(const model::Node& node, PriceRow& row, const PriceTable& table);
  void count(PriceRow& row, int64_t sign);

  std::vector<PriceRow> rows_;
  uint64_t log_position_ = 0;
  std::vector<ModelFree> by_model_;
  std::array<int64_t, Scarcity::kSlotClassesMax> slots_free_{};
  int64_t mean_cpu_milli_ = 1;
  int64_t mean_memory_bytes_ = 1;
};

}  // namespace mainspring::placement
