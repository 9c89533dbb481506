// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mainspring::sim {

// Why a text is not a usable amount. Every refusal has a name, so that a report can count them.
enum class AmountFault {
  kNone,
  kEmpty,
  kNotANumber,  // text that is no decimal number
  kNan,         // "nan", "inf"
  kNegative,
  kFractional,
  kOver2To53,  // not exact in a double: files of other tools have rounded it already
  kAbsurd,     // over the limit of this column
};

// What a column may hold: whole numbers in [0, max], or [-max, max] where a sign makes sense.
struct AmountRule {
  int64_t max = 0;
  bool signed_amount = false;
};

struct ParsedAmount {
  int64_t value = 0;
  AmountFault fault = AmountFault::kNone;
};

// Reads a decimal number. "12.0" is whole, "12.5" is not; an exponent is refused.
[[nodiscard]] ParsedAmount parse_amount(std::string_view text, AmountRule rule);

// The short name of the fault, used as a reason in reports ("negative").
[[nodiscard]] std::string_view fault_name(AmountFault fault);

// One phrase for people: `cpu_milli is negative: "-3"`.
[[nodiscard]] std::string describe_fault(std::string_view column_name, std::string_view text,
                                         AmountFault fault, AmountRule rule);

}  // namespace mainspring::sim
