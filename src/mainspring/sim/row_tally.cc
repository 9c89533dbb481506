// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/row_tally.h"

#include <fmt/format.h>

namespace mainspring::sim {

void RowTally::count_skipped(std::string reason, std::string place, std::string message) {
  ++skipped_;
  ++skipped_by_reason_[std::move(reason)];
  if (examples_.size() < kExamplesMax) examples_.push_back({std::move(place), std::move(message)});
}

void RowTally::add(const RowTally& other) {
  used_ += other.used_;
  skipped_ += other.skipped_;
  for (const auto& [reason, count] : other.skipped_by_reason_) skipped_by_reason_[reason] += count;
  for (const Example& example : other.examples_) {
    if (examples_.size() < kExamplesMax) examples_.push_back(example);
  }
}

std::string RowTally::summary() const {
  if (skipped_ == 0) return {};
  std::string reasons;
  for (const auto& [reason, count] : skipped_by_reason_) {
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", count, reason);
  }
  return fmt::format("{} of {} rows skipped: {} (first: {}: {})", skipped_, used_ + skipped_,
                     reasons, examples_.front().place, examples_.front().message);
}

}  // namespace mainspring::sim
