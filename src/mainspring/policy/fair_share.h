// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "mainspring/model/queue_spec.h"

// How an amount of one resource is divided among siblings: arithmetic alone, without a cluster.
//
// 1. Everyone first gets what it is promised, as far as it asks for it: min(quota, demand, limit).
//    If there is not enough for that, these amounts are scaled, each in the same proportion, and
//    nothing else is given.
// 2. What is left goes by priority, the highest level first. Within a level it is divided in
//    proportion to the weights among those who ask for more, and whoever has all it asks for leaves
//    the rest to the others (weighted max-min fairness, filled like water). A weight of 0 gets
//    nothing here. A lower level gets something only once the level above has all it asks for.
//
// Rounding. Proportional parts are exact fractions, cut down to a multiple of the unit. What the
// cuts leave is handed out in order of the largest fraction cut off, then by name, one unit each,
// or less where that already is all that one asks for. What is then left is less than a unit and
// stays undivided. So a proportional part differs from the exact fraction by less than a unit, and
// what is promised or asked for is never rounded.
//
// Follows: the result does not depend on the order of the siblings; equal siblings differ by at
// most a unit; more to divide lowers nobody's share by more than a unit.
//
// Integers only, in 128 bits where amounts are multiplied. O(n log n).

namespace mainspring::policy {

// One of the siblings. Their names differ.
struct Sharer {
  int64_t quota = 0;                  // model::kUnlimited: as much as it asks for
  int64_t limit = model::kUnlimited;  // never more than that
  int64_t weight = 1;                 // its part of what is left; see shift_weights
  int32_t priority = 0;
  int64_t demand = 0;
  std::string_view name;
};

// Weights out of shift_weights are at most so large.
inline constexpr int64_t kShiftedWeightMax = model::kWeightMax * 4000;

// The share of each, in the order given: at most min(demand, limit), together at most `amount`.
// `unit` is in 1..2^40; amounts are in 0..model::kTotalMax, weights in 0..kShiftedWeightMax.
[[nodiscard]] std::vector<int64_t> divide(int64_t amount, std::span<const Sharer> sharers,
                                          int64_t unit);

// Weights that make up for past use: each weight times its due part of the past use of all
// siblings (by weight) over the part that it really used, at least a quarter and at most four
// times, in thousandths. Whoever used nothing while others did gets four times; without any past
// use everyone gets 1000 times its weight. Weights are in 0..model::kWeightMax, `past` in any unit,
// each at least 0. O(n).
[[nodiscard]] std::vector<int64_t> shift_weights(std::span<const int64_t> weights,
                                                 std::span<const int64_t> past);

}  // namespace mainspring::policy
