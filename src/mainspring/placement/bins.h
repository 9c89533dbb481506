// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mainspring/model/inventory.h"

// What would be free, while a search tries things: copies of the nodes that it touches, with undo.
// The inventory is only read, so that a search that ends with "no" leaves no trace anywhere.

namespace mainspring::placement {

class Bins {
 public:
  using Mark = size_t;

  // Starts over from the inventory as it is now. `levels` and `label_keys` are those that the
  // search looks at: nodes that differ in others count as equal; those in `named` (sorted slots)
  // equal no other. The spans stay the caller's. O(1), not O(nodes).
  void begin(const model::Inventory& inventory, std::span<const model::LevelIx> levels,
             std::span<const model::NameIx> label_keys, std::span<const uint32_t> named);

  [[nodiscard]] std::span<const model::Gpu> gpus(uint32_t node_slot) const;
  [[nodiscard]] const model::Free& free(uint32_t node_slot) const;
  [[nodiscard]] const model::Free& domain_free(model::DomainIx domain) const;

  // Books the resources of `pods` pods; their devices are booked apart.
  void take(uint32_t node_slot, const model::Shape& shape, int64_t pods);
  // Books the part of one pod on this device, `units` times.
  void take_device(uint32_t node_slot, const model::Shape& shape, size_t device, int64_t units);

  [[nodiscard]] Mark mark() const { return log_.size(); }
  void undo(Mark mark);

  // Equal for nodes that are interchangeable in this search, domains included.
  [[nodiscard]] uint64_t key(uint32_t node_slot) const;
  // The same, whatever its domain of this level.
  [[nodiscard]] uint64_t key_without(uint32_t node_slot, model::LevelIx level) const;
  // Equal for states that differ by a swap of interchangeable nodes only.
  [[nodiscard]] uint64_t hash() const { return hash_; }

 private:
  static constexpr size_t kNoDevice = SIZE_MAX;

  struct Bin {
    uint32_t slot = 0;
    uint32_t first_gpu = 0;
    uint32_t gpu_count = 0;
    uint64_t fixed_key = 0;
    uint64_t key = 0;
    model::Free free;
  };
  struct Step {
    uint32_t bin = 0;
    const model::Shape* shape = nullptr;
    size_t device = kNoDevice;
    int64_t times = 0;
    uint64_t key_before = 0;
    model::Free free_before;
  };
  struct Stamped {
    uint64_t epoch = 0;
    uint32_t bin = 0;
  };
  struct DomainRow {
    uint64_t epoch = 0;
    model::Free free;
  };

  [[nodiscard]] const Bin* find(uint32_t node_slot) const;
  Bin& touch(uint32_t node_slot);
  void apply(Bin& bin, const Step& step, int64_t sign);
  void set_free(Bin& bin, const model::Free& free);
  [[nodiscard]] uint64_t fixed_key(uint32_t node_slot, model::LevelIx without) const;
  static uint64_t full_key(uint64_t fixed, const model::Resources& free,
                           std::span<const model::Gpu> gpus);

  const model::Inventory* inventory_ = nullptr;
  std::span<const model::LevelIx> levels_;
  std::span<const model::NameIx> label_keys_;
  std::span<const uint32_t> named_;
  uint64_t epoch_ = 0;
  uint64_t hash_ = 0;
  std::vector<Stamped> bin_of_;  // by node slot
  std::vector<Bin> bins_;
  std::vector<model::Gpu> gpus_;
  std::vector<DomainRow> domains_;  // by domain slot
  std::vector<Step> log_;
};

}  // namespace mainspring::placement
