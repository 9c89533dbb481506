// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mainspring/model/rule_view.h"

// What would be free, while a search tries things: copies of the nodes that it touches, with undo.
// The inventory is only read, so that a search that ends with "no" leaves no trace anywhere.

namespace mainspring::placement {

class Bins {
 public:
  using Mark = size_t;

  // What the search looks at: nodes that differ in anything else count as equal. The spans stay the
  // caller's.
  struct Watched {
    std::span<const model::LevelIx> levels;
    std::span<const model::NameIx> label_keys;
    std::span<const uint32_t> named;         // sorted slots; they equal no other
    bool besides = false;                    // other resources and volumes
    const model::RuleView* rules = nullptr;  // none: no pod of the search has to do with rules
  };

  // Starts over from the inventory as it is now. O(1), not O(nodes).
  void begin(const model::Inventory& inventory, const Watched& watched);

  [[nodiscard]] std::span<const model::Gpu> gpus(uint32_t node_slot) const;
  [[nodiscard]] const model::Free& free(uint32_t node_slot) const;
  [[nodiscard]] const model::Free& domain_free(model::DomainIx domain) const;

  // How many pods of the shape fit, at most `limit`, whatever its labels.
  [[nodiscard]] int64_t fit(const model::Shape& shape, uint32_t node_slot, int64_t limit) const;

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
    uint32_t first_other = 0;
    uint32_t other_count = 0;
    uint64_t fixed_key = 0;
    uint64_t key = 0;
    uint64_t guests = 0;  // which pods were put there, where rules make a difference
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
  [[nodiscard]] std::span<const model::OtherResource> others(uint32_t node_slot) const;
  [[nodiscard]] bool volumes_fit(const model::Shape& shape, uint32_t node_slot) const;
  void book_guests(Bin& bin, const model::Shape& shape, int64_t pods) const;
  void book_others(const Bin& bin, const model::Shape& shape, int64_t pods);
  [[nodiscard]] uint64_t key_of(const Bin& bin) const;
  static uint64_t full_key(uint64_t fixed, const model::Resources& free,
                           std::span<const model::Gpu> gpus,
                           std::span<const model::OtherResource> others);

  const model::Inventory* inventory_ = nullptr;
  Watched watched_;
  model::NameIx name_key_ = 0;  // of a requirement on the node's name
  uint64_t epoch_ = 0;
  uint64_t hash_ = 0;
  std::vector<Stamped> bin_of_;  // by node slot
  std::vector<Bin> bins_;
  std::vector<model::Gpu> gpus_;
  std::vector<model::OtherResource> others_;
  std::vector<DomainRow> domains_;  // by domain slot
  std::vector<Step> log_;
};

}  // namespace mainspring::placement
