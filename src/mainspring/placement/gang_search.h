// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "mainspring/model/placer.h"
#include "mainspring/placement/backtrack.h"
#include "mainspring/placement/job_demand.h"
#include "mainspring/placement/scorer.h"
#include "mainspring/placement/shape_index.h"

// WHERE: finds the places of a whole job, or says that there are none.

namespace mainspring::placement {

struct GangSearchOptions {
  SearchLimits limits;
  int64_t growth_steps_max = 2'000;    // for each child group above the minimum
  size_t index_costs_max = 2'000'000;  // see ShapeIndex
};

// Keeps caches of one ClusterState: one GangSearch for each, and never for two.
class GangSearch final : public model::Placer {
 public:
  explicit GangSearch(const Scorer& scorer, const GangSearchOptions& options = {});

  // The verdict of a "no" is coarse: its code, and the first pod or group that found no place. A
  // single pod costs O(nodes changed since its shape was last asked for + log nodes).
  model::Verdict place(model::Trial& trial, const model::PlaceRequest& request) override;

  // Choices that the last call made beyond its first descent.
  [[nodiscard]] int64_t steps() const { return search_.steps(); }

 private:
  SearchEnd find_least();
  void grow();
  void count_used();
  void grow_group(uint32_t group, uint32_t scope);
  void book(model::Trial& trial, base::Interval when);
  [[nodiscard]] model::Verdict refusal(const model::ClusterState& state, const model::Job& job,
                                       SearchEnd end) const;

  GangSearchOptions options_;
  ShapeIndex index_;
  JobDemand demand_;
  Backtrack search_;
  std::vector<uint32_t> scope_of_group_;
  std::vector<uint32_t> used_of_run_;
  size_t moves_counted_ = 0;
  std::vector<model::DeviceMask> masks_;
};

}  // namespace mainspring::placement
