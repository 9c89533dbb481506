// SPDX-License-Identifier: Apache-2.0
#include "mainspring/policy/fair_share.h"

#include <algorithm>
#include <numeric>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "mainspring/base/rng.h"
#include "mainspring/model/resources.h"

namespace mainspring::policy {
namespace {

using model::kTotalMax;
using model::kUnlimited;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Wide = __int128;
using Shares = std::vector<int64_t>;

constexpr int64_t kGpu = 1000;

Sharer sharer(std::string_view name, int64_t quota, int64_t demand, int64_t weight = 1) {
  return {.quota = quota, .weight = weight, .demand = demand, .name = name};
}

int64_t most_of(const Sharer& one) {
  return one.limit == kUnlimited ? one.demand : std::min(one.demand, one.limit);
}

int64_t due_of(const Sharer& one) {
  return one.quota == kUnlimited ? most_of(one) : std::min(one.quota, most_of(one));
}

Wide sum_of(const Shares& shares) { return std::accumulate(shares.begin(), shares.end(), Wide{0}); }

Wide due_in_all(const std::vector<Sharer>& sharers) {
  Wide due = 0;
  for (const Sharer& one : sharers) due += due_of(one);
  return due;
}

TEST(FairShareTest, QuotaFirstThenWeight) {
  EXPECT_THAT(divide(12 * kGpu,
                     std::vector<Sharer>{sharer("a", 4 * kGpu, 100 * kGpu, 1),
                                         sharer("b", 2 * kGpu, 100 * kGpu, 2)},
                     kGpu),
              ElementsAre(6 * kGpu, 6 * kGpu));
  // Whoever asks for less leaves the rest to the others, by their weights.
  EXPECT_THAT(
      divide(12 * kGpu,
             std::vector<Sharer>{sharer("a", 0, 100 * kGpu, 1), sharer("b", 0, 100 * kGpu, 1),
                                 sharer("c", 0, 2 * kGpu, 4)},
             kGpu),
      ElementsAre(5 * kGpu, 5 * kGpu, 2 * kGpu));
  EXPECT_THAT(divide(10, std::vector<Sharer>{sharer("a", 0, 100, 0), sharer("b", 3, 100, 0)}, 1),
              ElementsAre(0, 3));
  EXPECT_THAT(divide(10, std::vector<Sharer>{}, 1), IsEmpty());
}

TEST(FairShareTest, ScalesPromisesThatDoNotFit) {
  EXPECT_THAT(divide(6 * kGpu,
                     std::vector<Sharer>{sharer("a", 8 * kGpu, 100 * kGpu),
                                         sharer("b", 4 * kGpu, 100 * kGpu)},
                     kGpu),
              ElementsAre(4 * kGpu, 2 * kGpu));
  // Unlimited is as much as is asked for; priority and weight do not enter.
  std::vector<Sharer> sharers{sharer("a", kUnlimited, 30, 5), sharer("b", 10, 50, 0)};
  sharers[0].priority = 9;
  EXPECT_THAT(divide(20, sharers, 1), ElementsAre(15, 5));
  // What a queue does not ask for is not promised to it today.
  EXPECT_THAT(divide(6, std::vector<Sharer>{sharer("a", 8, 2), sharer("b", 4, 9)}, 1),
              ElementsAre(2, 4));
}

TEST(FairShareTest, HigherPriorityTakesWhatIsLeftFirst) {
  std::vector<Sharer> sharers{sharer("a", 2, 10), sharer("b", 2, 5), sharer("c", 0, 10)};
  sharers[1].priority = 1;
  EXPECT_THAT(divide(9, sharers, 1), ElementsAre(3, 5, 1));
  EXPECT_THAT(divide(6, sharers, 1), ElementsAre(2, 4, 0));
}

TEST(FairShareTest, RoundsToWholeDevicesByLargestFractionThenName) {
  EXPECT_THAT(divide(8 * kGpu,
                     std::vector<Sharer>{sharer("c", 0, 9 * kGpu), sharer("a", 0, 9 * kGpu),
                                         sharer("b", 0, 9 * kGpu)},
                     kGpu),
              ElementsAre(2 * kGpu, 3 * kGpu, 3 * kGpu));
  EXPECT_THAT(
      divide(10 * kGpu,
             std::vector<Sharer>{sharer("a", 0, 90 * kGpu, 3), sharer("b", 0, 90 * kGpu, 4)}, kGpu),
      ElementsAre(4 * kGpu, 6 * kGpu));
  // What is asked for is not rounded: half a device, and what is then left of the other half.
  EXPECT_THAT(
      divide(4 * kGpu, std::vector<Sharer>{sharer("a", 0, 500), sharer("b", 0, 9 * kGpu)}, kGpu),
      ElementsAre(500, 3 * kGpu));
}

TEST(FairShareTest, LimitsHoldAgainstQuotaAndWeight) {
  std::vector<Sharer> sharers{sharer("a", kUnlimited, 50, 100), sharer("b", 0, 50)};
  sharers[0].limit = 3;
  EXPECT_THAT(divide(20, sharers, 1), ElementsAre(3, 17));
}

TEST(FairShareTest, ExtremesDoNotOverflow) {
  std::vector<Sharer> sharers(1000, sharer("", kUnlimited, kTotalMax, kShiftedWeightMax));
  std::vector<std::string> names;
  names.reserve(sharers.size());
  for (size_t i = 0; i < sharers.size(); ++i) names.push_back(std::to_string(i));
  for (size_t i = 0; i < sharers.size(); ++i) sharers[i].name = names[i];
  for (const int64_t quota : {kUnlimited, kTotalMax, int64_t{0}}) {
    for (Sharer& one : sharers) one.quota = quota;
    const Shares shares = divide(kTotalMax, sharers, 1);
    EXPECT_EQ(sum_of(shares), kTotalMax);
    EXPECT_LE(*std::ranges::max_element(shares) - *std::ranges::min_element(shares), 1);
  }
  EXPECT_EQ(sum_of(divide(0, sharers, kGpu)), 0);
  EXPECT_EQ(sum_of(divide(kGpu - 1, sharers, kGpu)), 0);
}

TEST(FairShareTest, PastUseShiftsWeights) {
  EXPECT_THAT(shift_weights(Shares{1, 3}, Shares{0, 0}), ElementsAre(1000, 3000));
  EXPECT_THAT(shift_weights(Shares{1, 3}, Shares{10, 30}), ElementsAre(1000, 3000));
  EXPECT_THAT(shift_weights(Shares{1, 1}, Shares{300, 100}), ElementsAre(666, 2000));
  EXPECT_THAT(shift_weights(Shares{1, 1, 2}, Shares{1000, 0, 0}), ElementsAre(250, 4000, 8000));
  EXPECT_THAT(shift_weights(Shares{0, 2}, Shares{5, 5}), ElementsAre(0, 4000));
  EXPECT_THAT(shift_weights(Shares{0, 0}, Shares{5, 5}), ElementsAre(0, 0));
  const Shares heavy(20'000, model::kWeightMax);
  const Shares used(20'000, INT64_MAX);
  EXPECT_EQ(shift_weights(heavy, used), Shares(20'000, model::kWeightMax * 1000));
}

// --- Properties ---

struct Case {
  int64_t amount = 0;
  int64_t unit = 1;
  std::vector<std::string> names;
  std::vector<Sharer> sharers;
};

// An amount: small enough to collide often, or anything, or the largest.
int64_t draw_amount(base::Rng& rng, int64_t scale) {
  switch (rng.below(12)) {
    case 0:
      return 0;
    case 1:
      return scale == 1 ? kTotalMax : scale;
    case 2:
      return rng.between(0, 40 * scale);
    default:
      return rng.between(0, 40) * scale;
  }
}

Case draw_case(uint64_t seed) {
  base::Rng rng(seed);
  Case out;
  const bool huge = rng.chance(1, 6);
  const int64_t scale = huge ? kTotalMax / 50 : kGpu;
  out.unit = rng.chance(1, 3) ? 1 : kGpu;
  const auto count = static_cast<size_t>(rng.between(1, rng.chance(1, 4) ? 40 : 6));
  out.amount = huge ? draw_amount(rng, scale)
                    : rng.between(0, static_cast<int64_t>(count) * 20) * kGpu +
                          (rng.chance(1, 3) ? rng.between(0, 999) : 0);
  for (size_t i = 0; i < count; ++i) out.names.push_back("queue-" + std::to_string(i));
  for (size_t i = 0; i < count; ++i) {
    Sharer one;
    one.name = out.names[i];
    one.quota = rng.chance(1, 10) ? kUnlimited : draw_amount(rng, scale) / rng.between(1, 4);
    one.limit = rng.chance(2, 3) ? kUnlimited : draw_amount(rng, scale);
    one.weight = rng.chance(1, 8) ? rng.between(0, kShiftedWeightMax) : rng.between(0, 4);
    one.priority = static_cast<int32_t>(rng.between(0, rng.chance(1, 2) ? 0 : 2));
    one.demand = draw_amount(rng, scale);
    if (i > 0 && rng.chance(1, 4)) {  // an equal sibling
      one = out.sharers[rng.below(i)];
      one.name = out.names[i];
    }
    out.sharers.push_back(one);
  }
  return out;
}

RC_GTEST_PROP(FairShareProperty, DoesNotDependOnTheOrder, (uint64_t seed)) {
  const Case drawn = draw_case(seed);
  const Shares shares = divide(drawn.amount, drawn.sharers, drawn.unit);
  std::vector<size_t> order(shares.size());
  std::iota(order.begin(), order.end(), size_t{0});
  base::Rng(seed + 1).shuffle(order);
  std::vector<Sharer> shuffled;
  shuffled.reserve(order.size());
  for (const size_t i : order) shuffled.push_back(drawn.sharers[i]);
  const Shares others = divide(drawn.amount, shuffled, drawn.unit);
  for (size_t i = 0; i < order.size(); ++i) RC_ASSERT(others[i] == shares[order[i]]);
}

RC_GTEST_PROP(FairShareProperty, KeepsToAmountDemandLimitAndQuota, (uint64_t seed)) {
  const Case drawn = draw_case(seed);
  const Shares shares = divide(drawn.amount, drawn.sharers, drawn.unit);
  const bool fits = due_in_all(drawn.sharers) <= drawn.amount;
  RC_ASSERT(sum_of(shares) <= drawn.amount);
  for (size_t i = 0; i < shares.size(); ++i) {
    const Sharer& one = drawn.sharers[i];
    RC_ASSERT(shares[i] >= 0);
    RC_ASSERT(shares[i] <= most_of(one));
    if (fits) RC_ASSERT(shares[i] >= due_of(one));
    if (!fits) RC_ASSERT(shares[i] <= due_of(one));
    if (fits && one.weight == 0) RC_ASSERT(shares[i] == due_of(one));
  }
}

// Within a unit of the fraction of what is promised.
RC_GTEST_PROP(FairShareProperty, ScalesInProportion, (uint64_t seed)) {
  Case drawn = draw_case(seed);
  const Wide due = due_in_all(drawn.sharers);
  if (due <= drawn.amount) drawn.amount = static_cast<int64_t>(due / 3);
  const Shares shares = divide(drawn.amount, drawn.sharers, drawn.unit);
  for (size_t i = 0; i < shares.size() && due > 0; ++i) {
    const Wide exact = Wide{drawn.amount} * due_of(drawn.sharers[i]) / due;
    RC_ASSERT(shares[i] > exact - drawn.unit);
    RC_ASSERT(shares[i] <= exact + drawn.unit);
  }
}

RC_GTEST_PROP(FairShareProperty, LeavesNothingThatIsWanted, (uint64_t seed)) {
  const Case drawn = draw_case(seed);
  const Shares shares = divide(drawn.amount, drawn.sharers, drawn.unit);
  if (drawn.amount - sum_of(shares) < drawn.unit) return;
  for (size_t i = 0; i < shares.size(); ++i) {
    RC_ASSERT(drawn.sharers[i].weight == 0 || shares[i] == most_of(drawn.sharers[i]));
  }
}

RC_GTEST_PROP(FairShareProperty, MoreToDivideTakesFromNobody, (uint64_t seed)) {
  const Case drawn = draw_case(seed);
  base::Rng rng(seed + 1);
  const int64_t more = rng.chance(1, 2) ? rng.between(0, 3 * kGpu) : rng.between(0, kTotalMax);
  const Shares before = divide(drawn.amount, drawn.sharers, drawn.unit);
  const Shares after = divide(std::min(drawn.amount + more, kTotalMax), drawn.sharers, drawn.unit);
  for (size_t i = 0; i < before.size(); ++i) RC_ASSERT(after[i] + drawn.unit >= before[i]);
}

RC_GTEST_PROP(FairShareProperty, HigherLevelsAreServedFirst, (uint64_t seed)) {
  const Case drawn = draw_case(seed);
  const Shares shares = divide(drawn.amount, drawn.sharers, drawn.unit);
  for (size_t low = 0; low < shares.size(); ++low) {
    if (shares[low] <= due_of(drawn.sharers[low])) continue;
    for (size_t high = 0; high < shares.size(); ++high) {
      const Sharer& one = drawn.sharers[high];
      if (one.priority <= drawn.sharers[low].priority || one.weight == 0) continue;
      RC_ASSERT(shares[high] == most_of(one));
    }
  }
}

// Max-min: nobody is ahead of one who still wants more, by weight and but for a unit each.
RC_GTEST_PROP(FairShareProperty, NobodyIsAheadOfOneWhoWantsMore, (uint64_t seed)) {
  const Case drawn = draw_case(seed);
  if (due_in_all(drawn.sharers) > drawn.amount) return;
  const Shares shares = divide(drawn.amount, drawn.sharers, drawn.unit);
  const auto extra = [&](size_t i) { return Wide{shares[i]} - due_of(drawn.sharers[i]); };
  for (size_t poor = 0; poor < shares.size(); ++poor) {
    const Sharer& one = drawn.sharers[poor];
    if (one.weight == 0 || shares[poor] == most_of(one)) continue;
    for (size_t rich = 0; rich < shares.size(); ++rich) {
      const Sharer& other = drawn.sharers[rich];
      if (other.weight == 0 || other.priority != one.priority) continue;
      RC_ASSERT((extra(rich) - drawn.unit) * one.weight <=
                (extra(poor) + drawn.unit) * other.weight);
    }
  }
}

RC_GTEST_PROP(FairShareProperty, EqualsDifferByAUnitAtMost, (uint64_t seed)) {
  const Case drawn = draw_case(seed);
  const Shares shares = divide(drawn.amount, drawn.sharers, drawn.unit);
  for (size_t i = 0; i < shares.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      Sharer other = drawn.sharers[j];
      const Sharer& one = drawn.sharers[i];
      const bool equal = one.quota == other.quota && one.limit == other.limit &&
                         one.weight == other.weight && one.priority == other.priority &&
                         one.demand == other.demand;
      if (equal) RC_ASSERT(std::abs(shares[i] - shares[j]) <= drawn.unit);
    }
  }
}

RC_GTEST_PROP(FairShareProperty, ShiftedWeightsStayWithinAFactorOfFour, (uint64_t seed)) {
  base::Rng rng(seed);
  Shares weights;
  Shares past;
  for (int64_t i = rng.between(1, 30); i > 0; --i) {
    weights.push_back(rng.chance(1, 4) ? rng.between(0, model::kWeightMax) : rng.between(0, 5));
    past.push_back(rng.chance(1, 4) ? rng.between(0, INT64_MAX) : rng.between(0, 100));
  }
  const Shares shifted = shift_weights(weights, past);
  for (size_t i = 0; i < weights.size(); ++i) {
    RC_ASSERT(shifted[i] >= weights[i] * 250);
    RC_ASSERT(shifted[i] <= weights[i] * 4000);
    for (size_t j = 0; j < weights.size(); ++j) {
      // Of equal weights, whoever used less has more of what is left.
      if (weights[i] == weights[j] && past[i] <= past[j]) RC_ASSERT(shifted[i] >= shifted[j]);
    }
  }
}

}  // namespace
}  // namespace mainspring::policy
