// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/system_clock.h"

#include <algorithm>
#include <chrono>

namespace mainspring::kube {

base::Instant SteadyTimeOfDay::advance(int64_t wall_ms, int64_t steady_ms) {
  base::Instant now{wall_ms};
  if (last_) {
    const base::Duration passed{std::max<int64_t>(0, steady_ms - last_steady_ms_)};
    now = std::max(now, *last_ + passed);
  }
  last_ = now;
  last_steady_ms_ = steady_ms;
  return now;
}

base::Instant SystemClock::now() const {
  const auto in_ms = [](auto since) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
  };
  return time_.advance(in_ms(std::chrono::system_clock::now().time_since_epoch()),
                       in_ms(std::chrono::steady_clock::now().time_since_epoch()));
}

}  // namespace mainspring::kube
