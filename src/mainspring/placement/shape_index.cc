// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/shape_index.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "mainspring/base/check.h"
#include "mainspring/placement/node_fit.h"

namespace mainspring::placement {

using model::Inventory;
using model::ShapeIx;

void ShapeIndex::Cursor::push_tree(uint32_t tree) {
  const Entry& entry = index_->entries_[entry_];
  const uint32_t slot = entry.winner[tree];
  if (slot == kNone || entry.costs[slot] == Spot::kNoFit) return;
  heap_.push_back({entry.costs[slot], inventory_->nodes()[slot].rank, slot, tree});
  std::ranges::push_heap(heap_, std::greater{});
}

// A subtree's winner is handed out; what is left of the subtree are the siblings along the way to
// it.
bool ShapeIndex::Cursor::next(uint32_t& node_slot) {
  if (heap_.empty()) return false;
  if (front_only_ && !front_taken_) {
    front_taken_ = true;
    node_slot = heap_.front().slot;
    return true;
  }
  if (front_only_) {
    front_only_ = false;
    heap_.front() = heap_.back();
    heap_.pop_back();
    std::ranges::make_heap(heap_, std::greater{});
    if (heap_.empty()) return false;
  }
  std::ranges::pop_heap(heap_, std::greater{});
  const Ranked best = heap_.back();
  heap_.pop_back();
  node_slot = best.slot;
  if (!walks_tree_) return true;
  const Entry& entry = index_->entries_[entry_];
  for (uint32_t at = entry.leaves + best.slot; at > best.tree; at /= 2) push_tree(at ^ 1U);
  return true;
}

bool ShapeIndex::better(const Inventory& inventory, const Entry& entry, uint32_t left,
                        uint32_t right) const {
  if (right == kNone) return true;
  if (left == kNone) return false;
  if (entry.costs[left] != entry.costs[right]) return entry.costs[left] < entry.costs[right];
  return inventory.nodes()[left].rank < inventory.nodes()[right].rank;
}

// Eligibility last: in a full cluster most nodes drop out before their labels are looked at.
void ShapeIndex::compute(const Inventory& inventory, const model::Shape& shape) {
  costs_.resize(slots_.size());
  scorer_.costs(inventory, slots_, shape, costs_);
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (costs_[i] == Spot::kNoFit) continue;
    if (!eligible(inventory, shape, inventory.nodes()[slots_[i]])) costs_[i] = Spot::kNoFit;
  }
}

void ShapeIndex::open(const Inventory& inventory, ShapeIx shape, Cursor& cursor) {
  cursor.index_ = this;
  cursor.inventory_ = &inventory;
  cursor.heap_.clear();
  cursor.front_only_ = false;
  cursor.front_taken_ = false;
  if (seen_.size() <= shape.slot) {
    seen_.resize(inventory.shapes().size(), 0);
    entry_of_shape_.resize(inventory.shapes().size(), kNone);
  }
  if (seen_[shape.slot] == 0) {
    seen_[shape.slot] = 1;
    open_once(inventory, shape, cursor);
    return;
  }
  const uint32_t number = entry_for(shape);
  Entry& entry = entries_[number];
  entry.used_epoch = epoch_;
  if (entry.costs.size() < inventory.nodes().size()) {
    evict(inventory.nodes().size() - entry.costs.size());
  }
  catch_up(inventory, entry);
  cursor.walks_tree_ = true;
  cursor.entry_ = number;
  if (entry.leaves > 0) cursor.push_tree(1);
}

void ShapeIndex::open_once(const Inventory& inventory, ShapeIx shape, Cursor& cursor) {
  slots_.assign(inventory.nodes_by_rank().begin(), inventory.nodes_by_rank().end());
  compute(inventory, inventory.shape(shape));
  cursor.walks_tree_ = false;
  size_t best = 0;
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    if (costs_[i] == Spot::kNoFit) continue;
    // Slots are in order of rank, so their position does for it.
    cursor.heap_.push_back({costs_[i], i, slots_[i], 0});
    if (costs_[i] < cursor.heap_[best].cost) best = cursor.heap_.size() - 1;
  }
  if (cursor.heap_.empty()) return;
  std::swap(cursor.heap_.front(), cursor.heap_[best]);
  cursor.front_only_ = true;
}

uint32_t ShapeIndex::entry_for(ShapeIx shape) {
  uint32_t& number = entry_of_shape_[shape.slot];
  if (number != kNone) return number;
  const auto unused =
      std::ranges::find_if(entries_, [](const Entry& entry) { return !entry.shape.valid(); });
  number = static_cast<uint32_t>(unused - entries_.begin());
  if (unused == entries_.end()) entries_.emplace_back();
  entries_[number].shape = shape;
  return number;
}

size_t ShapeIndex::costs_kept() const {
  size_t sum = 0;
  for (const Entry& entry : entries_) sum += entry.costs.size();
  return sum;
}

// Entries in use by a cursor of now stay, so that the bound may be passed by one search.
void ShapeIndex::evict(size_t room) {
  size_t kept = costs_kept();
  while (kept + room > costs_max_) {
    Entry* oldest = nullptr;
    for (Entry& entry : entries_) {
      if (!entry.shape.valid() || entry.used_epoch == epoch_) continue;
      if (oldest == nullptr || entry.used_epoch < oldest->used_epoch) oldest = &entry;
    }
    if (oldest == nullptr) return;
    kept -= oldest->costs.size();
    entry_of_shape_[oldest->shape.slot] = kNone;
    *oldest = Entry{};
  }
}

void ShapeIndex::rebuild(const Inventory& inventory, Entry& entry) {
  const size_t count = inventory.nodes().size();
  slots_.resize(count);
  for (uint32_t i = 0; i < count; ++i) slots_[i] = i;
  compute(inventory, inventory.shape(entry.shape));
  entry.costs.assign(costs_.begin(), costs_.end());
  entry.leaves = count == 0 ? 0 : static_cast<uint32_t>(std::bit_ceil(count));
  rebuild_tree(inventory, entry);
}

void ShapeIndex::rebuild_tree(const Inventory& inventory, Entry& entry) {
  entry.winner.assign(2 * size_t{entry.leaves}, kNone);
  for (uint32_t i = 0; i < entry.costs.size(); ++i) entry.winner[entry.leaves + i] = i;
  for (uint32_t at = entry.leaves; at-- > 1;) {
    const uint32_t left = entry.winner[2 * at];
    const uint32_t right = entry.winner[2 * at + 1];
    entry.winner[at] = better(inventory, entry, left, right) ? left : right;
  }
}

void ShapeIndex::catch_up(const Inventory& inventory, Entry& entry) {
  const model::ChangeLog& log = inventory.node_changes();
  const uint64_t version = scorer_.version();
  const bool start_over = entry.costs.size() != inventory.nodes().size() ||
                          entry.scorer_version != version || !log.holds(entry.log_position) ||
                          entry.log_position > log.end();
  const uint64_t from = entry.log_position;
  entry.log_position = log.end();
  entry.scorer_version = version;
  if (start_over) {
    rebuild(inventory, entry);
    return;
  }
  if (from == log.end()) return;
  if (stamp_.size() < entry.costs.size()) stamp_.resize(entry.costs.size(), 0);
  ++stamp_now_;
  slots_.clear();
  for (const uint32_t slot : log.since(from)) {
    if (stamp_[slot] == stamp_now_) continue;
    stamp_[slot] = stamp_now_;
    slots_.push_back(slot);
  }
  compute(inventory, inventory.shape(entry.shape));
  for (size_t i = 0; i < slots_.size(); ++i) entry.costs[slots_[i]] = costs_[i];
  // Past this share a fresh tree is less work than so many walks to the root.
  if (slots_.size() * static_cast<size_t>(std::bit_width(entry.leaves)) > entry.leaves) {
    rebuild_tree(inventory, entry);
    return;
  }
  for (const uint32_t slot : slots_) {
    for (uint32_t at = (entry.leaves + slot) / 2; at >= 1; at /= 2) {
      const uint32_t left = entry.winner[2 * at];
      const uint32_t right = entry.winner[2 * at + 1];
      entry.winner[at] = better(inventory, entry, left, right) ? left : right;
    }
  }
}

}  // namespace mainspring::placement
