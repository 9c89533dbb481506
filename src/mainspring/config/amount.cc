// SPDX-License-Identifier: Apache-2.0
#include "mainspring/config/amount.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <span>

#include "mainspring/model/resources.h"

namespace mainspring::config {
namespace {

using base::invalid;
using base::Result;

// Wide enough for 18 digits times the largest unit.
__extension__ using Wide = __int128;

constexpr size_t kDigitsMax = 18;

struct Unit {
  std::string_view suffix;
  int64_t factor;  // of the model's unit
};

constexpr Unit kCountUnits[] = {{"", 1}};
constexpr Unit kCpuUnits[] = {{"", 1000}, {"m", 1}};
constexpr Unit kByteUnits[] = {
    {"Pi", int64_t{1} << 50},
    {"Ti", int64_t{1} << 40},
    {"Gi", int64_t{1} << 30},
    {"Mi", int64_t{1} << 20},
    {"Ki", int64_t{1} << 10},
    {"PiB", int64_t{1} << 50},
    {"TiB", int64_t{1} << 40},
    {"GiB", int64_t{1} << 30},
    {"MiB", int64_t{1} << 20},
    {"KiB", int64_t{1} << 10},
    {"P", 1'000'000'000'000'000},
    {"T", 1'000'000'000'000},
    {"G", 1'000'000'000},
    {"M", 1'000'000},
    {"k", 1'000},
    {"PB", 1'000'000'000'000'000},
    {"TB", 1'000'000'000'000},
    {"GB", 1'000'000'000},
    {"MB", 1'000'000},
    {"kB", 1'000},
    {"KB", 1'000},
    {"B", 1},
    {"", 1},
};
constexpr Unit kShareUnits[] = {{"", 1000}};
constexpr Unit kRatioUnits[] = {{"", 1000}, {"%", 10}, {" %", 10}};
constexpr Unit kProbabilityUnits[] = {{"", 1'000'000}, {"%", 10'000}, {" %", 10'000}};
constexpr Unit kPercentUnits[] = {{"%", 10'000}, {" %", 10'000}};
constexpr Unit kDurationUnits[] = {
    {"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}};

std::span<const Unit> units_of(AmountKind kind) {
  switch (kind) {
    case AmountKind::kCpu:
      return kCpuUnits;
    case AmountKind::kBytes:
      return kByteUnits;
    case AmountKind::kGpus:
    case AmountKind::kShare:
      return kShareUnits;
    case AmountKind::kRatio:
      return kRatioUnits;
    case AmountKind::kProbability:
      return kProbabilityUnits;
    case AmountKind::kPercent:
      return kPercentUnits;
    case AmountKind::kDuration:
      return kDurationUnits;
    case AmountKind::kCount:
      break;
  }
  return kCountUnits;
}

bool digit(char character) { return character >= '0' && character <= '9'; }

tl::unexpected<base::Error> refuse(std::string what, AmountKind kind) {
  return invalid(std::move(what) + "; expected " + std::string(expected_form(kind)));
}

bool names_no_number(std::string_view text) {
  std::string lower;
  for (const char character : text.substr(0, 6)) {
    if (character == '.' || character == '+' || character == '-') continue;
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
  }
  return lower == "nan" || lower == "inf" || lower.starts_with("infi");
}

struct Decimal {
  int64_t digits = 0;  // the value is digits / 10^places
  size_t places = 0;
  size_t length = 0;  // of the text that it took
};

// Nothing: no number, or too many digits to hold (`too_long`).
std::optional<Decimal> read_decimal(std::string_view text, bool& too_long) {
  Decimal decimal;
  size_t count = 0;
  bool point = false;
  for (; decimal.length < text.size(); ++decimal.length) {
    const char character = text[decimal.length];
    if (character == '.' && !point && count > 0) {
      point = true;
      continue;
    }
    if (!digit(character)) break;
    if (++count > kDigitsMax) {
      too_long = true;
      return std::nullopt;
    }
    decimal.digits = decimal.digits * 10 + (character - '0');
    if (point) ++decimal.places;
  }
  const bool ends_in_point = point && decimal.places == 0;
  if (count == 0 || ends_in_point) return std::nullopt;
  return decimal;
}

int64_t power_of_ten(size_t exponent) {
  int64_t power = 1;
  for (size_t i = 0; i < exponent; ++i) power *= 10;
  return power;
}

// One number with its unit at the front of `text`; takes it off. Adds to `total`.
base::Status take_term(std::string_view& text, AmountKind kind, Wide& total) {
  bool too_long = false;
  const std::optional<Decimal> decimal = read_decimal(text, too_long);
  if (too_long) return refuse("has more than 18 digits", kind);
  if (!decimal) return refuse("is not an amount", kind);
  text.remove_prefix(decimal->length);
  const size_t suffix_length =
      kind == AmountKind::kDuration
          ? static_cast<size_t>(std::find_if(text.begin(), text.end(), digit) - text.begin())
          : text.size();
  const std::string_view suffix = text.substr(0, suffix_length);
  text.remove_prefix(suffix_length);
  const auto units = units_of(kind);
  const auto unit = std::find_if(units.begin(), units.end(),
                                 [&](const Unit& known) { return known.suffix == suffix; });
  if (unit == units.end()) {
    if (suffix.empty()) return refuse("has no unit", kind);
    return refuse("has an unknown unit", kind);
  }
  const Wide scaled = Wide{decimal->digits} * unit->factor;
  const int64_t divisor = power_of_ten(decimal->places);
  if (scaled % divisor != 0) {
    if (kind == AmountKind::kCount) return refuse("is a fraction", kind);
    return refuse("is finer than the smallest unit", kind);
  }
  total += scaled / divisor;
  return {};
}

std::string with_fraction(int64_t amount, int64_t scale) {
  std::string text = std::to_string(amount / scale);
  int64_t rest = amount % scale;
  if (rest == 0) return text;
  text += '.';
  while (rest != 0) {
    rest *= 10;
    text += static_cast<char>('0' + rest / scale);
    rest %= scale;
  }
  return text;
}

std::string format_duration(int64_t ms) {
  if (ms == 0) return "0s";
  std::string text;
  for (const Unit& unit : kDurationUnits) {
    if (ms < unit.factor) continue;
    text += std::to_string(ms / unit.factor) + std::string(unit.suffix);
    ms %= unit.factor;
  }
  return text;
}

std::string format_bytes(int64_t bytes) {
  constexpr std::array<std::string_view, 5> kSuffixes = {"Pi", "Ti", "Gi", "Mi", "Ki"};
  for (size_t i = 0; i < kSuffixes.size(); ++i) {
    const int64_t factor = kByteUnits[i].factor;
    if (bytes >= factor && bytes % factor == 0) {
      return std::to_string(bytes / factor) + std::string(kSuffixes[i]);
    }
  }
  return std::to_string(bytes);
}

}  // namespace

std::string_view expected_form(AmountKind kind) {
  switch (kind) {
    case AmountKind::kCount:
      return "a whole number such as 8";
    case AmountKind::kCpu:
      return "CPUs such as 2, 0.5 or 500m";
    case AmountKind::kBytes:
      return "bytes with a unit such as 16Gi, 2000Mi or 80GB";
    case AmountKind::kGpus:
      return "GPUs such as 8 or 1.5, in steps of 0.001";
    case AmountKind::kShare:
      return "a part of one GPU such as 0.5, in steps of 0.001";
    case AmountKind::kRatio:
      return "a ratio such as 1.3 or 95 %, in steps of 0.001";
    case AmountKind::kProbability:
      return "a probability such as 0.01 or 1 %, in steps of 0.000001";
    case AmountKind::kPercent:
      return "a part such as 60 %, in steps of 0.0001 %";
    case AmountKind::kDuration:
      return "a duration such as 10s, 5m, 1h30m or 2d";
  }
  return "an amount";
}

Result<int64_t> parse_amount(std::string_view text, AmountKind kind) {
  if (text.empty()) return refuse("is empty", kind);
  if (names_no_number(text)) return refuse("is not a number", kind);
  if (text.front() == '-') return refuse("is negative", kind);
  Wide total = 0;
  do {
    if (auto ok = take_term(text, kind, total); !ok) return tl::unexpected(ok.error());
    if (total > model::kAmountMax) return refuse("is over 2^53", kind);
  } while (!text.empty());
  return static_cast<int64_t>(total);
}

std::string format_amount(int64_t amount, AmountKind kind) {
  switch (kind) {
    case AmountKind::kCpu:
      return amount % 1000 == 0 ? std::to_string(amount / 1000) : std::to_string(amount) + "m";
    case AmountKind::kBytes:
      return format_bytes(amount);
    case AmountKind::kGpus:
    case AmountKind::kShare:
    case AmountKind::kRatio:
      return with_fraction(amount, 1000);
    case AmountKind::kProbability:
      return with_fraction(amount, 1'000'000);
    case AmountKind::kPercent:
      return with_fraction(amount, 10'000) + " %";
    case AmountKind::kDuration:
      return format_duration(amount);
    case AmountKind::kCount:
      break;
  }
  return std::to_string(amount);
}

}  // namespace mainspring::config
