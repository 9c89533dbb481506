// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/quantity.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace mainspring::kube {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(QuantityTest, ReadsWhatKubernetesWrites) {
  const std::pair<const char*, int64_t> cases[] = {
      {"0", 0},
      {"8", 8},
      {"+8", 8},
      {"-8", -8},
      {"1.5", 2},
      {"-1.5", -2},
      {".5", 1},
      {"5.", 5},
      {"100m", 1},
      {"1000m", 1},
      {"1001m", 2},
      {"500n", 1},
      {"1u", 1},
      {"0n", 0},
      {"12e6", 12'000'000},
      {"12E6", 12'000'000},
      {"12e+6", 12'000'000},
      {"5e-1", 1},
      {"1k", 1000},
      {"1M", 1'000'000},
      {"1Ki", 1024},
      {"1.5Ki", 1536},
      {"1.0001Ki", 1025},
      {"2Gi", int64_t{2} << 30},
      {"7Ei", int64_t{7} << 60},
      {"1E", 1'000'000'000'000'000'000},
      {"8Gi", int64_t{8} << 30},
      {"00000000000000000000000008", 8},
      {"9223372036854775807", kMax},
      {"9223372036854775.807k", kMax},
      {"0.00000000000000000000000000001", 1},
      {"1e-300", 1},
      {"0e300", 0},
      {"1.0000001", 2},
      {"1e3", 1000},
  };
  for (const auto& [text, amount] : cases) EXPECT_EQ(parse_quantity(text), amount) << text;
}

TEST(QuantityTest, ReadsThousandths) {
  const std::pair<const char*, int64_t> cases[] = {
      {"1", 1000}, {"100m", 100},     {"0.1", 100},       {"1.0005", 1001},
      {"1n", 1},   {"2k", 2'000'000}, {"1Ki", 1'024'000},
  };
  for (const auto& [text, amount] : cases) {
    EXPECT_EQ(parse_quantity(text, QuantityUnit::kMilli), amount) << text;
  }
}

TEST(QuantityTest, RefusesWhatIsNoQuantityOrTooMuch) {
  for (const char* text : {"",       " 8",
                           "8 ",     "0x8",
                           "NaN",    "inf",
                           "1.2.3",  "1ki",
                           "1K",     "1KI",
                           "e3",     "m",
                           ".",      "+",
                           "--1",    "1e",
                           "1e+-3",  "1e3k",
                           "1_000",  "8g",
                           "1e5000", "9223372036854775808",
                           "8Ei",    "10E",
                           "1e19",   "99999999999999999999999999999999999999",
                           "1e300"}) {
    EXPECT_EQ(parse_quantity(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_quantity("9223372036854775807", QuantityUnit::kMilli), std::nullopt);
  EXPECT_EQ(parse_quantity(std::string(1000, '1')), std::nullopt);
}

RC_GTEST_PROP(QuantityTest, WholeNumbersReadBack, (int64_t number)) {
  RC_PRE(number > std::numeric_limits<int64_t>::min());
  RC_ASSERT(parse_quantity(std::to_string(number)) == number);
}

RC_GTEST_PROP(QuantityTest, ThousandthsAreRoundedUp, (uint32_t milli)) {
  const std::string text = std::to_string(milli) + "m";
  RC_ASSERT(parse_quantity(text) == (int64_t{milli} + 999) / 1000);
  RC_ASSERT(parse_quantity(text, QuantityUnit::kMilli) == int64_t{milli});
}

}  // namespace
}  // namespace mainspring::kube
