// SPDX-License-Identifier: Apache-2.0
#include "mainspring/base/rng.h"

#include <bit>
#include <cmath>

#include "mainspring/base/check.h"

namespace mainspring::base {
namespace {

uint64_t split_mix(uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
  return mixed ^ (mixed >> 31);
}

}  // namespace

Rng::Rng(uint64_t seed) {
  for (uint64_t& word : state_) word = split_mix(seed);
}

uint64_t Rng::next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Rng::below(uint64_t bound) {
  MAINSPRING_CHECK(bound > 0, "a bounded draw needs a positive bound");
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(next()) * bound;
  auto low = static_cast<uint64_t>(product);
  if (low < bound) {
    const uint64_t threshold = (0 - bound) % bound;
    while (low < threshold) {
      product = static_cast<Wide>(next()) * bound;
      low = static_cast<uint64_t>(product);
    }
  }
  return static_cast<uint64_t>(product >> 64);
}

int64_t Rng::between(int64_t low, int64_t high) {
  MAINSPRING_CHECK(low <= high, "an empty range has no number to draw");
  const uint64_t width = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  if (width == 0) return static_cast<int64_t>(next());
  return static_cast<int64_t>(static_cast<uint64_t>(low) + below(width));
}

bool Rng::chance(uint64_t numerator, uint64_t denominator) {
  return below(denominator) < numerator;
}

int64_t Rng::exponential(int64_t mean) {
  // 53 random bits in (0, 1]: the logarithm is finite.
  const double uniform = (static_cast<double>(next() >> 11) + 1.0) * 0x1p-53;
  return std::llround(-std::log(uniform) * static_cast<double>(mean));
}

Rng Rng::fork(uint64_t label) const {
  uint64_t seed = state_[0] ^ std::rotl(state_[2], 23) ^ (label * 0x9e3779b97f4a7c15ULL);
  return Rng(split_mix(seed));
}

}  // namespace mainspring::base
