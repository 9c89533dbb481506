// SPDX-License-Identifier: Apache-2.0
// The periodic policy is no straw man: it is about as quick as the systems that it stands for.
#include <algorithm>
#include <cstdio>
#include <vector>

#include <gtest/gtest.h>

#include "mainspring/sim/timed_world_for_tests.h"

namespace mainspring::sim {
namespace {

constexpr int kNodes = 500;
constexpr int kGpusPerNode = 8;
constexpr int64_t kPodStopMs = 500;
constexpr int64_t kFirstClaimSeconds = 200;  // by then everything runs

PeriodicCosts with_period(PeriodicCosts costs, int64_t period_ms) {
  costs.period = base::milliseconds(period_ms);
  return costs;
}

std::string numbered(const std::string& name, int number) {
  return name + "-" + std::to_string(10'000 + number).substr(1);
}

// All GPUs are in use by single pods of one queue; half of them belong to another one.
TimedWorld borrowed_cluster() {
  TimedWorld world(kNodes, kGpusPerNode, kPodStopMs);
  const int gpus = kNodes * kGpusPerNode;
  world.queue("queue-a", gpus / 2);
  world.queue("queue-b", gpus / 2);
  for (int i = 0; i < gpus; ++i) {
    world.job({.id = numbered("fill", i), .gpus = 1, .queue = "queue-a"});
  }
  return world;
}

// The median over claims of one GPU that come at different moments of the cycle.
double reclaim_one_seconds(const PeriodicCosts& costs) {
  constexpr int kClaims = 21;
  TimedWorld world = borrowed_cluster();
  std::vector<int64_t> arrivals;
  int64_t at_ms = kFirstClaimSeconds * 1000;
  for (int i = 0; i < kClaims; ++i) {
    at_ms += 7000 + 130 * i;
    arrivals.push_back(at_ms);
    world.job_at(at_ms, {.id = numbered("claim", i), .gpus = 1, .queue = "queue-b"});
  }
  world.run("periodic", at_ms / 1000 + 60, costs);
  std::vector<int64_t> waits;
  for (int i = 0; i < kClaims; ++i) {
    const std::string id = numbered("claim", i);
    EXPECT_GT(world.start_ms(id), 0) << id;
    waits.push_back(world.start_ms(id) - arrivals[static_cast<size_t>(i)]);
  }
  std::ranges::sort(waits);
  return static_cast<double>(waits[kClaims / 2]) / 1000;
}

// Half of the cluster at once, in whole nodes.
double reclaim_gang_seconds(const PeriodicCosts& costs) {
  TimedWorld world = borrowed_cluster();
  world.job({.id = "claim",
             .at_s = kFirstClaimSeconds,
             .pods = kNodes / 2,
             .gpus = kGpusPerNode,
             .queue = "queue-b"});
  world.run("periodic", kFirstClaimSeconds + 200, costs);
  EXPECT_GT(world.start_ms("claim"), 0);
  size_t evicted = 0;
  for (int i = 0; i < kNodes * kGpusPerNode; ++i) {
    evicted += world.displaced_by(numbered("fill", i)).size();
  }
  EXPECT_EQ(evicted, static_cast<size_t>(kNodes / 2 * kGpusPerNode));
  return static_cast<double>(world.start_ms("claim") - kFirstClaimSeconds * 1000) / 1000;
}

void expect_close(const char* row, double simulated, double measured) {
  std::printf("%-44s measured %6.2f s, simulated %6.2f s (%+.0f %%)\n", row, measured, simulated,
              100 * (simulated / measured - 1));
  EXPECT_GT(simulated, 0.7 * measured) << row;
  EXPECT_LT(simulated, 1.3 * measured) << row;
}

TEST(PeriodicMeasured, ReclaimsOneGpuAsQuicklyAsKaiAndVolcano) {
  expect_close("reclaim-one, KAI", reclaim_one_seconds(kKaiCosts), 1.64);
  expect_close("reclaim-one, Volcano", reclaim_one_seconds(kVolcanoCosts), 2.17);
}

// The costs were not fitted to these two rows.
TEST(PeriodicMeasured, ReclaimsOneGpuAsQuicklyWithAShortPeriod) {
  expect_close("reclaim-one, KAI, period 100 ms", reclaim_one_seconds(with_period(kKaiCosts, 100)),
               0.77);
  expect_close("reclaim-one, Volcano, period 100 ms",
               reclaim_one_seconds(with_period(kVolcanoCosts, 100)), 1.48);
}

TEST(PeriodicMeasured, ReclaimsHalfOfTheClusterAsQuicklyAsKaiAndVolcano) {
  expect_close("reclaim-gang 250 x 8, KAI", reclaim_gang_seconds(kKaiCosts), 31.7);
  expect_close("reclaim-gang 250 x 8, Volcano", reclaim_gang_seconds(kVolcanoCosts), 22.1);
}

}  // namespace
}  // namespace mainspring::sim
