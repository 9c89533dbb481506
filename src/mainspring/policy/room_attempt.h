// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mainspring/model/placer.h"
#include "mainspring/policy/make_room.h"
#include "mainspring/policy/room_regions.h"

// One region, tried in one Trial: which of its units have to go so that the claimant fits.

namespace mainspring::policy {

class RoomAttempt {
 public:
  // `moves`: displaced jobs must find another place, and need not be displaceable by right.
  RoomAttempt(model::ClusterState& state, model::Placer& placer, const VictimPool& pool,
              const Rights& rights, model::JobIx claimant, base::Instant now, bool moves);

  // Whether the claimant fits as soon as those are gone who were asked to stop already.
  bool fits_without_anybody() { return fits(); }
  // The units that have to go, or nothing. On success the Trial is left with them gone and every
  // place proposed, for `room`.
  bool find(std::span<const uint32_t> units, uint32_t strict_units_max);
  [[nodiscard]] Room room() const;
  [[nodiscard]] int64_t lost_gpu_ms() const;
  [[nodiscard]] int32_t highest_priority() const;
  [[nodiscard]] int64_t displaced_gpu_milli() const;
  [[nodiscard]] int64_t largest_gpu_milli() const;
  [[nodiscard]] size_t victims() const { return taken_.size(); }

 private:
  struct Taken {
    uint32_t unit = 0;
    model::DisplaceRule rule = model::DisplaceRule::kPreempt;
    std::vector<model::PodIx> pods;  // vacated with it
    int64_t gpu_milli = 0;           // that they held
  };

  void take(uint32_t unit);
  void advance(std::span<const uint32_t> units, size_t count);
  bool enough_in_sum() const;
  bool fits();
  bool move_others();
  bool shortest_prefix(std::span<const uint32_t> units);
  void join_whole_jobs();
  void put_back_spared();
  bool put_back(const Taken& taken);
  [[nodiscard]] bool try_without_each(uint32_t strict_units_max);
  bool needed_in_sum(const Taken& taken) const;
  bool holds() const;

  model::ClusterState& state_;
  model::Placer& placer_;
  const VictimPool& pool_;
  const Rights& rights_;
  model::JobIx claimant_;
  base::Instant now_;
  bool moves_;
  model::Trial trial_;
  model::Trial::Mark base_ = 0;  // everybody gone who goes anyway
  std::vector<Taken> taken_;
  std::vector<model::Trial::Mark> marks_;  // before the unit at that position was looked at
  std::vector<size_t> taken_before_;       // units taken before that position
};

}  // namespace mainspring::policy
