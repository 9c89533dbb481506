// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "mainspring/base/check.h"
#include "mainspring/base/instant.h"

// What will happen when, in virtual time. Things of one instant happen in the order in which they
// were put down. O(log entries).

namespace mainspring::sim {

class Agenda {
 public:
  using Action = std::function<void()>;

  void put(base::Instant at, Action action) {
    MAINSPRING_CHECK(at >= now_, "something was to happen in the past");
    queue_.push({at, next_++, std::move(action)});
  }

  [[nodiscard]] bool empty() const { return queue_.empty(); }
  [[nodiscard]] base::Instant now() const { return now_; }
  // The time of the next entry, or never.
  [[nodiscard]] base::Instant next() const {
    return queue_.empty() ? base::Instant::never() : queue_.top().at;
  }

  // Time passes; nothing may be left undone before `at`.
  void advance(base::Instant at) {
    MAINSPRING_CHECK(at >= now_ && next() >= at, "time was to skip what should have happened");
    now_ = at;
  }

  // Does everything that is due now, also what is put down for now on the way.
  void run_due() {
    while (!queue_.empty() && queue_.top().at == now_) {
      const Action action = std::move(const_cast<Entry&>(queue_.top()).action);
      queue_.pop();
      action();
    }
  }

 private:
  struct Entry {
    base::Instant at;
    uint64_t number = 0;
    Action action;

    friend bool operator<(const Entry& left, const Entry& right) {
      return left.at != right.at ? left.at > right.at : left.number > right.number;
    }
  };

  std::priority_queue<Entry> queue_;
  uint64_t next_ = 0;
  base::Instant now_;
};

}  // namespace mainspring::sim
