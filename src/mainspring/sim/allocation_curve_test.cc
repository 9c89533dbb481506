// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/allocation_curve.h"

#include <gtest/gtest.h>

namespace mainspring::sim {
namespace {

TEST(AllocationCurve, AveragesThePointsOfEachPercent) {
  AllocationCurve curve(200'000);
  EXPECT_FALSE(curve.at(0));
  curve.arrived(0, 0);        // 0 %: a pod without GPU adds a point
  curve.arrived(900, 900);    // 0.45 % → 0; allocated 0.45 %
  curve.arrived(400, 1300);   // 0.65 % → 1; 0.65 %
  curve.arrived(1000, 1300);  // 1.15 % → 1; a failed pod adds a point
  EXPECT_DOUBLE_EQ(curve.at(0).value(), 0.225);
  EXPECT_DOUBLE_EQ(curve.at(1).value(), 0.65);
  EXPECT_FALSE(curve.at(2));
}

TEST(AllocationCurve, RoundsToTwoDecimalsAndForgetsWhatIsBeyond) {
  AllocationCurve curve(30'000);
  curve.arrived(10'000, 10'000);  // 33.333 %
  EXPECT_DOUBLE_EQ(curve.at(33).value(), 33.33);
  curve.arrived(40'000, 20'000);  // 166.7 %
  EXPECT_FALSE(curve.at(130));
}

}  // namespace
}  // namespace mainspring::sim
