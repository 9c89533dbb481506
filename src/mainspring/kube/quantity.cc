// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string>

namespace mainspring::kube {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr size_t kTextMax = 128;
constexpr int kDecimalsMax = 20;

// value = digits × 10^exponent × 2^binary_shift
struct Suffix {
  int exponent = 0;
  int binary_shift = 0;
};

std::optional<Suffix> parse_suffix(std::string_view text) {
  struct Word {
    std::string_view text;
    Suffix suffix;
  };
  static constexpr std::array<Word, 16> kWords = {{{"", {0, 0}},
                                                   {"n", {-9, 0}},
                                                   {"u", {-6, 0}},
                                                   {"m", {-3, 0}},
                                                   {"k", {3, 0}},
                                                   {"M", {6, 0}},
                                                   {"G", {9, 0}},
                                                   {"T", {12, 0}},
                                                   {"P", {15, 0}},
                                                   {"E", {18, 0}},
                                                   {"Ki", {0, 10}},
                                                   {"Mi", {0, 20}},
                                                   {"Gi", {0, 30}},
                                                   {"Ti", {0, 40}},
                                                   {"Pi", {0, 50}},
                                                   {"Ei", {0, 60}}}};
  const auto* word = std::ranges::find(kWords, text, &Word::text);
  if (word != kWords.end()) return word->suffix;
  if (text.front() != 'e' && text.front() != 'E') return std::nullopt;
  text.remove_prefix(1);
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  int exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (exponent < -1000 || exponent > 1000) return std::nullopt;
  return Suffix{exponent, 0};
}

// The digits before and after the point, once the point has moved right by `exponent`.
struct Split {
  std::string whole;
  std::string decimals;
};

Split move_point(std::string_view whole, std::string_view decimals, int exponent) {
  Split split{std::string(whole), std::string(decimals)};
  if (exponent >= 0) {
    const auto moved = std::min(static_cast<size_t>(exponent), split.decimals.size());
    split.whole += split.decimals.substr(0, moved);
    split.decimals.erase(0, moved);
    split.whole.append(static_cast<size_t>(exponent) - moved, '0');
  } else {
    const auto moved = static_cast<size_t>(-exponent);
    if (split.whole.size() < moved) split.whole.insert(0, moved - split.whole.size(), '0');
    split.decimals.insert(0, split.whole, split.whole.size() - moved);
    split.whole.erase(split.whole.size() - moved);
  }
  split.whole.erase(0, std::min(split.whole.find_first_not_of('0'), split.whole.size()));
  return split;
}

// ceil((whole + decimals) × 2^shift), if it is at most `limit`.
std::optional<uint64_t> round_up(const Split& split, int shift, uint64_t limit) {
  if (split.whole.size() > 19) return std::nullopt;
  Wide whole = 0;
  for (const char digit : split.whole) whole = whole * 10 + static_cast<unsigned>(digit - '0');
  Wide decimals = 0;
  Wide scale = 1;
  bool more = false;
  for (size_t i = 0; i < split.decimals.size(); ++i) {
    const auto digit = static_cast<unsigned>(split.decimals[i] - '0');
    if (i < kDecimalsMax) {
      decimals = decimals * 10 + digit;
      scale *= 10;
    } else {
      more = more || digit != 0;
    }
  }
  // Below 10^19 × 2^60 and 10^20 × 2^60: both fit.
  decimals <<= shift;
  Wide value = (whole << shift) + decimals / scale;
  if (decimals % scale != 0 || more) ++value;
  if (value > limit) return std::nullopt;
  return static_cast<uint64_t>(value);
}

}  // namespace

std::optional<int64_t> parse_quantity(std::string_view text, QuantityUnit unit) {
  if (text.empty() || text.size() > kTextMax) return std::nullopt;
  const bool negative = text.front() == '-';
  if (negative || text.front() == '+') text.remove_prefix(1);
  const size_t whole_end = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view whole = text.substr(0, whole_end);
  text.remove_prefix(whole_end);
  std::string_view decimals;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    decimals = text.substr(0, end);
    text.remove_prefix(end);
  }
  if (whole.empty() && decimals.empty()) return std::nullopt;
  const auto suffix = parse_suffix(text);
  if (!suffix) return std::nullopt;
  const int exponent = suffix->exponent + (unit == QuantityUnit::kMilli ? 3 : 0);
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const auto value = round_up(move_point(whole, decimals, exponent), suffix->binary_shift, kMax);
  if (!value) return std::nullopt;
  const auto amount = static_cast<int64_t>(*value);
  return negative ? -amount : amount;
}

}  // namespace mainspring::kube
