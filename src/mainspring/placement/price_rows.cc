// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/price_rows.h"

#include <algorithm>

namespace mainspring::placement {

using model::Gpu;
using model::Inventory;
using model::Node;
using model::Resource;

namespace {

constexpr int32_t kCountedMilli = 200;
// Nodes without devices come before those with some.
constexpr int32_t kTieOfGpuNodes = 1 << 20;
constexpr int64_t kTieScale = 1 << 12;

int64_t scaled(int64_t amount, int64_t mean) {
  const __int128 value = static_cast<__int128>(amount) * kTieScale / mean;
  return value > kTieOfGpuNodes ? kTieOfGpuNodes : static_cast<int64_t>(value);
}

}  // namespace

int32_t effective_milli(const Gpu& gpu) {
  if (!gpu.usable()) return 0;
  if (gpu.memory_bytes <= 0) return gpu.free_milli();
  const int64_t memory = gpu.free_memory_bytes();
  // Most devices are free in proportion; the division is for the others.
  if (memory == gpu.memory_bytes) return gpu.free_milli();
  const auto by_memory = static_cast<__int128>(memory) * model::kWholeGpuMilli / gpu.memory_bytes;
  return std::min(gpu.free_milli(), static_cast<int32_t>(by_memory));
}

void PriceRows::rebuild(const Inventory& inventory, const PriceTable& table,
                        const Scarcity& scarcity) {
  const auto nodes = static_cast<int64_t>(std::max<size_t>(1, inventory.node_count()));
  const model::Resources& all = inventory.total_allocatable();
  mean_cpu_milli_ = std::max<int64_t>(1, all[Resource::kCpuMilli] / nodes);
  mean_memory_bytes_ = std::max<int64_t>(1, all[Resource::kMemoryBytes] / nodes);
  rows_.assign(inventory.nodes().size(), PriceRow{});
  by_model_.assign(256, ModelFree{});
  slots_free_.fill(0);
  log_position_ = inventory.node_changes().end();
  for (size_t slot = 0; slot < rows_.size(); ++slot) {
    set_row(inventory.nodes()[slot], rows_[slot], table, scarcity);
    if (inventory.nodes()[slot].usable()) count(rows_[slot], 1);
  }
}

void PriceRows::sync(const Inventory& inventory, const PriceTable& table,
                     const Scarcity& scarcity) {
  const model::ChangeLog& log = inventory.node_changes();
  if (log_position_ > log.end() || !log.holds(log_position_) ||
      rows_.size() != inventory.nodes().size()) {
    rebuild(inventory, table, scarcity);
    return;
  }
  if (log_position_ == log.end()) return;
  for (const uint32_t slot : log.since(log_position_)) {
    PriceRow& row = rows_[slot];
    if (row.counted) count(row, -1);
    set_row(inventory.nodes()[slot], row, table, scarcity);
    if (inventory.nodes()[slot].usable()) count(row, 1);
  }
  log_position_ = log.end();
}

void PriceRows::count(PriceRow& row, int64_t sign) {
  row.counted = sign > 0;
  for (size_t i = 0; i < row.slots.size(); ++i) slots_free_[i] += sign * row.slots[i];
  if (!row.has_gpus) return;
  ModelFree& free = by_model_[row.model];
  free.gpu_milli += sign * row.counted_milli;
  free.cpu_milli += sign * row.free[Resource::kCpuMilli];
}

void PriceRows::set_row(const Node& node, PriceRow& row, const PriceTable& table,
                        const Scarcity& scarcity) const {
  row = PriceRow{};
  row.free = node.free.resources;
  set_devices(node, row, table);
  if (row.has_gpus) {
    row.tie += kTieOfGpuNodes;
  } else {
    const int64_t left = scaled(row.free[Resource::kCpuMilli], mean_cpu_milli_) +
                         scaled(row.free[Resource::kMemoryBytes], mean_memory_bytes_);
    row.tie = static_cast<int32_t>(std::min<int64_t>(left, kTieOfGpuNodes - 1));
  }
  const std::span<const SlotClass> classes = scarcity.slots();
  for (size_t i = 0; i < classes.size(); ++i) {
    row.slots[i] =
        static_cast<uint8_t>(classes[i].fit(row.value.wholes(), row.free[Resource::kCpuMilli]));
  }
}

void PriceRows::set_devices(const Node& node, PriceRow& row, const PriceTable& table) {
  std::array<DeviceFree, model::kGpusPerNodeMax> devices;
  row.plain = true;
  row.has_gpus = !node.gpus.empty();
  for (size_t i = 0; i < node.gpus.size(); ++i) {
    const Gpu& gpu = node.gpus[i];
    const Gpu& first = node.gpus.front();
    const int32_t milli = effective_milli(gpu);
    devices[i] = {milli, gpu.wholly_free()};
    row.tie += milli;
    row.counted_milli += milli >= kCountedMilli ? milli : 0;
    if (gpu.model != first.model || gpu.resource != first.resource ||
        gpu.memory_bytes != first.memory_bytes || milli != gpu.free_milli()) {
      row.plain = false;
    }
    if (gpu.wholly_free() || milli == 0) continue;
    const auto parts = std::span(row.parts).first(row.part_count);
    if (std::ranges::any_of(parts, [milli](auto part) { return part.free_milli == milli; })) {
      continue;
    }
    if (row.part_count == PriceRow::kPartsMax) {
      row.plain = false;
      continue;
    }
    row.parts[row.part_count++] = {static_cast<int16_t>(milli), static_cast<uint8_t>(i)};
  }
  if (row.has_gpus) {
    row.model = node.gpus.front().model;
    row.resource = node.gpus.front().resource;
    row.device_memory_bytes = node.gpus.front().memory_bytes;
  }
  row.value.assign(table, row.free[Resource::kCpuMilli],
                   std::span(devices).first(node.gpus.size()));
}

}  // namespace mainspring::placement
