// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>

#include <fmt/core.h>

#include "mainspring/base/check.h"
#include "mainspring/base/rng.h"
#include "mainspring/cli/bench_budgets.h"
#include "mainspring/cli/bench_cluster.h"

namespace mainspring::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kSeed = 42;

model::JobSpec preferring_rack(model::JobSpec job) {
  job.groups[0].preferred_level = "rack";
  return job;
}

}  // namespace

// 12,500 nodes × 8 GPUs with 20,000 pods of one to four GPUs; then jobs of a whole node come and
// go.
Measurement measure_place_8gpu_job() {
  BenchCluster world({.zones = 5, .blocks = 25, .racks = 25, .nodes = 4}, {});
  base::Rng rng(kSeed);
  for (int number = 0; number < 20'000; ++number) {
    const auto gpus = static_cast<uint32_t>(rng.between(1, 4));
    world.submit(uniform_job(fmt::format("small-{}", number), 1, gpu_shape(gpus)), 1);
  }
  std::vector<double> samples;
  for (int number = 0; number < 3000; ++number) {
    const model::JobSpec job = uniform_job(fmt::format("large-{}", number), 1, gpu_shape(8, 8000));
    model::Plan plan;
    samples.push_back(world.submit_ms(job, plan));
    MAINSPRING_CHECK(pods_bound(plan) == 1, "a benchmark's job was not placed");
    // A few stay, so that the next one does not find the same world.
    if (number % 4 != 0) world.remove(job);
  }
  return {.value = quantile(samples, 990), .samples = static_cast<int64_t>(samples.size())};
}

// 4 zones × 8 blocks × 8 racks × 2 nodes, empty; the gang takes all of it.
Measurement measure_gang_512_preferred_rack() {
  BenchCluster world({.zones = 4, .blocks = 8, .racks = 8, .nodes = 2}, {});
  std::vector<double> samples;
  for (int number = 0; number < 100; ++number) {
    const model::JobSpec job =
        preferring_rack(uniform_job(fmt::format("gang-{}", number), 512, gpu_shape(8)));
    model::Plan plan;
    samples.push_back(world.submit_ms(job, plan));
    MAINSPRING_CHECK(pods_bound(plan) == 512, "a benchmark's gang was not placed");
    world.remove(job);
  }
  return {.value = quantile(samples, 500), .samples = static_cast<int64_t>(samples.size())};
}

// All gangs are there when the cycle begins; its time is what counts.
Measurement measure_gangs_10x5000() {
  std::vector<double> rates;
  constexpr size_t kPods = 50'000;
  for (int round = 0; round < 5; ++round) {
    BenchCluster world({.zones = 5, .blocks = 10, .racks = 10, .nodes = 10},
                       {.gpus = 0, .cpu_milli = 32'000});
    for (int gang = 0; gang < 10; ++gang) {
      const model::JobSpec job = uniform_job(fmt::format("gang-{}", gang), 5000, gpu_shape(0));
      feed(world.state(), model::JobChanged{job});
    }
    const auto begin = Clock::now();
    const model::Plan plan = world.engine().run_cycle(world.state(), {});
    const std::chrono::duration<double> took = Clock::now() - begin;
    MAINSPRING_CHECK(pods_bound(plan) == kPods, "a benchmark's gang was not placed");
    rates.push_back(static_cast<double>(kPods) / took.count());
  }
  return {.value = quantile(rates, 500), .samples = static_cast<int64_t>(rates.size())};
}

// 500 nodes, every GPU taken. One job could never run here, another only when others end; the
// slower of the two answers counts.
Measurement measure_never_fits_500_full() {
  BenchCluster world({.zones = 5, .blocks = 5, .racks = 5, .nodes = 4}, {});
  world.submit(uniform_job("tenants", 4000, gpu_shape(1)), 4000);
  std::vector<double> never;
  std::vector<double> not_now;
  for (int number = 0; number < 200; ++number) {
    model::Plan plan;
    const auto wide = uniform_job(fmt::format("never-{}", number), 501, gpu_shape(8));
    never.push_back(world.submit_ms(wide, plan));
    MAINSPRING_CHECK(explains(plan, wide.id, model::VerdictKind::kNever), "no word of 'never'");
    world.remove(wide);
    const auto later = uniform_job(fmt::format("later-{}", number), 10, gpu_shape(8));
    not_now.push_back(world.submit_ms(later, plan));
    MAINSPRING_CHECK(explains(plan, later.id, model::VerdictKind::kNotNow), "no word of 'not now'");
    world.remove(later);
  }
  return {.value = std::max(quantile(never, 500), quantile(not_now, 500)),
          .samples = static_cast<int64_t>(never.size() + not_now.size())};
}

}  // namespace mainspring::cli
