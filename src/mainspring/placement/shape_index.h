// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "mainspring/placement/scorer.h"

// For each shape, the nodes where one pod of it fits, best first: by cost, then by the node's rank.
//
// The first time that a shape is asked for costs one pass over the nodes. From the second time on
// its costs are kept under a winner tree and brought up to date from the inventory's change log:
// O(nodes changed since then × log nodes). The number of costs kept is bounded; the shapes used
// longest ago go first. Belongs to one inventory for good.

namespace mainspring::placement {

class ShapeIndex {
 public:
  ShapeIndex(const Scorer& scorer, size_t costs_max) : scorer_(scorer), costs_max_(costs_max) {}

  // Best-first enumeration over the inventory as it was at `open`; valid until the next `begin`.
  class Cursor {
   public:
    // The next node, or false when there is none left. O(log nodes).
    bool next(uint32_t& node_slot);

   private:
    friend class ShapeIndex;
    struct Ranked {
      int64_t cost = 0;
      uint32_t rank = 0;
      uint32_t slot = 0;  // of the node; in a tree walk, the winner of a subtree
      uint32_t tree = 0;  // that subtree's root
      friend auto operator<=>(const Ranked&, const Ranked&) = default;
    };
    void push_tree(uint32_t tree);

    const ShapeIndex* index_ = nullptr;
    const model::Inventory* inventory_ = nullptr;
    uint32_t entry_ = 0;
    bool walks_tree_ = false;
    // Only the front of heap_ is in place: most searches want no more than the best.
    bool front_only_ = false;
    bool front_taken_ = false;
    std::vector<Ranked> heap_;
  };

  // The inventory may have changed; cursors opened before are dead.
  void begin() { ++epoch_; }
  void open(const model::Inventory& inventory, model::ShapeIx shape, Cursor& cursor);

  [[nodiscard]] size_t costs_kept() const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Entry {
    model::ShapeIx shape;
    uint64_t log_position = 0;
    uint64_t scorer_version = 0;
    uint64_t used_epoch = 0;
    uint32_t leaves = 0;           // a power of two, at least the number of node slots
    std::vector<int64_t> costs;    // by node slot
    std::vector<uint32_t> winner;  // heap order, root at 1: the slot of the best node below
  };

  [[nodiscard]] bool better(const model::Inventory& inventory, const Entry& entry, uint32_t left,
                            uint32_t right) const;
  // Costs of `slots_` into `costs_`, kNoFit where labels, taints or readiness forbid.
  void compute(const model::Inventory& inventory, const model::Shape& shape);
  void open_once(const model::Inventory& inventory, model::ShapeIx shape, Cursor& cursor);
  uint32_t entry_for(model::ShapeIx shape);
  void evict(size_t room);
  void rebuild(const model::Inventory& inventory, Entry& entry);
  void rebuild_tree(const model::Inventory& inventory, Entry& entry);
  void catch_up(const model::Inventory& inventory, Entry& entry);

  const Scorer& scorer_;
  size_t costs_max_;
  uint64_t epoch_ = 1;
  std::vector<uint32_t> entry_of_shape_;  // kNone: not kept
  std::vector<uint8_t> seen_;             // by shape: asked for before
  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;
  std::vector<int64_t> costs_;
  std::vector<uint64_t> stamp_;  // by node slot: to look at each changed node once
  uint64_t stamp_now_ = 0;
};

}  // namespace mainspring::placement
