// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

// Points and spans of time, in whole milliseconds since an epoch that the caller chooses (the Unix
// epoch on a cluster, zero in the simulator). The core reads no clock: time arrives with events.

namespace mainspring::base {

struct Duration {
  int64_t ms = 0;
  friend constexpr auto operator<=>(const Duration&, const Duration&) = default;
};

struct Instant {
  int64_t ms = 0;
  friend constexpr auto operator<=>(const Instant&, const Instant&) = default;

  // Later than every other instant: "no end is known".
  static constexpr Instant never() { return Instant{std::numeric_limits<int64_t>::max()}; }
};

constexpr Duration milliseconds(int64_t count) { return Duration{count}; }
constexpr Duration seconds(int64_t count) { return Duration{count * 1000}; }

// Saturates at `never`, which is absorbing, and at the first instant that there is.
constexpr Instant operator+(Instant at, Duration span) {
  if (at == Instant::never()) return at;
  Instant sum;
  if (!__builtin_add_overflow(at.ms, span.ms, &sum.ms)) return sum;
  return span.ms > 0 ? Instant::never() : Instant{std::numeric_limits<int64_t>::min()};
}
constexpr Duration operator-(Instant later, Instant earlier) {
  return Duration{later.ms - earlier.ms};
}

// Half open: [from, until).
struct Interval {
  Instant from;
  Instant until = Instant::never();

  [[nodiscard]] constexpr bool overlaps(const Interval& other) const {
    return from < other.until && other.from < until;
  }
  friend constexpr auto operator<=>(const Interval&, const Interval&) = default;
};

}  // namespace mainspring::base
