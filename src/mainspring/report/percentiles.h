// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "mainspring/base/instant.h"

namespace mainspring::report {

// By nearest rank: the smallest of the values that so many percent of them do not exceed.
struct Percentiles {
  int64_t count = 0;
  base::Duration p50;
  base::Duration p90;
  base::Duration p95;
  base::Duration p99;
};
// All zero for no values. O(n log n).
Percentiles percentiles_of(std::vector<int64_t> values_ms);

// How far the slow ones lag behind the typical ones: p90 against p50.
enum class Spread : uint8_t {
  kNoData,  // nothing to judge
  kMet,     // at most 1.5 times
  kMissed,
  kAlert,  // more than twice
};
std::string_view to_string(Spread spread);
Spread spread_of(const Percentiles& percentiles);

}  // namespace mainspring::report
