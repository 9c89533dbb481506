// SPDX-License-Identifier: Apache-2.0
#include "mainspring/base/instant.h"

#include <gtest/gtest.h>

namespace mainspring::base {
namespace {

constexpr Instant kFirst{std::numeric_limits<int64_t>::min()};

TEST(Instant, SumsSaturateAtBothEnds) {
  EXPECT_EQ(Instant{1000} + seconds(2), Instant{3000});
  EXPECT_EQ(Instant{1000} + seconds(-2), Instant{-1000});
  EXPECT_EQ(Instant::never() + seconds(-1), Instant::never());
  EXPECT_EQ(Instant{Instant::never().ms - 5} + milliseconds(6), Instant::never());
  EXPECT_EQ(kFirst + seconds(1), Instant{kFirst.ms + 1000});
  EXPECT_EQ(kFirst + seconds(-1), kFirst);
}

}  // namespace
}  // namespace mainspring::base
