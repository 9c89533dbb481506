// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mainspring/model/cluster_state.h"
#include "mainspring/policy/victims.h"

// Where room could be made, and in which order units would be taken there.

namespace mainspring::policy {

struct Region {
  std::string where;            // a node, "level:value" of a domain, or "cluster"
  std::vector<uint32_t> units;  // numbers in the pool, in the order in which they are taken
  int64_t estimate = 0;         // of the lost work: never more than what it will be
};

// `eligible` by number of the unit. The most promising first; at most `regions_max`. O(units +
// nodes × log nodes).
std::vector<Region> regions_for(const model::ClusterState& state, const VictimPool& pool,
                                const std::vector<bool>& eligible, const model::Job& claimant,
                                uint32_t regions_max);

}  // namespace mainspring::policy
