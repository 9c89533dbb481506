// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/linear_program.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace mainspring::placement {
namespace {

using Entry = LinearProgram::Entry;

TEST(LinearProgram, TextbookPrices) {
  // max 3x + 5y, x ≤ 4, 2y ≤ 12, 3x + 2y ≤ 18: 36 at (2, 6), prices 0, 3/2, 1.
  LinearProgram lp(std::array{4.0, 12.0, 18.0}, std::array{0.0, 0.0, 0.0});
  lp.add_column(std::array{Entry{0, 1.0}, Entry{2, 3.0}}, 3.0);
  lp.add_column(std::array{Entry{1, 2.0}, Entry{2, 2.0}}, 5.0);
  ASSERT_TRUE(lp.solve());
  EXPECT_NEAR(lp.objective(), 36.0, 1e-9);
  EXPECT_NEAR(lp.prices()[0], 0.0, 1e-9);
  EXPECT_NEAR(lp.prices()[1], 1.5, 1e-9);
  EXPECT_NEAR(lp.prices()[2], 1.0, 1e-9);
}

TEST(LinearProgram, UpperBoundsNeedNoRows) {
  // max 2x + y, x + y ≤ 10, x ≤ 4: 14; the row's price is that of y.
  LinearProgram lp(std::array{10.0}, std::array{0.0});
  lp.add_column(std::array{Entry{0, 1.0}}, 2.0, 4.0);
  lp.add_column(std::array{Entry{0, 1.0}}, 1.0);
  ASSERT_TRUE(lp.solve());
  EXPECT_NEAR(lp.objective(), 14.0, 1e-9);
  EXPECT_NEAR(lp.prices()[0], 1.0, 1e-9);
}

TEST(LinearProgram, ColumnsMayComeLater) {
  LinearProgram lp(std::array{10.0}, std::array{0.0});
  lp.add_column(std::array{Entry{0, 1.0}}, 1.0);
  ASSERT_TRUE(lp.solve());
  EXPECT_NEAR(lp.objective(), 10.0, 1e-9);
  lp.add_column(std::array{Entry{0, 2.0}}, 3.0);
  ASSERT_TRUE(lp.solve());
  EXPECT_NEAR(lp.objective(), 15.0, 1e-9);
  EXPECT_NEAR(lp.prices()[0], 1.5, 1e-9);
}

TEST(LinearProgram, NoBoundIsSaid) {
  LinearProgram lp(std::array{1.0}, std::array{0.0});
  lp.add_column(std::array{Entry{0, -1.0}}, 1.0);
  EXPECT_FALSE(lp.solve());
}

// At the optimum nothing that is out would gain, and the bound that the prices prove is met.
RC_GTEST_PROP(LinearProgram, PricesProveTheOptimum, ()) {
  const size_t rows = *rc::gen::inRange<size_t>(1, 8);
  const size_t count = *rc::gen::inRange<size_t>(1, 12);
  std::vector<double> right(rows);
  for (double& value : right) value = *rc::gen::inRange(0, 20);
  LinearProgram lp(right, std::vector<double>(rows, 0.0));
  struct Made {
    std::vector<Entry> entries;
    double objective;
    double upper;
  };
  std::vector<Made> made;
  for (size_t j = 0; j < count; ++j) {
    Made column;
    for (uint32_t i = 0; i < rows; ++i) {
      const int value = *rc::gen::inRange(0, 6);
      if (value > 0) column.entries.push_back({i, static_cast<double>(value)});
    }
    column.objective = *rc::gen::inRange(-3, 10);
    column.upper = *rc::gen::inRange(1, 15);
    lp.add_column(column.entries, column.objective, column.upper);
    made.push_back(column);
  }
  RC_ASSERT(lp.solve());
  // Weak duality: prices ≥ 0 for rows with a slack; each column adds what its bound leaves.
  double bound = 0.0;
  for (size_t i = 0; i < rows; ++i) {
    RC_ASSERT(lp.prices()[i] > -1e-6);
    bound += lp.prices()[i] * right[i];
  }
  for (const Made& column : made) {
    double reduced = column.objective;
    for (const Entry& entry : column.entries) reduced -= lp.prices()[entry.row] * entry.value;
    if (reduced > 0.0) bound += reduced * column.upper;
  }
  RC_ASSERT(bound - lp.objective() < 1e-5);
  RC_ASSERT(lp.objective() - bound < 1e-5);
}

}  // namespace
}  // namespace mainspring::placement
