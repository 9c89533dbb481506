// SPDX-License-Identifier: Apache-2.0
// Quantities from arbitrary bytes: both units agree, and what is read reads back.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mainspring/base/check.h"
#include "mainspring/kube/quantity.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using mainspring::kube::parse_quantity;
  using mainspring::kube::QuantityUnit;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto whole = parse_quantity(text);
  const auto milli = parse_quantity(text, QuantityUnit::kMilli);
  MAINSPRING_CHECK(whole || !milli, "a quantity that is none has thousandths");
  if (!whole) return 0;
  MAINSPRING_CHECK(parse_quantity(std::to_string(*whole)) == *whole, "an amount reads back");
  if (!milli) return 0;
  const int64_t up = *milli / 1000 + (*milli % 1000 > 0 ? 1 : 0) - (*milli % 1000 < 0 ? 1 : 0);
  MAINSPRING_CHECK(up == *whole, "both units round the same way");
  return 0;
}
