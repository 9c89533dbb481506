// SPDX-License-Identifier: Apache-2.0
#include "mainspring/policy/fair_share.h"

#include <algorithm>
#include <tuple>

#include "mainspring/base/check.h"
#include "mainspring/model/resources.h"

namespace mainspring::policy {
namespace {

using Wide = unsigned __int128;

constexpr int64_t kUnitMax = int64_t{1} << 40;
constexpr int64_t kFactorOne = 1000;
constexpr int64_t kFactorLeast = kFactorOne / 4;
constexpr int64_t kFactorMost = kFactorOne * 4;

Wide wide(int64_t amount) { return static_cast<Wide>(amount); }

// Somebody who takes part in one division.
struct Taker {
  size_t index = 0;  // among the sharers
  std::string_view name;
  int64_t weight = 0;
  int64_t wants = 0;
  Wide cut_off = 0;  // of its fraction, over the sum of the weights
};

// Every taker wants at least its exact fraction of the amount.
void give_fractions(int64_t amount, std::span<Taker> takers, int64_t unit,
                    std::vector<int64_t>& shares) {
  Wide weights = 0;
  for (const Taker& taker : takers) weights += wide(taker.weight);
  int64_t left = amount;
  for (Taker& taker : takers) {
    const Wide product = wide(amount) * wide(taker.weight);
    const auto units = static_cast<int64_t>(product / (wide(unit) * weights));
    taker.cut_off = product % (wide(unit) * weights);
    taker.wants -= units * unit;
    shares[taker.index] += units * unit;
    left -= units * unit;
  }
  std::ranges::sort(takers, [](const Taker& one, const Taker& other) {
    return std::tie(other.cut_off, one.name, one.index) <
           std::tie(one.cut_off, other.name, other.index);
  });
  for (const Taker& taker : takers) {
    const int64_t more = std::min(unit, taker.wants);
    if (more > left) continue;
    shares[taker.index] += more;
    left -= more;
  }
}

// Fills all takers alike until somebody has enough, goes on with the others, and so on. Returns
// what nobody wants; 0 if somebody wants more.
int64_t fill(int64_t amount, std::span<Taker> takers, int64_t unit, std::vector<int64_t>& shares) {
  // In the order in which they have enough.
  std::ranges::sort(takers, [](const Taker& one, const Taker& other) {
    const Wide one_level = wide(one.wants) * wide(other.weight);
    const Wide other_level = wide(other.wants) * wide(one.weight);
    return std::tie(one_level, one.name, one.index) <
           std::tie(other_level, other.name, other.index);
  });
  Wide weights = 0;
  for (const Taker& taker : takers) weights += wide(taker.weight);
  for (size_t i = 0; i < takers.size(); ++i) {
    const Taker& taker = takers[i];
    if (wide(taker.wants) * weights > wide(amount) * wide(taker.weight)) {
      give_fractions(amount, takers.subspan(i), unit, shares);
      return 0;
    }
    shares[taker.index] += taker.wants;
    amount -= taker.wants;
    weights -= wide(taker.weight);
  }
  return amount;
}

int64_t most_of(const Sharer& sharer) {
  return sharer.limit == model::kUnlimited ? sharer.demand : std::min(sharer.demand, sharer.limit);
}

void check(int64_t amount, std::span<const Sharer> sharers, int64_t unit) {
  const auto possible = [](int64_t value) { return value >= 0 && value <= model::kTotalMax; };
  MAINSPRING_CHECK(possible(amount), "an amount to divide is out of range");
  MAINSPRING_CHECK(unit >= 1 && unit <= kUnitMax, "a unit of division is out of range");
  for (const Sharer& sharer : sharers) {
    MAINSPRING_CHECK(possible(sharer.demand), "a demand is out of range");
    MAINSPRING_CHECK(sharer.quota == model::kUnlimited || possible(sharer.quota),
                     "a quota is out of range");
    MAINSPRING_CHECK(sharer.limit == model::kUnlimited || possible(sharer.limit),
                     "a limit is out of range");
    MAINSPRING_CHECK(sharer.weight >= 0 && sharer.weight <= kShiftedWeightMax,
                     "a weight is out of range");
  }
}

}  // namespace

std::vector<int64_t> divide(int64_t amount, std::span<const Sharer> sharers, int64_t unit) {
  check(amount, sharers, unit);
  std::vector<int64_t> shares(sharers.size(), 0);
  std::vector<Taker> takers;
  Wide promised = 0;
  for (size_t i = 0; i < sharers.size(); ++i) {
    const int64_t most = most_of(sharers[i]);
    const int64_t due =
        sharers[i].quota == model::kUnlimited ? most : std::min(most, sharers[i].quota);
    promised += wide(due);
    if (due > 0)
      takers.push_back({.index = i, .name = sharers[i].name, .weight = due, .wants = due});
  }
  if (promised > wide(amount)) {
    give_fractions(amount, takers, unit, shares);
    return shares;
  }
  for (const Taker& taker : takers) shares[taker.index] = taker.wants;
  amount -= static_cast<int64_t>(promised);

  std::vector<size_t> order;
  for (size_t i = 0; i < sharers.size(); ++i) {
    if (sharers[i].weight > 0 && most_of(sharers[i]) > shares[i]) order.push_back(i);
  }
  std::ranges::sort(order, [&](size_t one, size_t other) {
    return std::tie(sharers[other].priority, one) < std::tie(sharers[one].priority, other);
  });
  for (size_t i = 0; i < order.size() && amount > 0;) {
    takers.clear();
    const int32_t level = sharers[order[i]].priority;
    for (; i < order.size() && sharers[order[i]].priority == level; ++i) {
      const Sharer& sharer = sharers[order[i]];
      takers.push_back({.index = order[i],
                        .name = sharer.name,
                        .weight = sharer.weight,
                        .wants = most_of(sharer) - shares[order[i]]});
    }
    amount = fill(amount, takers, unit, shares);
  }
  return shares;
}

std::vector<int64_t> shift_weights(std::span<const int64_t> weights,
                                   std::span<const int64_t> past) {
  MAINSPRING_CHECK(weights.size() == past.size(), "weights and past uses are not of the same");
  Wide weight_sum = 0;
  Wide past_sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    MAINSPRING_CHECK(weights[i] >= 0 && weights[i] <= model::kWeightMax,
                     "a weight is out of range");
    MAINSPRING_CHECK(past[i] >= 0, "a past use is negative");
    weight_sum += wide(weights[i]);
    past_sum += wide(past[i]);
  }
  std::vector<int64_t> shifted;
  shifted.reserve(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    int64_t factor = kFactorOne;
    if (weights[i] > 0 && past_sum > 0) {
      const Wide due = wide(kFactorOne) * wide(weights[i]) * past_sum;
      const Wide used = weight_sum * wide(past[i]);
      factor =
          used == 0
              ? kFactorMost
              : static_cast<int64_t>(std::clamp(due / used, wide(kFactorLeast), wide(kFactorMost)));
    }
    shifted.push_back(weights[i] * factor);
  }
  return shifted;
}

}  // namespace mainspring::policy
