// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mainspring/model/cluster_state.h"

// The books of a baseline policy: who waits and who runs, kept from the state's change log.
//
// Jobs of one signature (same queue, same pods) stand in one line: what its head cannot get,
// nobody behind it can. O(log jobs) per changed job.

namespace mainspring::sim {

// The order of a policy: first the higher priority where it counts, then who came first.
struct ArrivalKey {
  int32_t priority = 0;
  base::Instant submitted_at;
  std::string id;
  uint32_t slot = 0;

  friend std::strong_ordering operator<=>(const ArrivalKey& left, const ArrivalKey& right) {
    if (const auto order = right.priority <=> left.priority; order != 0) return order;
    if (const auto order = left.submitted_at <=> right.submitted_at; order != 0) return order;
    return left.id.compare(right.id) <=> 0;
  }
  friend bool operator==(const ArrivalKey& left, const ArrivalKey& right) {
    return (left <=> right) == 0;
  }
};

class WaitingLines {
 public:
  struct Line {
    std::set<ArrivalKey> jobs;
    // Asked for in vain when the cluster had gained so often.
    std::optional<uint64_t> refused_at_gains;
  };

  explicit WaitingLines(bool by_priority) : by_priority_(by_priority) {}

  void sync(const model::ClusterState& state);

  // By signature.
  [[nodiscard]] std::map<uint32_t, Line>& lines() { return lines_; }
  [[nodiscard]] const std::map<uint32_t, Line>& lines() const { return lines_; }
  // Jobs that hold what they need.
  [[nodiscard]] const std::set<ArrivalKey>& running() const { return running_; }
  [[nodiscard]] bool anybody_waits() const { return !lines_.empty(); }

 private:
  struct Place {
    bool waits = false;
    bool runs = false;
    uint32_t signature = 0;
    ArrivalKey key;
  };
  void update(const model::ClusterState& state, uint32_t slot);

  bool by_priority_;
  bool started_ = false;
  uint64_t cursor_ = 0;
  std::vector<Place> places_;  // by job slot
  std::map<uint32_t, Line> lines_;
  std::set<ArrivalKey> running_;
};

}  // namespace mainspring::sim
