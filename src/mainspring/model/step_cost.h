// SPDX-License-Identifier: Apache-2.0 tidy: allow(unused-header) predict/ comes later
#pragma once

#include <cstdint>
#include <span>

#include "mainspring/model/tables.h"

// How much slower a job runs when it is spread: a table of predictions, as the search sees it.
// To be implemented in predict/ and handed down by engine/; until that room exists, the search goes
// by the levels that a job prefers.

namespace mainspring::model {

class StepCost {
 public:
  virtual ~StepCost() = default;

  // Predicted time of one step of the job, in nanoseconds, when its pods lie in this many domains
  // of each level (indexed by LevelIx; 0 where the level does not concern it). Smaller is better;
  // pure.
  [[nodiscard]] virtual int64_t step_ns(const Job& job, std::span<const int32_t> domains) const = 0;
};

}  // namespace mainspring::model
