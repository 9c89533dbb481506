// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "mainspring/placement/price_table.h"

// What is about to run out for pods that have no other choice, so that pods that have one pay more
// for it.
//
// Two such things: devices (and the CPU beside them) of GPU models that some pods insist on, and
// slots, that is wholly free devices of one node for pods that want several, with the CPU that such
// a pod takes. For each the test is Hall's: if the cluster filled up with the mix seen so far,
// would what only these can use nearly use up what is left of them? Integers only; a pure function
// of demand and free amounts.

namespace mainspring::placement {

// Free on usable nodes. Devices of which less than a fifth is free do not count.
struct ModelFree {
  int64_t gpu_milli = 0;
  int64_t cpu_milli = 0;
};

// A class of pods of several devices and similar CPU.
struct SlotClass {
  uint32_t gpus = 0;
  int64_t cpu_milli = 0;  // mean of these pods
  int64_t share_ppm = 0;  // of the GPU demand: these pods, and those that ask for no less
  bool scarce = false;

  [[nodiscard]] uint32_t fit(uint32_t wholes, int64_t cpu_free_milli) const {
    const uint32_t by_gpus = wholes / gpus;
    if (int64_t{by_gpus} * cpu_milli <= cpu_free_milli) return by_gpus;
    return static_cast<uint32_t>(cpu_free_milli / cpu_milli);
  }
  // Of PriceTable::kUnit, for each slot that a pod destroys.
  [[nodiscard]] int32_t price() const {
    return scarce ? PriceTable::kUnit / 4 * static_cast<int32_t>(gpus) : 0;
  }
};

class Scarcity {
 public:
  static constexpr size_t kSlotClassesMax = 8;
  static constexpr size_t kSetsMax = 32;

  Scarcity() = default;
  // The `models` of an entry are those, of the ones present, that its pods can use.
  Scarcity(std::span<const DemandEntry> demand, uint64_t models_present);

  // True when anything became scarce or plentiful. `slots_free` counts, by class, what fits on all
  // nodes together. O(sets × models).
  bool observe(std::span<const ModelFree> by_model, std::span<const int64_t> slots_free);

  // What a pod that can use `models` pays for a device of `model`, per whole device, and for a core
  // beside it.
  struct Premium {
    int32_t per_gpu = 0;
    int32_t per_core = 0;
  };
  [[nodiscard]] Premium premium(uint64_t models, size_t model) const;
  [[nodiscard]] bool any_model_scarce() const { return any_model_scarce_; }
  [[nodiscard]] std::span<const SlotClass> slots() const { return {slots_.data(), slot_count_}; }
  [[nodiscard]] bool any_slot_scarce() const { return any_slot_scarce_; }

 private:
  // Models that some pods can only choose among.
  struct Set {
    uint64_t models = 0;
    int64_t gpu_ppm = 0;     // their part of the GPU demand
    int64_t core_milli = 0;  // their milli-CPU per device of all GPU demand
    bool gpu_scarce = false;
    bool cpu_scarce = false;
  };

  void find_sets(std::span<const DemandEntry> demand, uint64_t models_present);
  void find_slots(std::span<const DemandEntry> demand);

  std::vector<Set> sets_;
  std::array<SlotClass, kSlotClassesMax> slots_{};
  size_t slot_count_ = 0;
  bool any_model_scarce_ = false;
  bool any_slot_scarce_ = false;
};

}  // namespace mainspring::placement
