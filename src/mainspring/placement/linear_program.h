// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// A small linear program for column generation: maximise c·x where A·x = b and 0 ≤ x ≤ upper.
//
// Revised primal simplex (Dantzig 1951; upper bounds as Dantzig 1955) with a dense inverse of the
// basis. Meant for up to about a hundred rows, where this is faster than anything clever. Columns
// may be added after a solution was found; the next call of `solve` goes on from there.
//
// Deterministic: a fixed order of additions, multiplications and choices, and no tolerance that
// depends on time. Doubles stay inside; callers round what they take out.

namespace mainspring::placement {

class LinearProgram {
 public:
  struct Entry {
    uint32_t row = 0;
    double value = 0.0;
  };
  static constexpr double kUnbounded = 1e100;

  // One row per element of `right_side`, which must be non-negative. Row i starts with a variable
  // of its own, of coefficient 1, objective `own_objective[i]` and no upper bound, in the basis.
  LinearProgram(std::span<const double> right_side, std::span<const double> own_objective);

  // Every entry names a different row.
  void add_column(std::span<const Entry> entries, double objective, double upper = kUnbounded);

  // False when the step limit was hit or the objective has no bound; prices are then those of the
  // last basis, which are usable as an approximation. O(rows² + entries of all columns) a step.
  bool solve();

  // The shadow price of each row: by how much the objective grows per unit of its right side.
  [[nodiscard]] std::span<const double> prices() const { return prices_; }
  [[nodiscard]] double objective() const;
  [[nodiscard]] size_t columns() const { return columns_.size(); }
  [[nodiscard]] size_t steps() const { return steps_; }

 private:
  enum class Where : uint8_t { kAtZero, kAtUpper, kBasic };
  struct Column {
    size_t first = 0;  // in entries_
    size_t end = 0;
    double objective = 0.0;
    double upper = kUnbounded;
    Where where = Where::kAtZero;
  };
  struct Step {
    double length = 0.0;
    size_t row = 0;
    bool leaves_at_upper = false;
    bool flips = false;  // the entering variable runs from one of its bounds to the other
  };

  [[nodiscard]] double reduced_objective(const Column& column) const;
  [[nodiscard]] double gain(const Column& column) const;
  size_t entering();
  void set_direction(const Column& column, double sign);
  [[nodiscard]] Step step_for(const Column& column) const;
  void pivot(size_t entering, double sign, const Step& step);

  size_t rows_;
  std::vector<Column> columns_;
  std::vector<Entry> entries_;
  std::vector<double> inverse_;  // of the basis, row by row
  std::vector<double> values_;   // of the basic variables
  std::vector<size_t> basis_;    // column of each row
  std::vector<double> prices_;
  std::vector<double> direction_;   // change of the basic variables per unit, negated
  std::vector<size_t> candidates_;  // columns
  std::vector<double> gains_;
  std::vector<size_t> filled_;  // columns of the pivot row that are not zero
  size_t steps_ = 0;
};

}  // namespace mainspring::placement
