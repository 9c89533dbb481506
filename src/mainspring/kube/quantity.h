// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

// Amounts as Kubernetes writes them: "100m", "1.5", "12e6", "1Ki", "500n".

namespace mainspring::kube {

enum class QuantityUnit : uint8_t {
  kOne,    // bytes, counts
  kMilli,  // thousandths
};

// The amount in this unit, rounded up to a whole number (away from zero), as Kubernetes rounds.
// Exact up to 20 decimals; what lies beyond only rounds up. Nothing if the text is no quantity or
// the amount is not within int64.
std::optional<int64_t> parse_quantity(std::string_view text,
                                      QuantityUnit unit = QuantityUnit::kOne);

}  // namespace mainspring::kube
