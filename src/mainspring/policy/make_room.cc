// SPDX-License-Identifier: Apache-2.0
#include "mainspring/policy/make_room.h"

#include <algorithm>
#include <memory>

#include "mainspring/policy/lost_work.h"
#include "mainspring/policy/room_attempt.h"
#include "mainspring/policy/room_regions.h"

namespace mainspring::policy {

using base::Instant;
using model::ClusterState;
using model::DisplaceRule;
using model::Job;
using model::JobIx;

namespace {

constexpr size_t kAlternativesMax = 4;

class RoomSearch {
 public:
  RoomSearch(ClusterState& state, model::Placer& placer, const VictimPool& pool,
             const Rights& rights, JobIx claimant, Instant now, const RoomLimits& limits,
             bool moves)
      : state_(state),
        placer_(placer),
        pool_(pool),
        rights_(rights),
        claimant_(claimant),
        now_(now),
        limits_(limits),
        moves_(moves) {}

  RoomAnswer run() {
    RoomAnswer answer;
    if (!find_eligible(answer) || !enough_in_sum()) return answer;
    const auto regions =
        regions_for(state_, pool_, eligible_, state_.job(claimant_), limits_.regions_max);
    uint32_t found = 0;
    for (const Region& region : regions) {
      if (found == limits_.regions_found) break;
      if (try_region(region, answer.room)) ++found;
    }
    if (answer.room) {
      answer.retry_at = Instant::never();
      answer.room->alternatives = std::move(alternatives_);
    }
    return answer;
  }

 private:
  bool find_eligible(RoomAnswer& answer) {
    const std::span<const VictimUnit> units = pool_.units();
    eligible_.assign(units.size(), false);
    bool any = false;
    for (size_t i = 0; i < units.size(); ++i) {
      const Job& job = state_.job(units[i].job);
      if (units[i].job == claimant_ || job.releasing || job.promised()) continue;
      const auto rule = moves_ ? std::optional(DisplaceRule::kConsolidate) : rights_.rule_for(job);
      if (!rule || (moves_ && !units[i].whole)) continue;
      if (moves_ && units[i].lost_gpu_ms > moves_lost_most()) continue;
      const Instant until = rights_.protected_until(job, *rule);
      if (until > now_) {
        answer.retry_at = std::min(answer.retry_at, until);
        continue;
      }
      eligible_[i] = any = true;
    }
    return any;
  }

  // A bound before anything is tried: everything eligible gone, in sum.
  [[nodiscard]] bool enough_in_sum() const {
    int64_t gpu_milli = state_.inventory().total_free().gpu_milli;
    if (moves_) return gpu_milli >= rights_.least()[model::kGpuDimension];
    gpu_milli += gpu_milli_of(state_, pool_.stopping());
    for (size_t i = 0; i < eligible_.size(); ++i) {
      const VictimUnit& unit = pool_.units()[i];
      if (eligible_[i] && unit.whole) gpu_milli += unit.gpu_milli;
    }
    return gpu_milli >= rights_.least()[model::kGpuDimension];
  }

  bool try_region(const Region& region, std::optional<Room>& best) {
    RoomAttempt attempt(state_, placer_, pool_, rights_, claimant_, now_, moves_);
    if (!attempt.find(region.units, limits_.strict_units_max)) return false;
    if (!acceptable(attempt)) return false;
    const model::Alternative way{region.where, static_cast<int64_t>(attempt.victims()),
                                 attempt.lost_gpu_ms()};
    const std::pair<int32_t, int64_t> price{attempt.highest_priority(), way.lost_gpu_ms};
    if (best && best_price_ <= price) {
      add_alternative(way);
      return true;
    }
    best_price_ = price;
    if (best) add_alternative(best_way_);
    best = attempt.room();
    best_way_ = way;
    return true;
  }

  void add_alternative(const model::Alternative& way) {
    if (alternatives_.size() < kAlternativesMax) alternatives_.push_back(way);
  }

  // The work that moves for the claimant may lose.
  [[nodiscard]] __int128 moves_lost_most() const {
    const int64_t takes = std::max<int64_t>(rights_.least()[model::kGpuDimension], 1);
    const int64_t per_gpu_ms = state_.config().consolidate_lost_max.ms;
    return static_cast<__int128>(takes) * per_gpu_ms / model::kWholeGpuMilli;
  }

  // The bound on what may be displaced, and for moves on what they may cost.
  [[nodiscard]] bool acceptable(const RoomAttempt& attempt) const {
    const int64_t takes = std::max<int64_t>(rights_.least()[model::kGpuDimension], 1);
    if (moves_) {
      if (attempt.lost_gpu_ms() > moves_lost_most()) return false;
    } else if (rights_.within_quota()) {
      return true;
    }
    return attempt.displaced_gpu_milli() < takes + attempt.largest_gpu_milli();
  }

  ClusterState& state_;
  model::Placer& placer_;
  const VictimPool& pool_;
  const Rights& rights_;
  JobIx claimant_;
  Instant now_;
  RoomLimits limits_;
  bool moves_;
  std::vector<bool> eligible_;
  model::Alternative best_way_;
  std::pair<int32_t, int64_t> best_price_;  // the highest priority that goes, and the work lost
  std::vector<model::Alternative> alternatives_;
};

}  // namespace

std::optional<Room> await_room(ClusterState& state, model::Placer& placer, const VictimPool& pool,
                               const Rights& rights, JobIx claimant, Instant now) {
  if (pool.stopping().empty()) return std::nullopt;
  RoomAttempt attempt(state, placer, pool, rights, claimant, now, false);
  if (!attempt.fits_without_anybody()) return std::nullopt;
  return attempt.room();
}

RoomAnswer make_room(ClusterState& state, model::Placer& placer, const VictimPool& pool,
                     const Rights& rights, JobIx claimant, Instant now, const RoomLimits& limits) {
  return RoomSearch(state, placer, pool, rights, claimant, now, limits, false).run();
}

RoomAnswer make_hole(ClusterState& state, model::Placer& placer, const VictimPool& pool,
                     const Rights& rights, JobIx claimant, Instant now, const RoomLimits& limits) {
  return RoomSearch(state, placer, pool, rights, claimant, now, limits, true).run();
}

}  // namespace mainspring::policy
