// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace mainspring::sim {

// A small linear program: maximise value × x subject to A x ≤ limits, x ≥ 0, with limits ≥ 0, so
// that nothing is a feasible start. Columns may be added between calls of `solve`, which goes on
// from where it stood (column generation).
//
// Revised simplex with a dense basis inverse: rows² memory and time per step, meant for some
// hundred rows. Doubles throughout: figures for people, never a decision.
class PackingProgram {
 public:
  using Entry = std::pair<size_t, double>;  // row, coefficient

  explicit PackingProgram(std::vector<double> limits);

  void add_column(double value, std::vector<Entry> entries);

  // Steps until no column would raise the objective: true. False when `steps_max` were made before,
  // or rounding has spoilt the basis; prices are then not optimal. Every column must use some row.
  bool solve(size_t steps_max);

  // What one more unit of each row's limit is worth, never negative. Valid after `solve`.
  [[nodiscard]] const std::vector<double>& prices() const { return prices_; }
  [[nodiscard]] double objective() const;
  [[nodiscard]] size_t column_count() const { return columns_.size(); }

 private:
  struct Column {
    double value = 0;
    std::vector<Entry> entries;
    bool in_basis = false;
  };

  [[nodiscard]] double gain_of(const Column& column) const;
  [[nodiscard]] size_t entering_column(bool first_only) const;
  [[nodiscard]] std::vector<double> direction_of(const Column& column) const;
  [[nodiscard]] size_t leaving_row(const std::vector<double>& direction) const;
  void pivot(size_t entering, size_t row, const std::vector<double>& direction);

  size_t rows_;
  std::vector<Column> columns_;  // the first `rows_` are the slacks
  std::vector<size_t> basis_;    // column of each row
  std::vector<double> inverse_;  // of the basis, row by row
  std::vector<double> amounts_;  // of the basic columns
  std::vector<double> prices_;
};

}  // namespace mainspring::sim
