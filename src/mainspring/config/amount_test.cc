// SPDX-License-Identifier: Apache-2.0
#include "mainspring/config/amount.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace mainspring::config {
namespace {

struct Good {
  const char* text;
  AmountKind kind;
  int64_t amount;
};

TEST(Amount, ReadsWhatPeopleWrite) {
  const Good cases[] = {
      {"0", AmountKind::kCount, 0},
      {"8", AmountKind::kCount, 8},
      {"9007199254740992", AmountKind::kCount, int64_t{1} << 53},
      {"2", AmountKind::kCpu, 2000},
      {"0.5", AmountKind::kCpu, 500},
      {"500m", AmountKind::kCpu, 500},
      {"2.125", AmountKind::kCpu, 2125},
      {"16Gi", AmountKind::kBytes, int64_t{16} << 30},
      {"80GB", AmountKind::kBytes, 80'000'000'000},
      {"80G", AmountKind::kBytes, 80'000'000'000},
      {"0.5Ki", AmountKind::kBytes, 512},
      {"46068Mi", AmountKind::kBytes, int64_t{46068} << 20},
      {"1024", AmountKind::kBytes, 1024},
      {"8", AmountKind::kGpus, 8000},
      {"1.5", AmountKind::kGpus, 1500},
      {"60 %", AmountKind::kPercent, 600'000},
      {"33.3333%", AmountKind::kPercent, 333'333},
      {"0.5", AmountKind::kShare, 500},
      {"0.001", AmountKind::kShare, 1},
      {"1.3", AmountKind::kRatio, 1300},
      {"95 %", AmountKind::kRatio, 950},
      {"0.01", AmountKind::kProbability, 10'000},
      {"0.5%", AmountKind::kProbability, 5'000},
      {"10s", AmountKind::kDuration, 10'000},
      {"1h30m", AmountKind::kDuration, 5'400'000},
      {"250ms", AmountKind::kDuration, 250},
      {"1.5h", AmountKind::kDuration, 5'400'000},
      {"2d", AmountKind::kDuration, 172'800'000},
  };
  for (const Good& good : cases) {
    const auto amount = parse_amount(good.text, good.kind);
    ASSERT_TRUE(amount.has_value()) << good.text << ": " << amount.error().message;
    EXPECT_EQ(*amount, good.amount) << good.text;
  }
}

struct Bad {
  const char* text;
  AmountKind kind;
  const char* message;  // how it begins
};

TEST(Amount, RefusesTheRestByName) {
  const Bad cases[] = {
      {"", AmountKind::kCount, "is empty"},
      {"-1", AmountKind::kCount, "is negative"},
      {"-0.5", AmountKind::kCpu, "is negative"},
      {"1.5", AmountKind::kCount, "is a fraction"},
      {"nan", AmountKind::kCount, "is not a number"},
      {".NaN", AmountKind::kCpu, "is not a number"},
      {"-.inf", AmountKind::kBytes, "is not a number"},
      {"Infinity", AmountKind::kDuration, "is not a number"},
      {"9007199254740993", AmountKind::kCount, "is over 2^53"},
      {"9000000Gi", AmountKind::kBytes, "is over 2^53"},
      {"99999999999999999999", AmountKind::kCount, "has more than 18 digits"},
      {"1e3", AmountKind::kCount, "has an unknown unit"},
      {"0x10", AmountKind::kCount, "has an unknown unit"},
      {"1_000", AmountKind::kCount, "has an unknown unit"},
      {"8 GPUs", AmountKind::kCount, "has an unknown unit"},
      {"0.0001", AmountKind::kCpu, "is finer"},
      {"1.5m", AmountKind::kCpu, "is finer"},
      {"0.3Ki", AmountKind::kBytes, "is finer"},
      {"16gi", AmountKind::kBytes, "has an unknown unit"},
      {"0.0005", AmountKind::kShare, "is finer"},
      {"10", AmountKind::kDuration, "has no unit"},
      {"10s5", AmountKind::kDuration, "has no unit"},
      {"h", AmountKind::kDuration, "is not an amount"},
      {"soon", AmountKind::kDuration, "is not an amount"},
      {"1..5", AmountKind::kCpu, "is not an amount"},
      {".5", AmountKind::kCpu, "is not an amount"},
      {"+5", AmountKind::kCount, "is not an amount"},
      {" 5", AmountKind::kCount, "is not an amount"},
  };
  for (const Bad& bad : cases) {
    const auto amount = parse_amount(bad.text, bad.kind);
    ASSERT_FALSE(amount.has_value()) << bad.text;
    EXPECT_TRUE(amount.error().message.starts_with(bad.message))
        << bad.text << ": " << amount.error().message;
    EXPECT_NE(amount.error().message.find("expected "), std::string::npos) << bad.text;
  }
}

RC_GTEST_PROP(Amount, ReadsBackWhatItWrites, ()) {
  const auto kind = static_cast<AmountKind>(*rc::gen::inRange(0, 7));
  const auto amount = *rc::gen::inRange<int64_t>(0, int64_t{1} << 52);
  const auto again = parse_amount(format_amount(amount, kind), kind);
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == amount);
}

}  // namespace
}  // namespace mainspring::config
