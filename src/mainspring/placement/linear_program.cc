// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/linear_program.h"

#include <algorithm>
#include <cmath>

#include "mainspring/base/check.h"

namespace mainspring::placement {

namespace {

constexpr double kPriceTolerance = 1e-7;
constexpr double kPivotTolerance = 1e-9;
constexpr double kTieTolerance = 1e-12;
// Of the best gain: columns above it are looked at again in the next steps.
constexpr double kGoodPart = 0.25;
constexpr size_t kStepsPerRow = 100;
constexpr size_t kNone = SIZE_MAX;

}  // namespace

LinearProgram::LinearProgram(std::span<const double> right_side,
                             std::span<const double> own_objective)
    : rows_(right_side.size()),
      inverse_(rows_ * rows_, 0.0),
      values_(right_side.begin(), right_side.end()),
      basis_(rows_),
      prices_(own_objective.begin(), own_objective.end()),
      direction_(rows_, 0.0) {
  MAINSPRING_CHECK(own_objective.size() == rows_, "one objective per row");
  for (size_t i = 0; i < rows_; ++i) {
    MAINSPRING_CHECK(right_side[i] >= 0.0, "a right side below zero");
    const Entry own{static_cast<uint32_t>(i), 1.0};
    add_column(std::span(&own, 1), own_objective[i]);
    columns_.back().where = Where::kBasic;
    basis_[i] = i;
    inverse_[i * rows_ + i] = 1.0;
  }
}

void LinearProgram::add_column(std::span<const Entry> entries, double objective, double upper) {
  Column column;
  column.first = entries_.size();
  entries_.insert(entries_.end(), entries.begin(), entries.end());
  column.end = entries_.size();
  column.objective = objective;
  column.upper = upper;
  columns_.push_back(column);
}

double LinearProgram::objective() const {
  double sum = 0.0;
  for (size_t i = 0; i < rows_; ++i) sum += columns_[basis_[i]].objective * values_[i];
  for (const Column& column : columns_) {
    if (column.where == Where::kAtUpper) sum += column.objective * column.upper;
  }
  return sum;
}

double LinearProgram::reduced_objective(const Column& column) const {
  double reduced = column.objective;
  for (size_t i = column.first; i < column.end; ++i) {
    reduced -= prices_[entries_[i].row] * entries_[i].value;
  }
  return reduced;
}

double LinearProgram::gain(const Column& column) const {
  if (column.where == Where::kBasic) return 0.0;
  const double reduced = reduced_objective(column);
  return column.where == Where::kAtUpper ? -reduced : reduced;
}

// The column whose entry improves fastest among those that were good when all were last looked at
// (multiple pricing); the first of equals.
size_t LinearProgram::entering() {
  for (int pass = 0; pass < 2; ++pass) {
    double best = kPriceTolerance;
    size_t chosen = kNone;
    for (const size_t j : candidates_) {
      const double value = gain(columns_[j]);
      if (value <= best) continue;
      best = value;
      chosen = j;
    }
    if (chosen != kNone || pass > 0) return chosen;
    gains_.resize(columns_.size());
    double top = kPriceTolerance;
    for (size_t j = 0; j < columns_.size(); ++j) {
      gains_[j] = gain(columns_[j]);
      top = std::max(top, gains_[j]);
    }
    candidates_.clear();
    for (size_t j = 0; j < columns_.size(); ++j) {
      if (gains_[j] > top * kGoodPart) candidates_.push_back(j);
    }
  }
  return kNone;
}

void LinearProgram::set_direction(const Column& column, double sign) {
  std::ranges::fill(direction_, 0.0);
  for (size_t k = column.first; k < column.end; ++k) {
    const size_t row = entries_[k].row;
    const double value = entries_[k].value * sign;
    for (size_t i = 0; i < rows_; ++i) direction_[i] += inverse_[i * rows_ + row] * value;
  }
}

// How far the entering variable can go until a basic one meets a bound; of equal steps the one with
// the largest pivot, which keeps the inverse accurate.
LinearProgram::Step LinearProgram::step_for(const Column& column) const {
  Step step{column.upper, 0, false, true};
  double pivot = 0.0;
  for (size_t i = 0; i < rows_; ++i) {
    const double change = direction_[i];
    if (std::abs(change) <= kPivotTolerance) continue;
    const bool to_upper = change < 0.0;
    const double upper = columns_[basis_[i]].upper;
    if (to_upper && upper >= kUnbounded) continue;
    const double room = std::max(0.0, to_upper ? upper - values_[i] : values_[i]);
    const double length = room / std::abs(change);
    const bool tied = !step.flips && length < step.length + kTieTolerance;
    if (length < step.length - kTieTolerance || (tied && std::abs(change) > pivot)) {
      step = {length, i, to_upper, false};
      pivot = std::abs(change);
    }
  }
  return step;
}

void LinearProgram::pivot(size_t entering, double sign, const Step& step) {
  Column& column = columns_[entering];
  const size_t row = step.row;
  const double pivot = direction_[row] * sign;
  double* pivot_row = &inverse_[row * rows_];
  const double price_change = reduced_objective(column) / pivot;
  // The inverse starts as the identity and fills up slowly.
  filled_.clear();
  for (size_t j = 0; j < rows_; ++j) {
    if (pivot_row[j] == 0.0) continue;
    filled_.push_back(j);
    prices_[j] += price_change * pivot_row[j];
    pivot_row[j] /= pivot;
  }
  for (size_t i = 0; i < rows_; ++i) {
    if (i == row || direction_[i] == 0.0) continue;
    const double factor = direction_[i] * sign;
    double* other = &inverse_[i * rows_];
    if (2 * filled_.size() > rows_) {
      for (size_t j = 0; j < rows_; ++j) other[j] -= factor * pivot_row[j];
    } else {
      for (const size_t j : filled_) other[j] -= factor * pivot_row[j];
    }
  }
  columns_[basis_[row]].where = step.leaves_at_upper ? Where::kAtUpper : Where::kAtZero;
  values_[row] = column.where == Where::kAtUpper ? column.upper - step.length : step.length;
  basis_[row] = entering;
  column.where = Where::kBasic;
}

bool LinearProgram::solve() {
  const size_t limit = steps_ + kStepsPerRow * (rows_ + 1);
  while (steps_ < limit) {
    const size_t chosen = entering();
    if (chosen == kNone) return true;
    ++steps_;
    Column& column = columns_[chosen];
    const double sign = column.where == Where::kAtUpper ? -1.0 : 1.0;
    set_direction(column, sign);
    const Step step = step_for(column);
    if (step.length >= kUnbounded) return false;
    for (size_t i = 0; i < rows_; ++i) values_[i] -= step.length * direction_[i];
    if (step.flips) {
      column.where = column.where == Where::kAtUpper ? Where::kAtZero : Where::kAtUpper;
    } else {
      pivot(chosen, sign, step);
    }
  }
  return false;
}

}  // namespace mainspring::placement
