// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "mainspring/kube/http.h"

// The time of day of this machine, fit for deadlines and leases.

namespace mainspring::kube {

// Turns readings of two clocks into one that never runs backwards and never slower than real time:
// a wall clock that is set back is ignored until it has caught up, one that is set forward is
// followed at once.
class SteadyTimeOfDay {
 public:
  base::Instant advance(int64_t wall_ms, int64_t steady_ms);

 private:
  std::optional<base::Instant> last_;
  int64_t last_steady_ms_ = 0;
};

// For one thread.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] base::Instant now() const override;

 private:
  mutable SteadyTimeOfDay time_;
};

}  // namespace mainspring::kube
