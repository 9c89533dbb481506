// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "mainspring/base/result.h"
#include "mainspring/sim/allocation_curve.h"
#include "mainspring/sim/openb_orders.h"
#include "mainspring/sim/openb_trace.h"

namespace mainspring::sim {

// The published baselines on one arrival order (openb lists, static world). Decisions only: no
// clock, so the caller measures the time.

enum class BaselineKind {
  kRandom,
  kDotProduct,
  kGpuClustering,
  kGpuPacking,
  kBestFit,
  kFirstFit,
  kFgdNaive,
  kFgd,
};

// Among nodes of equal score: the first in visiting order (as published), or a random one.
enum class TieBreak { kFirst, kRandom };

inline constexpr BaselineKind kBaselineKinds[] = {
    BaselineKind::kRandom,     BaselineKind::kDotProduct, BaselineKind::kGpuClustering,
    BaselineKind::kGpuPacking, BaselineKind::kBestFit,    BaselineKind::kFirstFit,
    BaselineKind::kFgdNaive,   BaselineKind::kFgd};

// "fgd-naive" and so on, as users write them.
[[nodiscard]] std::string_view baseline_name(BaselineKind kind);
[[nodiscard]] std::optional<BaselineKind> baseline_of_name(std::string_view name);

struct OpenbInputs {
  const std::vector<OpenbNode>& nodes;
  const std::vector<OpenbPod>& pods;
  // The workload that FGD expects: the list before it was inflated, in the published runs.
  const std::vector<OpenbPod>& expected_mix;
  const OpenbOrder& order;
};

struct OpenbResult {
  AllocationCurve curve;
  int64_t arrived_pods = 0;
  int64_t placed_pods = 0;
  int64_t capacity_milli = 0;
  int64_t allocated_milli = 0;
  // FNV-1a over (node row, devices) of each arrival in turn, a refusal included.
  uint64_t run_hash = 0;
};

// One run. `seed` feeds the draws of the random baseline and of random ties. Errors: a node list
// that the baselines cannot take (see StaticWorld).
base::Result<OpenbResult> run_openb(const OpenbInputs& inputs, BaselineKind kind, uint64_t seed,
                                    TieBreak tie_break = TieBreak::kFirst);

}  // namespace mainspring::sim
