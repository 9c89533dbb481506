// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mainspring/cli/job_answer.h"
#include "mainspring/cli/timed_run.h"

// A run watched from outside at regular times, and told afterwards.

namespace mainspring::cli {

struct DaySample {
  base::Instant at;
  int64_t held_milli = 0;
  int64_t capacity_milli = 0;
  int64_t waiting_jobs = 0;
};

// What was seen to go wrong, counted at each sample.
struct FaultsSeen {
  int64_t nodes_lost = 0;
  int64_t devices_lost = 0;
  int64_t devices_taken = 0;
};

class DayWatcher {
 public:
  explicit DayWatcher(TimedRun& run) : run_(run) {}

  // After the run has come to the time of the next sample.
  void sample();

  [[nodiscard]] const std::vector<DaySample>& samples() const { return samples_; }
  [[nodiscard]] const FaultsSeen& faults() const { return faults_; }
  // The jobs that wait now, those that have waited longest first.
  [[nodiscard]] std::vector<std::string> waiting() const;

 private:
  TimedRun& run_;
  std::vector<DaySample> samples_;
  FaultsSeen faults_;
  std::vector<bool> node_down_;
  std::vector<std::vector<bool>> device_lost_;
  std::vector<std::vector<bool>> device_taken_;
};

// Held GPUs in percent of those that there were, as bars over time; below, how many jobs waited.
std::string occupancy_picture(const std::vector<DaySample>& samples, size_t columns, size_t rows);

// Jobs by kind: how many, how long they waited, how many GPUs.
std::string jobs_table(const std::vector<sim::JobRecord>& jobs);

// Everything that was survived, in a few lines.
std::string survived_text(const sim::RunStatistics& statistics, const FaultsSeen& faults,
                          const sim::Checker& checker);

}  // namespace mainspring::cli
