// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/run_statistics.h"

#include <algorithm>

namespace mainspring::sim {
namespace {

constexpr int64_t kHourMs = 3'600'000;

}  // namespace

void RunCounters::pass(base::Instant until, int64_t held_milli, int64_t capacity_milli) {
  const int64_t span = until.ms - counted_until.ms;
  held += static_cast<Wide>(span) * held_milli;
  capacity += static_cast<Wide>(span) * capacity_milli;
  int64_t hour = counted_until.ms / kHourMs + 1;
  for (; hour * kHourMs <= until.ms; ++hour) {
    points.push_back({base::Instant{hour * kHourMs}, held_milli, capacity_milli});
  }
  counted_until = until;
}

WaitTimes wait_times(const std::vector<JobRecord>& jobs) {
  std::vector<int64_t> waits;
  int64_t sum = 0;
  for (const JobRecord& job : jobs) {
    if (job.started_at == base::Instant::never()) continue;
    waits.push_back(job.started_at.ms - job.submitted_at.ms);
    sum += waits.back();
  }
  WaitTimes times;
  times.count = static_cast<int64_t>(waits.size());
  if (waits.empty()) return times;
  std::ranges::sort(waits);
  // Nearest rank.
  const auto at = [&waits](size_t percent) {
    const size_t rank = (waits.size() * percent + 99) / 100;
    return base::Duration{waits[std::max<size_t>(rank, 1) - 1]};
  };
  times.mean = base::Duration{sum / times.count};
  times.p50 = at(50);
  times.p90 = at(90);
  times.p99 = at(99);
  times.max = base::Duration{waits.back()};
  return times;
}

}  // namespace mainspring::sim
