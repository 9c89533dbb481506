// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "mainspring/placement/mixing.h"

// Keys that are scrambled already, to numbers: open addressing, no removal but of everything.

namespace mainspring::placement {

class KeyMap {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  void clear() {
    if (count_ > 0) rows_.assign(rows_.size(), Row{});
    count_ = 0;
  }
  // The number of the key, which becomes `value`; kNone if it had none.
  uint32_t exchange(uint64_t key, uint32_t value) {
    if (2 * (count_ + 1) > rows_.size()) grow();
    Row& row = rows_[find(key)];
    const uint32_t before = row.value;
    if (before == kNone) ++count_;
    row = {key, value};
    return before;
  }
  [[nodiscard]] bool contains(uint64_t key) const {
    return count_ > 0 && rows_[find(key)].value != kNone;
  }

 private:
  struct Row {
    uint64_t key = 0;
    uint32_t value = kNone;
  };

  [[nodiscard]] size_t find(uint64_t key) const {
    const size_t mask = rows_.size() - 1;
    size_t at = mix(key) & mask;
    while (rows_[at].value != kNone && rows_[at].key != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Row> old =
        std::exchange(rows_, std::vector<Row>(rows_.empty() ? 16 : 4 * rows_.size()));
    for (const Row& row : old) {
      if (row.value != kNone) rows_[find(row.key)] = row;
    }
  }

  std::vector<Row> rows_;
  size_t count_ = 0;
};

class KeySet {
 public:
  void clear() { map_.clear(); }
  void insert(uint64_t key) { map_.exchange(key, 0); }
  [[nodiscard]] bool contains(uint64_t key) const { return map_.contains(key); }

 private:
  KeyMap map_;
};

}  // namespace mainspring::placement
