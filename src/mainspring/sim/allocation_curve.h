// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace mainspring::sim {

// The measure of the published experiment: how much of the GPU capacity is allocated, by how much
// has been asked for.
//
// Every arrival adds a point, also when it was not placed and also when it asks for no GPU: x is
// the GPU request that has arrived so far in percent of the capacity, rounded to a whole percent; y
// is what is allocated then in percent, rounded to two decimals. The curve at x is the mean over
// the points that round to x. (Weng et al., USENIX ATC 2023, Fig. 9a.)
class AllocationCurve {
 public:
  static constexpr int kPercentMax = 130;

  explicit AllocationCurve(int64_t capacity_milli);

  // After one arrival was decided. `allocated_milli` is what all placed pods hold now.
  void arrived(int64_t gpu_milli_requested, int64_t allocated_milli);

  // The x of a point: the request that has arrived, in percent of the capacity, to the nearest
  // whole.
  [[nodiscard]] static int64_t percent_arrived(int64_t arrived_milli, int64_t capacity_milli);

  // In percent; nothing where no arrival rounds to `percent` (0 ≤ percent ≤ 130).
  [[nodiscard]] std::optional<double> at(int percent) const;

 private:
  struct Point {
    int64_t hundredths_sum = 0;
    int64_t count = 0;
  };
  int64_t capacity_milli_;
  int64_t arrived_milli_ = 0;
  std::array<Point, kPercentMax + 1> points_{};
};

}  // namespace mainspring::sim
