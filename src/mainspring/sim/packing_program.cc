// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/packing_program.h"

#include <algorithm>

#include "mainspring/base/check.h"

namespace mainspring::sim {
namespace {

constexpr double kGainMin = 1e-9;
constexpr double kPivotMin = 1e-9;
// So many steps in a row without progress, and the first useful column is taken instead of the
// best: that leads out of the cycles which ties can cause.
constexpr size_t kStallMax = 50;

}  // namespace

PackingProgram::PackingProgram(std::vector<double> limits)
    : rows_(limits.size()), inverse_(rows_ * rows_, 0.0), prices_(rows_, 0.0) {
  for (size_t row = 0; row < rows_; ++row) {
    MAINSPRING_CHECK(limits[row] >= 0, "a limit of a packing is not negative");
    columns_.push_back({.value = 0, .entries = {{row, 1.0}}, .in_basis = true});
    basis_.push_back(row);
    inverse_[row * rows_ + row] = 1.0;
  }
  amounts_ = std::move(limits);
}

void PackingProgram::add_column(double value, std::vector<Entry> entries) {
  for (const Entry& entry : entries) {
    MAINSPRING_CHECK(entry.first < rows_, "a column's entries are in the program's rows");
  }
  columns_.push_back({.value = value, .entries = std::move(entries)});
}

double PackingProgram::gain_of(const Column& column) const {
  double gain = column.value;
  for (const auto& [row, coefficient] : column.entries) gain -= prices_[row] * coefficient;
  return gain;
}

size_t PackingProgram::entering_column(bool first_only) const {
  size_t best = columns_.size();
  double best_gain = kGainMin;
  for (size_t at = 0; at < columns_.size(); ++at) {
    if (columns_[at].in_basis) continue;
    const double gain = gain_of(columns_[at]);
    if (gain <= best_gain) continue;
    if (first_only) return at;
    best_gain = gain;
    best = at;
  }
  return best;
}

std::vector<double> PackingProgram::direction_of(const Column& column) const {
  std::vector<double> direction(rows_, 0.0);
  for (const auto& [from, coefficient] : column.entries) {
    for (size_t row = 0; row < rows_; ++row) {
      direction[row] += inverse_[row * rows_ + from] * coefficient;
    }
  }
  return direction;
}

// The row that is used up first; of equals the one with the largest pivot, then the first.
size_t PackingProgram::leaving_row(const std::vector<double>& direction) const {
  size_t best = rows_;
  double best_ratio = 0;
  for (size_t row = 0; row < rows_; ++row) {
    if (direction[row] <= kPivotMin) continue;
    const double ratio = std::max(amounts_[row], 0.0) / direction[row];
    const bool better = best == rows_ || ratio < best_ratio ||
                        (ratio == best_ratio && direction[row] > direction[best]);
    if (!better) continue;
    best = row;
    best_ratio = ratio;
  }
  return best;
}

void PackingProgram::pivot(size_t entering, size_t row, const std::vector<double>& direction) {
  const double gain = gain_of(columns_[entering]);
  double* pivot_row = inverse_.data() + row * rows_;
  const double scale = 1.0 / direction[row];
  const double amount = std::max(amounts_[row], 0.0) * scale;
  for (size_t at = 0; at < rows_; ++at) {
    pivot_row[at] *= scale;
    prices_[at] += gain * pivot_row[at];
  }
  for (size_t other = 0; other < rows_; ++other) {
    const double factor = direction[other];
    if (other == row || factor == 0) continue;
    double* target = inverse_.data() + other * rows_;
    for (size_t at = 0; at < rows_; ++at) target[at] -= factor * pivot_row[at];
    amounts_[other] -= factor * amount;
  }
  amounts_[row] = amount;
  columns_[basis_[row]].in_basis = false;
  columns_[entering].in_basis = true;
  basis_[row] = entering;
}

bool PackingProgram::solve(size_t steps_max) {
  size_t stalled = 0;
  for (size_t step = 0; step < steps_max; ++step) {
    const size_t entering = entering_column(stalled > kStallMax);
    if (entering == columns_.size()) return true;
    const std::vector<double> direction = direction_of(columns_[entering]);
    const size_t row = leaving_row(direction);
    if (row == rows_) return false;  // only rounding can do this: a packing is bounded
    stalled = amounts_[row] > kPivotMin ? 0 : stalled + 1;
    pivot(entering, row, direction);
  }
  return false;
}

double PackingProgram::objective() const {
  double sum = 0;
  for (size_t row = 0; row < rows_; ++row) sum += columns_[basis_[row]].value * amounts_[row];
  return sum;
}

}  // namespace mainspring::sim
