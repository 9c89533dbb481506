// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/sim/pod_lives.h"

// The figures of one run.

namespace mainspring::sim {

// Counted while the run goes.
struct RunCounters {
  int64_t events = 0;
  int64_t events_refused = 0;
  int64_t cycles = 0;
  int64_t binds = 0;  // pods
  int64_t releases = 0;
  int64_t displacements = 0;  // jobs
  int64_t promises_ended = 0;
  // Sums over time, in milli-GPU × ms: what pods held, and what was there.
  __extension__ using Wide = __int128;
  Wide held = 0;
  Wide capacity = 0;
  base::Instant counted_until;
  // One point per hour of virtual time: held and there, in milli-GPU.
  struct Point {
    base::Instant at;
    int64_t held_milli = 0;
    int64_t capacity_milli = 0;
  };
  std::vector<Point> points;

  // Time passes with these amounts.
  void pass(base::Instant until, int64_t held_milli, int64_t capacity_milli);
};

struct WaitTimes {
  int64_t count = 0;  // of jobs that have started
  base::Duration mean;
  base::Duration p50;
  base::Duration p90;
  base::Duration p99;
  base::Duration max;
};

struct RunStatistics {
  base::Instant end;
  int64_t jobs_submitted = 0;
  int64_t jobs_started = 0;
  int64_t jobs_finished = 0;
  int64_t jobs_removed = 0;
  int64_t jobs_waiting = 0;  // never started, not removed
  WaitTimes waits;           // from arrival to the first start
  int64_t repairs = 0;
  int64_t lost_gpu_ms = 0;  // see JobRecord
  int64_t refused_binds = 0;
  int64_t missed_faults = 0;
  // GPU time held in thousandths of the GPU time that there was.
  int64_t utilisation_milli = 0;
  RunCounters counters;
};

[[nodiscard]] WaitTimes wait_times(const std::vector<JobRecord>& jobs);

}  // namespace mainspring::sim
