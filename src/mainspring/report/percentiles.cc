// SPDX-License-Identifier: Apache-2.0
#include "mainspring/report/percentiles.h"

#include <algorithm>

namespace mainspring::report {

Percentiles percentiles_of(std::vector<int64_t> values_ms) {
  Percentiles result;
  result.count = static_cast<int64_t>(values_ms.size());
  if (values_ms.empty()) return result;
  std::ranges::sort(values_ms);
  const auto at = [&values_ms](size_t percent) {
    const size_t rank = (values_ms.size() * percent + 99) / 100;
    return base::Duration{values_ms[rank - 1]};
  };
  result.p50 = at(50);
  result.p90 = at(90);
  result.p95 = at(95);
  result.p99 = at(99);
  return result;
}

std::string_view to_string(Spread spread) {
  switch (spread) {
    case Spread::kNoData:
      return "no_data";
    case Spread::kMet:
      return "met";
    case Spread::kMissed:
      return "missed";
    case Spread::kAlert:
      return "alert";
  }
  return "unknown";
}

Spread spread_of(const Percentiles& percentiles) {
  if (percentiles.count == 0) return Spread::kNoData;
  const int64_t p50 = percentiles.p50.ms;
  const int64_t p90 = percentiles.p90.ms;
  if (p90 - p50 <= p50 / 2) return Spread::kMet;
  return p90 - p50 > p50 ? Spread::kAlert : Spread::kMissed;
}

}  // namespace mainspring::report
