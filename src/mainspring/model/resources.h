// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

// Amounts of what a node divides among pods. GPUs are not here: they are objects (see tables.h).

namespace mainspring::model {

enum class Resource : uint8_t { kCpuMilli, kMemoryBytes, kEphemeralBytes, kPods };
inline constexpr size_t kResourceCount = 4;

// "cpu", "memory", "ephemeral-storage", "pods".
std::string_view to_string(Resource resource);

// Every single amount that enters is at most this (the largest count that a JSON number carries
// exactly).
inline constexpr int64_t kAmountMax = int64_t{1} << 53;
// Totals over the cluster are refused above this, so that no sum in the model can overflow.
inline constexpr int64_t kTotalMax = int64_t{1} << 61;

struct Resources {
  std::array<int64_t, kResourceCount> amounts{};

  int64_t& operator[](Resource resource) { return amounts[static_cast<size_t>(resource)]; }
  int64_t operator[](Resource resource) const { return amounts[static_cast<size_t>(resource)]; }

  Resources& operator+=(const Resources& other) {
    for (size_t i = 0; i < kResourceCount; ++i) amounts[i] += other.amounts[i];
    return *this;
  }
  Resources& operator-=(const Resources& other) {
    for (size_t i = 0; i < kResourceCount; ++i) amounts[i] -= other.amounts[i];
    return *this;
  }
  friend Resources operator+(Resources left, const Resources& right) { return left += right; }
  friend Resources operator-(Resources left, const Resources& right) { return left -= right; }
  friend constexpr auto operator<=>(const Resources&, const Resources&) = default;

  // Every amount at most the other's.
  [[nodiscard]] bool within(const Resources& other) const {
    bool all = true;
    for (size_t i = 0; i < kResourceCount; ++i) all = all && amounts[i] <= other.amounts[i];
    return all;
  }
};

}  // namespace mainspring::model
