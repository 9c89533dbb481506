// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/allocation_curve.h"

#include "mainspring/base/check.h"

namespace mainspring::sim {
namespace {

// numerator / denominator, rounded to the nearest whole number, ties to even.
int64_t divide_to_nearest(int64_t numerator, int64_t denominator) {
  const int64_t quotient = numerator / denominator;
  const int64_t twice_rest = 2 * (numerator % denominator);
  if (twice_rest > denominator || (twice_rest == denominator && quotient % 2 == 1)) {
    return quotient + 1;
  }
  return quotient;
}

}  // namespace

AllocationCurve::AllocationCurve(int64_t capacity_milli) : capacity_milli_(capacity_milli) {
  MAINSPRING_CHECK(capacity_milli > 0, "a share of nothing has no percent");
}

int64_t AllocationCurve::percent_arrived(int64_t arrived_milli, int64_t capacity_milli) {
  return divide_to_nearest(100 * arrived_milli, capacity_milli);
}

void AllocationCurve::arrived(int64_t gpu_milli_requested, int64_t allocated_milli) {
  MAINSPRING_CHECK(allocated_milli >= 0 && allocated_milli <= capacity_milli_,
                   "allocated GPU stays within the capacity");
  arrived_milli_ += gpu_milli_requested;
  const int64_t percent = percent_arrived(arrived_milli_, capacity_milli_);
  if (percent > kPercentMax) return;
  Point& point = points_[static_cast<size_t>(percent)];
  point.hundredths_sum += divide_to_nearest(10'000 * allocated_milli, capacity_milli_);
  ++point.count;
}

std::optional<double> AllocationCurve::at(int percent) const {
  MAINSPRING_CHECK(percent >= 0 && percent <= kPercentMax, "the curve runs from 0 to 130 percent");
  const Point& point = points_[static_cast<size_t>(percent)];
  if (point.count == 0) return std::nullopt;
  return static_cast<double>(point.hundredths_sum) / (100.0 * static_cast<double>(point.count));
}

}  // namespace mainspring::sim
