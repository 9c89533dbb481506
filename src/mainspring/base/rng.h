// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// The only source of chance: deterministic by seed, the same on every machine and build.
//
// Generator: xoshiro256** by Blackman and Vigna ("Scrambled linear pseudorandom number generators",
// 2018), seeded through SplitMix64. Bounded draws use Lemire's multiply-shift with rejection.

namespace mainspring::base {

class Rng {
 public:
  explicit Rng(uint64_t seed);

  // A uniform 64-bit number.
  uint64_t next();

  // Uniform in [0, bound); bound > 0.
  uint64_t below(uint64_t bound);

  // Uniform in [low, high], both included; low ≤ high.
  int64_t between(int64_t low, int64_t high);

  // True in `numerator` of `denominator` draws.
  bool chance(uint64_t numerator, uint64_t denominator);

  // Exponential with the given mean, rounded to a whole number ≥ 0 (arrival gaps, run times).
  int64_t exponential(int64_t mean);

  // Fisher-Yates.
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (size_t left = items.size(); left > 1; --left) {
      std::swap(items[left - 1], items[below(left)]);
    }
  }

  // An independent generator; the same label gives the same child of the same parent state.
  [[nodiscard]] Rng fork(uint64_t label) const;

 private:
  std::array<uint64_t, 4> state_{};
};

}  // namespace mainspring::base
