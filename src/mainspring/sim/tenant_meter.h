// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/model/cluster_state.h"

// GPU time by queue, between the start of a run and the end of a window.

namespace mainspring::sim {

// In GPU × ms. What all queues together hold beyond what they own is lent by those that hold less,
// in proportion to what each leaves idle.
struct QueueUse {
  double owned = 0;
  double used = 0;
  double borrowed = 0;
  double lent = 0;
};

class TenantMeter {
 public:
  struct Owner {
    std::string queue;
    int64_t gpus = 0;
  };

  TenantMeter(std::vector<Owner> owners, base::Instant window_end)
      : owners_(std::move(owners)),
        window_end_(window_end),
        held_milli_(owners_.size()),
        uses_(owners_.size()) {}

  // Time has passed with what was held before; O(owners).
  void pass(base::Instant now);
  // What is held from now on. Of all queues, whether anybody owns them or not. O(queues).
  void read(const model::ClusterState& state);

  // By owner, in the order given.
  [[nodiscard]] const std::vector<QueueUse>& uses() const { return uses_; }
  // GPU × ms that everybody held.
  [[nodiscard]] double used() const { return used_; }

 private:
  std::vector<Owner> owners_;
  base::Instant window_end_;
  std::vector<int64_t> held_milli_;
  std::vector<QueueUse> uses_;
  int64_t all_held_milli_ = 0;
  double used_ = 0;
  base::Instant at_;
};

}  // namespace mainspring::sim
