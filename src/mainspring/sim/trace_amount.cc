// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/trace_amount.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "mainspring/base/check.h"

namespace mainspring::sim {
namespace {

constexpr int64_t kExactMax = int64_t{1} << 53;

bool is_digit(char character) { return character >= '0' && character <= '9'; }

bool is_not_finite(std::string_view text) {
  std::string lower(text.substr(0, 9));
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char character) {
    return static_cast<char>(std::tolower(character));
  });
  return lower == "nan" || lower == "inf" || lower == "infinity";
}

// Long texts stay out of messages.
std::string_view shortened(std::string_view text) { return text.substr(0, 40); }

}  // namespace

ParsedAmount parse_amount(std::string_view text, AmountRule rule) {
  MAINSPRING_CHECK(rule.max >= 0 && rule.max <= kExactMax, "a column's limit is below 2^53");
  if (text.empty()) return {0, AmountFault::kEmpty};
  const bool minus = text.front() == '-';
  std::string_view rest = text;
  if (minus || text.front() == '+') rest.remove_prefix(1);
  if (is_not_finite(rest)) return {0, AmountFault::kNan};

  const size_t whole = std::min(rest.find('.'), rest.size());
  const std::string_view digits = rest.substr(0, whole);
  const std::string_view fraction = rest.substr(std::min(whole + 1, rest.size()));
  const bool number = !digits.empty() && std::all_of(digits.begin(), digits.end(), is_digit) &&
                      std::all_of(fraction.begin(), fraction.end(), is_digit) &&
                      (whole == rest.size() || !fraction.empty());
  if (!number) return {0, AmountFault::kNotANumber};
  if (minus && !rule.signed_amount) return {0, AmountFault::kNegative};
  if (fraction.find_first_not_of('0') != std::string_view::npos) {
    return {0, AmountFault::kFractional};
  }

  int64_t value = 0;
  for (const char digit : digits) {
    value = value * 10 + (digit - '0');
    if (value > kExactMax) return {0, AmountFault::kOver2To53};
  }
  if (value > rule.max) return {0, AmountFault::kAbsurd};
  return {minus ? -value : value, AmountFault::kNone};
}

std::string_view fault_name(AmountFault fault) {
  switch (fault) {
    case AmountFault::kNone:
      return "usable";
    case AmountFault::kEmpty:
      return "empty";
    case AmountFault::kNotANumber:
      return "not a number";
    case AmountFault::kNan:
      return "NaN or infinite";
    case AmountFault::kNegative:
      return "negative";
    case AmountFault::kFractional:
      return "fractional";
    case AmountFault::kOver2To53:
      return "over 2^53";
    case AmountFault::kAbsurd:
      return "absurdly large";
  }
  MAINSPRING_CHECK(false, "every fault has a name");
  return {};
}

std::string describe_fault(std::string_view column_name, std::string_view text, AmountFault fault,
                           AmountRule rule) {
  return fmt::format("{} is {}: \"{}\"; expected a whole number from {} to {}", column_name,
                     fault_name(fault), shortened(text), rule.signed_amount ? -rule.max : 0,
                     rule.max);
}

}  // namespace mainspring::sim
