// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/scarcity.h"

#include <algorithm>
#include <bit>
#include <map>

#include "mainspring/base/check.h"

namespace mainspring::placement {

namespace {

constexpr int64_t kPpm = 1'000'000;
// Demand reaches this percentage of what is left of a set of models, or of the slots of a class.
constexpr int64_t kModelPercent = 85;
constexpr int64_t kSlotPercent = 70;
constexpr int64_t kCpuPercentOfClass = 125;
// Before anything is known, every model has its lovers: so many devices' worth, in equal parts. It
// makes pods without wishes begin with the models that there are most of.
constexpr int64_t kUnknownGpuMilli = 35'000;
constexpr int64_t kUnknownCoresPerGpu = 4;
// A larger product than this would overflow; free amounts are cut there.
constexpr int64_t kFreeMax = int64_t{1} << 42;

struct Amount {
  int64_t gpu_milli = 0;
  int64_t cpu_milli = 0;
};

// To five significant bits: what is nearly at a threshold does not cross it with every pod.
int64_t coarse(int64_t amount) {
  if (amount <= 0) return 0;
  const int drop = std::max(0, static_cast<int>(std::bit_width(static_cast<uint64_t>(amount))) - 5);
  return amount >> drop << drop;
}

int64_t part_ppm(int64_t part, int64_t whole) {
  return static_cast<int64_t>(static_cast<__int128>(part) * kPpm / whole);
}

}  // namespace

Scarcity::Scarcity(std::span<const DemandEntry> demand, uint64_t models_present) {
  find_sets(demand, models_present);
  find_slots(demand);
}

void Scarcity::find_sets(std::span<const DemandEntry> demand, uint64_t models_present) {
  if (models_present == 0) return;
  std::map<uint64_t, Amount> by_models;
  const int64_t unknown = kUnknownGpuMilli / std::popcount(models_present);
  for (uint64_t rest = models_present; rest != 0; rest &= rest - 1) {
    by_models[rest & -rest] = {unknown, unknown * kUnknownCoresPerGpu};
  }
  for (const DemandEntry& entry : demand) {
    const uint64_t models = entry.models & models_present;
    if (entry.gpu_count == 0 || models == 0) continue;
    Amount& amount = by_models[models];
    amount.gpu_milli += int64_t{entry.gpu_count} * entry.gpu_milli * entry.weight;
    amount.cpu_milli += entry.cpu_milli * entry.weight;
  }
  int64_t total = 0;
  for (const auto& [models, amount] : by_models) total += amount.gpu_milli;
  if (total <= 0) return;
  for (const auto& [models, amount] : by_models) {
    if (models == models_present) continue;
    Amount within;
    for (const auto& [others, other] : by_models) {
      if ((others & ~models) != 0) continue;
      within.gpu_milli += other.gpu_milli;
      within.cpu_milli += other.cpu_milli;
    }
    sets_.push_back({models, part_ppm(within.gpu_milli, total),
                     static_cast<int64_t>(static_cast<__int128>(within.cpu_milli) * 1000 / total)});
  }
  if (sets_.size() <= kSetsMax) return;
  std::ranges::stable_sort(sets_, std::ranges::greater{}, &Set::gpu_ppm);
  sets_.resize(kSetsMax);
}

// Pods of one width whose CPU amounts are within a factor are one class.
void Scarcity::find_slots(std::span<const DemandEntry> demand) {
  struct Wide {
    uint32_t gpus = 0;
    int64_t cpu_milli = 0;  // sum of its pods
    int64_t pods = 0;
    int64_t gpu_milli = 0;
    int64_t cpu_least = 0;
  };
  std::map<std::pair<uint32_t, int64_t>, int64_t> pods_of_size;
  int64_t total = 0;
  for (const DemandEntry& entry : demand) {
    total += int64_t{entry.gpu_count} * entry.gpu_milli * entry.weight;
    if (entry.gpu_count < 2 || entry.weight <= 0) continue;
    pods_of_size[{entry.gpu_count, entry.cpu_milli}] += entry.weight;
  }
  std::vector<Wide> classes;
  for (const auto& [size, pods] : pods_of_size) {
    const auto& [gpus, cpu_milli] = size;
    if (classes.empty() || classes.back().gpus != gpus ||
        cpu_milli * 100 > classes.back().cpu_least * kCpuPercentOfClass) {
      classes.push_back({.gpus = gpus, .cpu_least = cpu_milli});
    }
    Wide& wide = classes.back();
    wide.cpu_milli += cpu_milli * pods;
    wide.pods += pods;
    wide.gpu_milli += int64_t{gpus} * 1000 * pods;
  }
  if (classes.size() > kSlotClassesMax) {
    std::ranges::stable_sort(classes, std::ranges::greater{}, &Wide::gpu_milli);
    classes.resize(kSlotClassesMax);
  }
  for (const Wide& wide : classes) {
    int64_t larger = 0;
    for (const Wide& other : classes) {
      if (other.gpus >= wide.gpus && other.cpu_least >= wide.cpu_least) larger += other.gpu_milli;
    }
    slots_[slot_count_++] = {wide.gpus, wide.cpu_milli / wide.pods, part_ppm(larger, total), false};
  }
}

bool Scarcity::observe(std::span<const ModelFree> by_model, std::span<const int64_t> slots_free) {
  MAINSPRING_CHECK(slots_free.size() >= slot_count_, "a count for each class of slots");
  int64_t all = 0;
  for (const ModelFree& free : by_model) all += free.gpu_milli;
  all = coarse(std::min(all, kFreeMax));
  bool changed = false;
  const auto set = [&changed](bool& flag, bool now) {
    changed = changed || flag != now;
    flag = now;
    return now;
  };
  const auto nearly_used = [](__int128 demand, int64_t free, int64_t percent) {
    return demand * 100 >= static_cast<__int128>(coarse(free)) * kPpm * percent;
  };
  any_model_scarce_ = false;
  for (Set& models : sets_) {
    ModelFree left;
    for (uint64_t rest = models.models; rest != 0; rest &= rest - 1) {
      const auto model = static_cast<size_t>(std::countr_zero(rest));
      if (model >= by_model.size()) break;
      left.gpu_milli += by_model[model].gpu_milli;
      left.cpu_milli += by_model[model].cpu_milli;
    }
    const bool gpu =
        nearly_used(static_cast<__int128>(all) * models.gpu_ppm, left.gpu_milli, kModelPercent);
    // Milli-CPU per device times free milli-devices: thousandths of a milli-CPU.
    const bool cpu = nearly_used(static_cast<__int128>(all) * models.core_milli * (kPpm / 1000),
                                 left.cpu_milli, kModelPercent);
    any_model_scarce_ = set(models.gpu_scarce, gpu) || any_model_scarce_;
    any_model_scarce_ = set(models.cpu_scarce, cpu && models.core_milli > 0) || any_model_scarce_;
  }
  any_slot_scarce_ = false;
  for (size_t i = 0; i < slot_count_; ++i) {
    SlotClass& slot = slots_[i];
    const int64_t free_milli = slots_free[i] * slot.gpus * 1000;
    any_slot_scarce_ = set(slot.scarce, nearly_used(static_cast<__int128>(all) * slot.share_ppm,
                                                    free_milli, kSlotPercent)) ||
                       any_slot_scarce_;
  }
  return changed;
}

Scarcity::Premium Scarcity::premium(uint64_t models, size_t model) const {
  Premium premium;
  for (const Set& set : sets_) {
    if ((set.models >> model & 1) == 0 || (models & ~set.models) == 0) continue;
    if (set.gpu_scarce) premium.per_gpu = PriceTable::kUnit;
    if (set.cpu_scarce) {
      const int64_t per_core = set.gpu_ppm * PriceTable::kUnit / 1000 / set.core_milli;
      premium.per_core = std::max(
          premium.per_core, static_cast<int32_t>(std::min<int64_t>(per_core, PriceTable::kUnit)));
    }
  }
  return premium;
}

}  // namespace mainspring::placement
