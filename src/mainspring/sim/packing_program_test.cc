// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/packing_program.h"

#include <gtest/gtest.h>

#include "mainspring/base/rng.h"

namespace mainspring::sim {
namespace {

TEST(PackingProgram, SolvesATextbookCase) {
  // max 3x + 5y with x ≤ 4, 2y ≤ 12, 3x + 2y ≤ 18: 36 at (2, 6)
  PackingProgram program({4, 12, 18});
  program.add_column(3, {{0, 1.0}, {2, 3.0}});
  program.add_column(5, {{1, 2.0}, {2, 2.0}});
  ASSERT_TRUE(program.solve(100));
  EXPECT_NEAR(program.objective(), 36, 1e-9);
  EXPECT_NEAR(program.prices()[0], 0, 1e-9);
  EXPECT_NEAR(program.prices()[1], 1.5, 1e-9);
  EXPECT_NEAR(program.prices()[2], 1, 1e-9);
}

TEST(PackingProgram, GoesOnWhenColumnsAreAdded) {
  PackingProgram program({10});
  program.add_column(1, {{0, 2.0}});
  ASSERT_TRUE(program.solve(10));
  EXPECT_NEAR(program.objective(), 5, 1e-9);
  program.add_column(1, {{0, 1.0}});
  ASSERT_TRUE(program.solve(10));
  EXPECT_NEAR(program.objective(), 10, 1e-9);
  EXPECT_FALSE(PackingProgram({1}).solve(0));
}

TEST(PackingProgram, PrimalAndDualAgree) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    base::Rng rng(seed);
    const size_t rows = 1 + rng.below(12);
    const auto number = [&](int64_t most) { return static_cast<double>(rng.between(0, most)); };
    std::vector<double> limits;
    limits.reserve(rows);
    // Zero limits make degenerate steps.
    for (size_t row = 0; row < rows; ++row) limits.push_back(number(5));
    PackingProgram program(limits);
    std::vector<std::pair<double, std::vector<PackingProgram::Entry>>> columns;
    for (size_t column = 0; column < 3 * rows; ++column) {
      std::vector<PackingProgram::Entry> entries = {{rng.below(rows), 1.0 + number(3)}};
      for (size_t row = 0; row < rows; ++row) {
        if (row != entries.front().first && rng.chance(1, 3)) entries.emplace_back(row, number(4));
      }
      const double value = number(9);
      columns.emplace_back(value, entries);
      program.add_column(value, entries);
    }
    ASSERT_TRUE(program.solve(10'000)) << seed;
    double dual = 0;
    for (size_t row = 0; row < rows; ++row) {
      EXPECT_GE(program.prices()[row], -1e-8);
      dual += program.prices()[row] * limits[row];
    }
    EXPECT_NEAR(dual, program.objective(), 1e-7) << seed;
    for (const auto& [value, entries] : columns) {
      double cost = 0;
      for (const auto& [row, coefficient] : entries) cost += program.prices()[row] * coefficient;
      EXPECT_GE(cost, value - 1e-7) << seed;
    }
  }
}

}  // namespace
}  // namespace mainspring::sim
