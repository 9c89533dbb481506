// SPDX-License-Identifier: Apache-2.0
// Who gives way to whom, in a full cluster of 500 nodes × 8 GPUs.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "mainspring/base/check.h"
#include "mainspring/cli/bench_budgets.h"
#include "mainspring/cli/bench_cluster.h"

namespace mainspring::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr TreeShape kTree{.zones = 5, .blocks = 5, .racks = 5, .nodes = 4};
constexpr int64_t kNodes = 500;
constexpr int64_t kGpus = 4000;

void add_queue(BenchCluster& world, const std::string& name, int64_t gpus,
               const std::string& parent = "") {
  model::QueueSpec queue{.name = name, .parent = parent};
  queue.resources.push_back({.name = "gpu", .quota = gpus * model::kWholeGpuMilli});
  feed(world.state(), model::QueueChanged{queue});
}

model::JobSpec job_of(const std::string& queue, const std::string& id, int64_t pods,
                      uint32_t gpus) {
  model::JobSpec job = uniform_job(id, pods, gpu_shape(gpus));
  job.queue = queue;
  return job;
}

// One-GPU jobs of the queue, running.
void fill(BenchCluster& world, const std::string& queue, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const model::JobSpec job = job_of(queue, fmt::format("{}-{}", queue, i), 1, 1);
    feed(world.state(), model::JobChanged{job});
  }
  const model::Plan plan = world.cycle();
  MAINSPRING_CHECK(static_cast<int64_t>(pods_bound(plan)) == count,
                   "a benchmark's jobs were not placed");
  world.start(plan);
}

int64_t pods_displaced(const model::Plan& plan) {
  int64_t pods = 0;
  for (const model::Decision& decision : plan.decisions) {
    const auto* displace = std::get_if<model::Displace>(&decision);
    if (displace == nullptr) continue;
    for (const model::Victim& victim : displace->victims) {
      pods += static_cast<int64_t>(victim.pods.size());
    }
  }
  return pods;
}

}  // namespace

// The owner of half of the cluster asks for GPUs one by one, while another queue holds them all.
Measurement measure_reclaim_1_of_4000() {
  BenchCluster world(kTree, {});
  add_queue(world, "owner", kGpus / 2);
  add_queue(world, "borrower", kGpus / 2);
  fill(world, "borrower", kGpus);
  std::vector<double> samples;
  for (int number = 0; number < 100; ++number) {
    model::Plan plan;
    samples.push_back(world.submit_ms(job_of("owner", fmt::format("own-{}", number), 1, 1), plan));
    MAINSPRING_CHECK(pods_displaced(plan) == 1, "not exactly one GPU was reclaimed");
  }
  return {.value = quantile(samples, 500), .samples = static_cast<int64_t>(samples.size())};
}

// A gang of 500 whole nodes takes all that is held by 4,000 jobs.
Measurement measure_reclaim_4000_gpus_for_gang() {
  std::vector<double> samples;
  for (int round = 0; round < 3; ++round) {
    BenchCluster world(kTree, {});
    add_queue(world, "owner", kGpus);
    add_queue(world, "borrower", 0);
    fill(world, "borrower", kGpus);
    model::Plan plan;
    samples.push_back(world.submit_ms(job_of("owner", "gang", kNodes, 8), plan));
    MAINSPRING_CHECK(pods_displaced(plan) == kGpus, "not exactly 4,000 GPUs were reclaimed");
  }
  return {.value = quantile(samples, 500), .samples = static_cast<int64_t>(samples.size())};
}

// One GPU of each node is taken; 41 gangs of ten whole nodes arrive at once.
Measurement measure_consolidate_41x10() {
  std::vector<double> samples;
  for (int round = 0; round < 3; ++round) {
    BenchCluster world(kTree, {});
    add_queue(world, "all", kGpus);
    // Seven of eight jobs end, so that each node keeps one.
    fill(world, "all", kGpus);
    for (int64_t node = 0; node < kNodes; ++node) {
      const model::Node& row = world.state().inventory().nodes()[static_cast<size_t>(node)];
      std::vector<std::string> ended;
      for (model::PodIx pod = row.first_pod; pod.valid();
           pod = world.state().pod(pod).next_on_node) {
        ended.push_back(world.state().pod(pod).id);
      }
      ended.pop_back();
      for (const std::string& pod : ended) feed(world.state(), model::PodGone{.pod = pod});
    }
    for (int gang = 0; gang < 41; ++gang) {
      feed(world.state(), model::JobChanged{job_of("all", fmt::format("gang-{}", gang), 10, 8)});
    }
    const auto begin = Clock::now();
    const model::Plan plan = world.cycle();
    samples.push_back(Milliseconds(Clock::now() - begin).count());
    MAINSPRING_CHECK(pods_displaced(plan) == 410, "not every gang got its ten nodes");
  }
  return {.value = quantile(samples, 500), .samples = static_cast<int64_t>(samples.size())};
}

// Two queues hold exactly what they own. A gang that could run one day, and one that never can.
Measurement measure_never_fits_gang_500_full() {
  BenchCluster world(kTree, {});
  add_queue(world, "one", kGpus / 2);
  add_queue(world, "other", kGpus / 2);
  fill(world, "one", kGpus / 2);
  fill(world, "other", kGpus / 2);
  std::vector<double> never;
  std::vector<double> not_now;
  for (int number = 0; number < 200; ++number) {
    model::Plan plan;
    const auto large = job_of("one", fmt::format("never-{}", number), 10, 9);
    never.push_back(world.submit_ms(large, plan));
    MAINSPRING_CHECK(explains(plan, large.id, model::VerdictKind::kNever), "no word of 'never'");
    world.remove(large);
    const auto later = job_of("one", fmt::format("later-{}", number), 10, 8);
    not_now.push_back(world.submit_ms(later, plan));
    MAINSPRING_CHECK(explains(plan, later.id, model::VerdictKind::kNotNow), "no word of 'not now'");
    MAINSPRING_CHECK(pods_displaced(plan) == 0, "somebody was displaced without right");
    world.remove(later);
  }
  return {.value = std::max(quantile(never, 500), quantile(not_now, 500)),
          .samples = static_cast<int64_t>(never.size() + not_now.size())};
}

// 1,000 leaves, in each of which a job waits for a full cluster; time passes, and nothing else.
Measurement measure_cycle_idle_1000_queues() {
  BenchCluster world(kTree, {});
  for (int root = 0; root < 10; ++root) {
    const std::string name = fmt::format("root-{}", root);
    add_queue(world, name, kGpus / 10);
    for (int leaf = 0; leaf < 100; ++leaf) {
      add_queue(world, fmt::format("leaf-{}-{}", root, leaf), 4, name);
    }
  }
  const auto name_of = [](int leaf) { return fmt::format("leaf-{}-{}", leaf / 100, leaf % 100); };
  for (int leaf = 0; leaf < 1000; ++leaf) fill(world, name_of(leaf), 4);
  for (int leaf = 0; leaf < 1000; ++leaf) {
    const std::string queue = name_of(leaf);
    feed(world.state(), model::JobChanged{job_of(queue, "wait-" + queue, 1, 8)});
  }
  (void)world.cycle();
  std::vector<double> samples;
  for (int round = 0; round < 200; ++round) {
    const auto begin = Clock::now();
    feed(world.state(), model::Tick{});
    const model::Plan plan = world.cycle();
    samples.push_back(Milliseconds(Clock::now() - begin).count());
    MAINSPRING_CHECK(plan.decisions.empty(), "something was decided in an idle cycle");
  }
  return {.value = quantile(samples, 500), .samples = static_cast<int64_t>(samples.size())};
}

}  // namespace mainspring::cli
