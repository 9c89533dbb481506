// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "mainspring/model/tables.h"

// How much slower a job runs when it is spread: a table of predictions, as the search sees it.
// Implemented in predict/, handed down by engine/.

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
