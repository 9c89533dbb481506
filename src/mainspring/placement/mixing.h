// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Scrambles for keys that are compared within one search: SplitMix64's finisher (Steele, Lea,
// Flood, "Fast splittable pseudorandom number generators", 2014). Sums of scrambled keys stand for
// multisets.

namespace mainspring::placement {

constexpr uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

constexpr uint64_t mix(uint64_t before, uint64_t value) { return mix(before * 31 + mix(value)); }
constexpr uint64_t mix(uint64_t before, int64_t value) {
  return mix(before, static_cast<uint64_t>(value));
}
constexpr uint64_t mix(uint64_t before, uint32_t value) { return mix(before, uint64_t{value}); }

}  // namespace mainspring::placement
