// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/price_scorer.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "mainspring/base/check.h"

namespace mainspring::placement {

using model::Gpu;
using model::Inventory;
using model::Node;
using model::Resource;
using model::Shape;

namespace {

// Drops that differ by less than this are equal.
constexpr int32_t kQuantum = PriceTable::kUnit / 50;
constexpr int kTieBits = 32;
constexpr int64_t kArrivalsFirst = 16;
int64_t cost_of(int32_t drop, int32_t tie) {
  const int64_t steps = (std::max(0, drop) + kQuantum / 2) / kQuantum;
  return (steps << kTieBits) + tie;
}

int32_t clamp32(int64_t value) {
  return static_cast<int32_t>(std::clamp<int64_t>(value, 0, INT32_MAX / 4));
}

}  // namespace

// A request, compiled once for many nodes. What a pod takes has few different worths, which are
// worked out when they are first asked for.
class PriceScorer::Request {
 public:
  Request(const PriceTable& table, const Shape& shape)
      : cpu_milli(shape.request[Resource::kCpuMilli]),
        cpu(table.cpu(cpu_milli)),
        table_(table),
        milli_(shape.whole ? 0 : shape.gpu_milli),
        count_(shape.gpu_count) {}

  [[nodiscard]] const PriceTable::Row& of_share(int32_t free_milli) {
    const int32_t level = free_milli / kMilliPerLevel;
    const int32_t left = (free_milli - milli_) / kMilliPerLevel;
    const int32_t key_of_level = 2 * level + (level - left - milli_ / kMilliPerLevel);
    const auto key = static_cast<size_t>(key_of_level);
    if (!shares_known_[key]) {
      shares_[key] = loss_of_share(table_, cpu, free_milli, milli_);
      shares_known_[key] = true;
    }
    return shares_[key];
  }
  // Of a node with so many wholly free devices: a share of one of them, or as many as are wanted.
  [[nodiscard]] const PriceTable::Row& of_wholes(uint32_t wholes) {
    if (!wholes_known_[wholes]) {
      wholes_[wholes] = milli_ > 0 ? loss_of_opening(table_, cpu, wholes, milli_)
                                   : loss_of_wholes(table_, cpu, wholes, count_);
      wholes_known_[wholes] = true;
    }
    return wholes_[wholes];
  }

  int64_t cpu_milli;
  PriceTable::Row cpu;
  std::array<int32_t, 64> premium{};  // by model, for the whole pod
  bool pays_for_slots = false;

 private:
  static constexpr int32_t kMilliPerLevel = model::kWholeGpuMilli / PriceTable::kLevels;

  const PriceTable& table_;
  int32_t milli_;
  uint32_t count_;
  std::array<bool, 2 * PriceTable::kLevels + 2> shares_known_{};
  std::array<bool, PriceTable::kWholesMax + 1> wholes_known_{};
  std::array<PriceTable::Row, 2 * PriceTable::kLevels + 2> shares_;
  std::array<PriceTable::Row, PriceTable::kWholesMax + 1> wholes_;
};

bool PriceScorer::demand_grew(const model::ClusterState& state) {
  const int64_t priced = state.arrivals_priced();
  return state.arrivals() - priced >= std::max(kArrivalsFirst, priced / 2);
}

std::vector<DemandEntry> PriceScorer::demand(const Inventory& inventory) const {
  std::vector<DemandEntry> entries;
  for (const Shape& shape : inventory.shapes()) {
    if (shape.arrivals_priced <= 0) continue;
    DemandEntry entry{.cpu_milli = shape.request[Resource::kCpuMilli],
                      .gpu_count = shape.gpu_count,
                      .gpu_milli = shape.gpu_milli,
                      .models = models_for(inventory, shape),
                      .weight = shape.arrivals_priced};
    if (shape.gpu_count > 0 && entry.models == 0) continue;
    if (shape.gpu_memory_bytes > 0) {
      const auto first = static_cast<size_t>(std::countr_zero(entry.models));
      const int64_t milli =
          shape.gpu_memory_bytes * model::kWholeGpuMilli / memory_of_model_[first];
      entry.gpu_milli = static_cast<int32_t>(std::clamp<int64_t>(milli, 1, 1000));
    }
    entries.push_back(entry);
  }
  return entries;
}

std::vector<SupplyEntry> PriceScorer::supply(const Inventory& inventory) {
  std::map<std::pair<int64_t, uint32_t>, int64_t> nodes;
  for (const Node& node : inventory.nodes()) {
    if (!node.alive || !node.listed) continue;
    ++nodes[{node.allocatable[Resource::kCpuMilli], static_cast<uint32_t>(node.gpus.size())}];
  }
  std::vector<SupplyEntry> entries;
  entries.reserve(nodes.size());
  for (const auto& [key, count] : nodes) entries.push_back({key.first, key.second, count});
  return entries;
}

void PriceScorer::note_models(const Inventory& inventory) {
  models_of_resource_.assign(256, 0);
  memory_of_model_.assign(64, 0);
  models_present_ = 0;
  for (const Node& node : inventory.nodes()) {
    if (!node.alive || !node.listed) continue;
    for (const Gpu& gpu : node.gpus) {
      if (!gpu.present || gpu.model >= 64) continue;
      const uint64_t bit = uint64_t{1} << gpu.model;
      models_of_resource_[gpu.resource] |= bit;
      int64_t& memory = memory_of_model_[gpu.model];
      memory = (models_present_ & bit) == 0 ? gpu.memory_bytes : std::min(memory, gpu.memory_bytes);
      models_present_ |= bit;
    }
  }
}

// Which models can serve the shape.
uint64_t PriceScorer::models_for(const Inventory& inventory, const Shape& shape) const {
  if (shape.gpu_count == 0) return models_present_;
  if (inventory.gpu_models().empty()) return 0;
  uint64_t models = 0;
  for (uint64_t rest = shape.gpu_models & models_of_resource_[shape.gpu_resource]; rest != 0;
       rest &= rest - 1) {
    const int64_t memory = memory_of_model_[static_cast<size_t>(std::countr_zero(rest))];
    if (memory < shape.device_memory_bytes_min) continue;
    if (shape.gpu_memory_bytes > 0 && memory < std::max<int64_t>(1, shape.gpu_memory_bytes))
      continue;
    models |= rest & -rest;
  }
  return models;
}

void PriceScorer::refresh(const model::ClusterState& state) {
  const Inventory& inventory = state.inventory();
  if (layouts_ != inventory.layouts() || arrivals_priced_ != state.arrivals_priced()) {
    layouts_ = inventory.layouts();
    arrivals_priced_ = state.arrivals_priced();
    note_models(inventory);
    const std::vector<DemandEntry> entries = demand(inventory);
    table_ = PriceTable::solve(entries, supply(inventory));
    scarcity_ = Scarcity(entries, models_present_);
    rows_.rebuild(inventory, table_, scarcity_);
    ++version_;
  }
  rows_.sync(inventory, table_, scarcity_);
  if (scarcity_.observe(rows_.by_model(), rows_.slots_free())) ++version_;
}

PriceScorer::Request PriceScorer::compile(const Inventory& inventory, const Shape& shape) const {
  Request request(table_, shape);
  request.pays_for_slots = scarcity_.any_slot_scarce();
  if (!scarcity_.any_model_scarce()) return request;
  const uint64_t models = models_for(inventory, shape);
  const int64_t milli = int64_t{shape.gpu_count} * shape.gpu_milli;
  for (uint64_t rest = models_present_; rest != 0; rest &= rest - 1) {
    const auto model = static_cast<size_t>(std::countr_zero(rest));
    const Scarcity::Premium premium = scarcity_.premium(models, model);
    request.premium[model] = clamp32(
        premium.per_gpu * milli / 1000 +
        static_cast<int64_t>(static_cast<__int128>(premium.per_core) * request.cpu_milli / 1000));
  }
  return request;
}

// What the slots are worth that the node has no longer when so many wholly free devices and the
// request's CPU are taken.
int32_t PriceScorer::slots_lost(const PriceRow& row, const Request& request,
                                uint32_t wholes) const {
  int32_t lost = 0;
  const uint32_t wholes_left = row.value.wholes() - wholes;
  const int64_t cpu_left = row.free[Resource::kCpuMilli] - request.cpu_milli;
  const std::span<const SlotClass> classes = scarcity_.slots();
  for (size_t i = 0; i < classes.size(); ++i) {
    if (!classes[i].scarce || row.slots[i] == 0) continue;
    const auto before = static_cast<int32_t>(row.slots[i]);
    lost +=
        (before - static_cast<int32_t>(classes[i].fit(wholes_left, cpu_left))) * classes[i].price();
  }
  return lost;
}

PriceScorer::Choice PriceScorer::choose_share(const PriceRow& row, const Shape& shape,
                                              Request& request) const {
  Choice best;
  const int32_t milli = shape.gpu_milli;
  const int32_t premium = request.premium[row.model];
  const int32_t lost = request.pays_for_slots ? slots_lost(row, request, 0) : 0;
  for (size_t i = 0; i < row.part_count; ++i) {
    const PriceRow::Part part = row.parts[i];
    if (part.free_milli < milli) continue;
    const int32_t drop = row.value.drop(request.of_share(part.free_milli));
    const int64_t cost = cost_of(drop + premium + lost, part.free_milli - milli);
    if (cost < best.cost || (cost == best.cost && part.device < best.device)) {
      best = {cost, part.device};
    }
  }
  if (row.value.wholes() == 0) return best;
  const int32_t drop = row.value.drop(request.of_wholes(row.value.wholes()));
  const int32_t opened_lost = request.pays_for_slots ? slots_lost(row, request, 1) : 0;
  const int64_t cost = cost_of(drop + premium + opened_lost, model::kWholeGpuMilli - milli);
  if (cost < best.cost) best = {cost, -1};
  return best;
}

// For plain nodes whose resources suffice.
PriceScorer::Choice PriceScorer::choose(const PriceRow& row, const Shape& shape,
                                        Request& request) const {
  if (shape.gpu_count == 0) {
    int32_t drop = row.value.drop(request.cpu);
    if (row.has_gpus) {
      drop += request.premium[row.model];
      if (request.pays_for_slots) drop += slots_lost(row, request, 0);
    }
    return {cost_of(drop, row.tie)};
  }
  if (row.resource != shape.gpu_resource || (shape.gpu_models >> row.model & 1) == 0 ||
      row.device_memory_bytes < shape.device_memory_bytes_min) {
    return {};
  }
  if (!shape.whole) return choose_share(row, shape, request);
  if (row.value.wholes() < shape.gpu_count) return {};
  int32_t drop = row.value.drop(request.of_wholes(row.value.wholes()));
  drop += request.premium[row.model];
  if (request.pays_for_slots) drop += slots_lost(row, request, shape.gpu_count);
  return {cost_of(drop, row.tie)};
}

// Nodes of several models, or with memory that is tighter than the share; and shares by memory.
Spot PriceScorer::look_at_each(const Node& node, const PriceRow& row, const Shape& shape,
                               Request& request) const {
  Spot best;
  const bool by_one = shape.gpu_count == 1 && !shape.whole;
  std::vector<std::pair<int64_t, size_t>> fitting;
  for (size_t i = 0; i < node.gpus.size(); ++i) {
    const Gpu& gpu = node.gpus[i];
    if (!model::device_fits(shape, gpu)) continue;
    const int32_t premium = request.premium[std::min<size_t>(gpu.model, 63)];
    if (!by_one) {
      const int64_t left = shape.whole ? 0 : gpu.free_milli();
      fitting.push_back({(int64_t{premium} << 16) + left, i});
      continue;
    }
    const int32_t taken = model::gpu_take(shape, gpu).milli;
    const int32_t free = effective_milli(gpu);
    const int32_t drop =
        gpu.wholly_free()
            ? row.value.drop(loss_of_opening(table_, request.cpu, row.value.wholes(), taken)) +
                  (request.pays_for_slots ? slots_lost(row, request, 1) : 0)
            : row.value.drop(loss_of_share(table_, request.cpu, free, std::min(free, taken))) +
                  (request.pays_for_slots ? slots_lost(row, request, 0) : 0);
    const int64_t cost = cost_of(drop + premium, std::max(0, free - taken));
    if (cost < best.cost) best = {cost, model::DeviceMask{1} << i};
  }
  if (by_one || fitting.size() < shape.gpu_count) return best;
  // By premium and what is left, then smaller memory through the device's number.
  std::ranges::sort(fitting);
  uint32_t wholes = 0;
  int64_t premium = 0;
  for (size_t i = 0; i < shape.gpu_count; ++i) {
    best.devices |= model::DeviceMask{1} << fitting[i].second;
    premium = std::max(premium, fitting[i].first >> 16);
    wholes += node.gpus[fitting[i].second].wholly_free() ? 1 : 0;
  }
  const int32_t drop =
      row.value.drop(loss_of_wholes(table_, request.cpu, row.value.wholes(), wholes));
  const int32_t lost = request.pays_for_slots ? slots_lost(row, request, wholes) : 0;
  best.cost = cost_of(clamp32(drop + premium + lost), row.tie);
  return best;
}

Spot PriceScorer::best_spot(const Inventory& inventory, uint32_t node_slot,
                            const Shape& shape) const {
  rows_.sync(inventory, table_, scarcity_);
  const PriceRow& row = rows_[node_slot];
  if (!shape.request.within(row.free)) return {};
  const Node& node = inventory.nodes()[node_slot];
  Request request = compile(inventory, shape);
  const bool each =
      !row.plain || shape.gpu_memory_bytes > 0 || (shape.gpu_count > 1 && !shape.whole);
  if (shape.gpu_count > 0 && each) return look_at_each(node, row, shape, request);
  const Choice choice = choose(row, shape, request);
  if (choice.cost == Spot::kNoFit) return {};
  Spot spot{.cost = choice.cost};
  if (choice.device >= 0) {
    spot.devices = model::DeviceMask{1} << choice.device;
    return spot;
  }
  uint32_t wanted = shape.gpu_count;
  for (size_t i = 0; i < node.gpus.size() && wanted > 0; ++i) {
    if (!node.gpus[i].wholly_free()) continue;
    spot.devices |= model::DeviceMask{1} << i;
    --wanted;
  }
  MAINSPRING_CHECK(wanted == 0, "a node's row is out of date");
  return spot;
}

void PriceScorer::costs(const Inventory& inventory, std::span<const uint32_t> node_slots,
                        const Shape& shape, std::span<int64_t> out) const {
  MAINSPRING_CHECK(out.size() == node_slots.size(), "one cost per node");
  rows_.sync(inventory, table_, scarcity_);
  Request request = compile(inventory, shape);
  const bool each = shape.gpu_memory_bytes > 0 || (shape.gpu_count > 1 && !shape.whole);
  for (size_t i = 0; i < node_slots.size(); ++i) {
    const PriceRow& row = rows_[node_slots[i]];
    if (!shape.request.within(row.free)) {
      out[i] = Spot::kNoFit;
    } else if (shape.gpu_count > 0 && (each || !row.plain)) {
      out[i] = look_at_each(inventory.nodes()[node_slots[i]], row, shape, request).cost;
    } else {
      out[i] = choose(row, shape, request).cost;
    }
  }
}

}  // namespace mainspring::placement
