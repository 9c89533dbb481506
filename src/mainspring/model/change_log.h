// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mainspring/base/check.h"

// Which rows of a table changed, in order, for caches that catch up when they are asked.
//
// A reader keeps a cursor. A reader that fell too far behind is told so and starts over; that
// bounds the log. Amortised O(1) per change. Derived data: never part of a snapshot or a hash.

namespace mainspring::model {

class ChangeLog {
 public:
  // `length_max` is the number of changes that are always kept.
  explicit ChangeLog(size_t length_max = 1 << 16) : length_max_(length_max) {}

  void add(uint32_t slot) {
    if (slots_.size() >= 2 * length_max_) {
      slots_.erase(slots_.begin(), slots_.end() - static_cast<std::ptrdiff_t>(length_max_));
      first_ = end_ - slots_.size();
    }
    slots_.push_back(slot);
    ++end_;
  }

  // The position behind the newest change.
  [[nodiscard]] uint64_t end() const { return end_; }

  // Whether the changes since `cursor` are still here.
  [[nodiscard]] bool holds(uint64_t cursor) const { return cursor >= first_; }

  // The slots changed since `cursor`, oldest first; a slot may appear repeatedly.
  [[nodiscard]] std::span<const uint32_t> since(uint64_t cursor) const {
    MAINSPRING_CHECK(holds(cursor) && cursor <= end_,
                     "the change log does not reach that far back");
    return std::span(slots_).subspan(static_cast<size_t>(cursor - first_));
  }

 private:
  size_t length_max_;
  std::vector<uint32_t> slots_;
  uint64_t first_ = 0;
  uint64_t end_ = 0;
};

}  // namespace mainspring::model
