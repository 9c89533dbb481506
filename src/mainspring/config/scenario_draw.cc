// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "mainspring/base/rng.h"
#include "mainspring/config/scenario.h"
#include "mainspring/config/scenario_parts.h"

namespace mainspring::config {
namespace {

constexpr int64_t kHourMs = 3'600'000;

// Arrivals by hour of the day in percent of the busiest: nights are calm, afternoons are not.
constexpr std::array<int64_t, 24> kDailyPercent = {25, 20, 15, 15,  15, 20, 25, 35, 60, 80, 90, 90,
                                                   75, 85, 95, 100, 95, 85, 65, 50, 45, 40, 35, 30};
constexpr int64_t kDailyPercentMean = 54;

// The next arrival after `at` (Lewis and Shedler's thinning for the daily rate: draw at the busiest
// rate and keep an arrival with the probability of its hour).
base::Instant next_arrival(const GeneratedWorkload& workload, base::Instant at, base::Rng& rng) {
  const int64_t mean_ms = std::max<int64_t>(1, kHourMs / workload.jobs_per_hour);
  if (workload.process == ArrivalProcess::kEven) return at + base::milliseconds(mean_ms);
  if (workload.process == ArrivalProcess::kPoisson) {
    return at + base::milliseconds(rng.exponential(mean_ms));
  }
  const int64_t busiest_ms = std::max<int64_t>(1, mean_ms * kDailyPercentMean / 100);
  while (at < workload.until) {
    at = at + base::milliseconds(rng.exponential(busiest_ms));
    const auto hour = static_cast<size_t>(at.ms / kHourMs % 24);
    if (rng.chance(static_cast<uint64_t>(kDailyPercent[hour]), 100)) break;
  }
  return at;
}

const JobMix& draw_kind(const GeneratedWorkload& workload, base::Rng& rng) {
  uint64_t weights = 0;
  for (const JobMix& mix : workload.mix) weights += static_cast<uint64_t>(mix.weight);
  uint64_t ticket = rng.below(weights);
  for (const JobMix& mix : workload.mix) {
    const auto weight = static_cast<uint64_t>(mix.weight);
    if (ticket < weight) return mix;
    ticket -= weight;
  }
  return workload.mix.back();
}

void draw_workload(const GeneratedWorkload& workload, uint64_t seed,
                   std::vector<ScenarioJob>& jobs) {
  base::Rng rng(seed + workload.seed);
  base::Instant at = workload.from;
  for (int64_t number = 0;; ++number) {
    at = next_arrival(workload, at, rng);
    if (at >= workload.until) return;
    const JobMix& kind = draw_kind(workload, rng);
    ScenarioJob job;
    job.name = workload.name + "-" + kind.name;
    job.spec = named_job(kind.form, job.name + "-" + std::to_string(number));
    job.spec.submitted_at = at;
    const int64_t run_ms = rng.exponential(kind.run_mean.ms);
    job.run = base::milliseconds(std::clamp(run_ms, kind.run.min.ms, kind.run.max.ms));
    jobs.push_back(std::move(job));
  }
}

}  // namespace

std::vector<ScenarioJob> draw_jobs(const Scenario& scenario, uint64_t seed) {
  std::vector<ScenarioJob> jobs = scenario.jobs;
  for (const GeneratedWorkload& workload : scenario.generated) draw_workload(workload, seed, jobs);
  std::stable_sort(jobs.begin(), jobs.end(), [](const ScenarioJob& left, const ScenarioJob& right) {
    return left.spec.submitted_at < right.spec.submitted_at;
  });
  return jobs;
}

}  // namespace mainspring::config
