// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/trace_amount.h"

#include <gtest/gtest.h>

namespace mainspring::sim {
namespace {

constexpr AmountRule kRule{.max = 1'000'000};
constexpr AmountRule kSigned{.max = 100, .signed_amount = true};

TEST(TraceAmount, TakesWholeNumbers) {
  EXPECT_EQ(parse_amount("0", kRule).value, 0);
  EXPECT_EQ(parse_amount("1000000", kRule).value, 1'000'000);
  EXPECT_EQ(parse_amount("+12", kRule).value, 12);
  EXPECT_EQ(parse_amount("12.000", kRule).value, 12);
  EXPECT_EQ(parse_amount("-100", kSigned).value, -100);
  EXPECT_EQ(parse_amount("000000000000000000000000000001", kRule).value, 1);
}

TEST(TraceAmount, RefusesEverythingElseByName) {
  const auto fault = [](std::string_view text) {
    return fault_name(parse_amount(text, kRule).fault);
  };
  EXPECT_EQ(fault(""), "empty");
  EXPECT_EQ(fault("abc"), "not a number");
  EXPECT_EQ(fault("1e3"), "not a number");
  EXPECT_EQ(fault("0x10"), "not a number");
  EXPECT_EQ(fault(" 1"), "not a number");
  EXPECT_EQ(fault("1."), "not a number");
  EXPECT_EQ(fault(".5"), "not a number");
  EXPECT_EQ(fault("1.2.3"), "not a number");
  EXPECT_EQ(fault("-"), "not a number");
  EXPECT_EQ(fault("nan"), "NaN or infinite");
  EXPECT_EQ(fault("-NaN"), "NaN or infinite");
  EXPECT_EQ(fault("Infinity"), "NaN or infinite");
  EXPECT_EQ(fault("-1"), "negative");
  EXPECT_EQ(fault("-0.5"), "negative");
  EXPECT_EQ(fault("1.5"), "fractional");
  EXPECT_EQ(fault("9007199254740993"), "over 2^53");
  EXPECT_EQ(fault("99999999999999999999999999999999999999"), "over 2^53");
  EXPECT_EQ(fault("1000001"), "absurdly large");
  EXPECT_EQ(parse_amount("-101", kSigned).fault, AmountFault::kAbsurd);
}

TEST(TraceAmount, DescribesAFaultInOneLine) {
  EXPECT_EQ(describe_fault("cpu_milli", "-3", AmountFault::kNegative, kRule),
            "cpu_milli is negative: \"-3\"; expected a whole number from 0 to 1000000");
  const std::string longest(1000, '9');
  EXPECT_LT(describe_fault("x", longest, AmountFault::kOver2To53, kRule).size(), 120U);
}

}  // namespace
}  // namespace mainspring::sim
