// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/model/cluster_state.h"
#include "mainspring/model/placer.h"
#include "mainspring/model/plan.h"
#include "mainspring/policy/rights.h"
#include "mainspring/policy/victims.h"

// The cheapest way to make room for a job: one mechanism for preempt, reclaim and consolidate. Low
// priority goes before high, then what loses less work.
//
// Region by region (a node for a single pod, a domain of the required level or the cluster for a
// gang), the cheapest first: the shortest run of units, in order of price, without which the job
// fits, found by doubling and halving; then every unit that need not go is put back. Free space
// counts first, and what those leave who were asked to stop already; the Placer places the claimant
// in a Trial with the units gone, and the rights are asked again of that whole result. Work is
// bounded by counts, never by time.
//
// No unit can be left out of what is found. The devices displaced are at most those that the job
// takes plus the largest victim less one, except for a job within its queue's quota: small gangs
// scattered over many nodes must not keep a team from what it owns.

namespace mainspring::policy {

struct RoomVictim {
  model::JobIx job;
  std::vector<model::PodIx> pods;
  bool whole = true;
  model::DisplaceRule rule = model::DisplaceRule::kPreempt;
};

struct Room {
  model::DisplaceRule rule = model::DisplaceRule::kPreempt;
  std::vector<RoomVictim> victims;  // by job id
  // Of the claimant first, then of those that are moved.
  std::vector<std::pair<model::JobIx, std::vector<model::Promise>>> promised;
  std::vector<model::Alternative> alternatives;
  int64_t lost_gpu_ms = 0;
};

struct RoomLimits {
  uint32_t regions_max = 64;       // regions that are tried
  uint32_t regions_found = 4;      // of these, how many that succeed are compared
  uint32_t strict_units_max = 64;  // up to so many units each is tried without
};

struct RoomAnswer {
  std::optional<Room> room;
  // Nothing was found: when the first protection ends that was in the way.
  base::Instant retry_at = base::Instant::never();
};

// Where the claimant fits as soon as those are gone who were asked to stop already. For all three:
// the state is the same afterwards, and no Trial may be open.
std::optional<Room> await_room(model::ClusterState& state, model::Placer& placer,
                               const VictimPool& pool, const Rights& rights, model::JobIx claimant,
                               base::Instant now);

// By preemption or reclaim.
RoomAnswer make_room(model::ClusterState& state, model::Placer& placer, const VictimPool& pool,
                     const Rights& rights, model::JobIx claimant, base::Instant now,
                     const RoomLimits& limits = {});

// By moving others: each has its new place before it stops.
RoomAnswer make_hole(model::ClusterState& state, model::Placer& placer, const VictimPool& pool,
                     const Rights& rights, model::JobIx claimant, base::Instant now,
                     const RoomLimits& limits = {});

}  // namespace mainspring::policy
