// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "mainspring/model/tables.h"

// WHO is next inside a queue: who was displaced in vain, then the higher priority, then the longer
// wait, then the id, so that the order is total and does not depend on slots.

namespace mainspring::policy {

struct JobKey {
  bool goes_first = false;
  int32_t priority = 0;
  base::Instant submitted_at;
  std::string id;
  uint32_t slot = 0;

  friend std::strong_ordering operator<=>(const JobKey& left, const JobKey& right) {
    if (left.goes_first != right.goes_first) {
      return left.goes_first ? std::strong_ordering::less : std::strong_ordering::greater;
    }
    if (const auto order = right.priority <=> left.priority; order != 0) return order;
    if (const auto order = left.submitted_at <=> right.submitted_at; order != 0) return order;
    return left.id.compare(right.id) <=> 0;
  }
  friend bool operator==(const JobKey& left, const JobKey& right) { return (left <=> right) == 0; }
};

inline JobKey key_of(const model::Job& job, uint32_t slot) {
  return {job.goes_first, job.priority, job.submitted_at, job.id, slot};
}

}  // namespace mainspring::policy
