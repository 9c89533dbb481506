// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mainspring/base/result.h"

// Amounts as people write them, into whole numbers. Nothing is rounded: what does not come out
// whole in the unit of the model is refused.

namespace mainspring::config {

enum class AmountKind : uint8_t {
  kCount,        // 8                     things
  kCpu,          // 2, 0.5, 500m          milli-CPU
  kBytes,        // 16Gi, 80GB, 2000Mi    bytes
  kGpus,         // 8, 1.5                thousandths of a device
  kShare,        // 0.5                   thousandths, of one GPU: above 0, below 1
  kRatio,        // 1.3, 95 %             thousandths
  kProbability,  // 0.01, 1 %             millionths
  kPercent,      // 60 %                  millionths
  kDuration,     // 10s, 5m, 1h30m, 2d    milliseconds
};

// "a whole number such as 8".
std::string_view expected_form(AmountKind kind);

// The error says what is wrong and what was expected, but not where: "is negative: expected …". It
// covers signs, NaN and infinities, fractions, unknown units, and amounts over 2^53.
base::Result<int64_t> parse_amount(std::string_view text, AmountKind kind);

// The shortest way to write it that reads back to the same: 500m, 16Gi, 1h30m.
std::string format_amount(int64_t amount, AmountKind kind);

}  // namespace mainspring::config
