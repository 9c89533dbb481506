// SPDX-License-Identifier: Apache-2.0
#include "mainspring/report/fairness.h"

#include <numeric>

#include "mainspring/report/small_world_for_tests.h"

namespace mainspring::report {
namespace {

constexpr int64_t kSecondMs = 1000;

TEST(Percentiles, AreByNearestRank) {
  std::vector<int64_t> values(10);
  std::iota(values.begin(), values.end(), 1);
  const Percentiles ten = percentiles_of(values);
  EXPECT_EQ(ten.p50.ms, 5);
  EXPECT_EQ(ten.p90.ms, 9);
  EXPECT_EQ(ten.p95.ms, 10);
  EXPECT_EQ(ten.p99.ms, 10);
  EXPECT_EQ(percentiles_of({7}).p50.ms, 7);
  EXPECT_EQ(percentiles_of({}).count, 0);
}

TEST(Percentiles, TheSpreadIsJudgedExactly) {
  const auto spread = [](int64_t p50, int64_t p90) {
    return spread_of({.count = 1, .p50 = {p50}, .p90 = {p90}});
  };
  EXPECT_EQ(spread_of({}), Spread::kNoData);
  EXPECT_EQ(spread(100, 150), Spread::kMet);
  EXPECT_EQ(spread(100, 151), Spread::kMissed);
  EXPECT_EQ(spread(100, 200), Spread::kMissed);
  EXPECT_EQ(spread(100, 201), Spread::kAlert);
  EXPECT_EQ(spread(0, 0), Spread::kMet);
  EXPECT_EQ(spread(0, 1), Spread::kAlert);
}

TEST(Fairness, CountsWhatIsOwnedUsedLentAndBorrowed) {
  Reclaimed world;
  const FairnessReport before = world.fair();
  EXPECT_EQ(world.row(before.queues, "owners").gpu.lent_ms, 4 * 600 * kSecondMs);
  world.at_second(1000);
  const FairnessReport after = world.fair();
  const GpuTime& owners = world.row(after.queues, "owners").gpu;
  EXPECT_EQ(owners.owned_ms, 4 * 1000 * kSecondMs);
  // From the displacement on the GPUs are promised to it.
  EXPECT_EQ(owners.used_ms, 4 * 400 * kSecondMs);
  EXPECT_EQ(owners.lent_ms, 4 * 600 * kSecondMs);
  EXPECT_EQ(owners.borrowed_ms, 0);
  const GpuTime& guests = world.row(after.queues, "guests").gpu;
  EXPECT_EQ(guests.owned_ms, 0);
  EXPECT_EQ(guests.used_ms, 4 * 600 * kSecondMs);
  EXPECT_EQ(guests.borrowed_ms, 4 * 600 * kSecondMs);
  // The same by tenant: olga owns what her queue owns, and gus owns nothing.
  const FairnessRow& olga = world.row(after.tenants, "olga");
  EXPECT_TRUE(olga.owns);
  EXPECT_EQ(olga.gpu.lent_ms, owners.lent_ms);
  EXPECT_EQ(olga.gpu.used_ms, owners.used_ms);
  const FairnessRow& gus = world.row(after.tenants, "gus");
  EXPECT_FALSE(gus.owns);
  EXPECT_EQ(gus.gpu.borrowed_ms, guests.borrowed_ms);
}

TEST(Fairness, WaitingIsAllTheTimeWithoutRunning) {
  Reclaimed world;
  world.at_second(610);
  world.end("guest", model::PodEnd::kLost);
  world.cycle();
  world.at_second(620);
  world.start("claim");
  world.cycle();
  EXPECT_EQ(world.row(world.fair().queues, "guests").waiting_now, 1);
  EXPECT_EQ(world.row(world.fair().queues, "guests").longest_wait, base::seconds(10));
  world.at_second(700);
  world.end("claim");
  world.cycle();
  world.start("guest");
  world.cycle();
  world.at_second(1400);
  world.end("guest");
  world.cycle();
  const FairnessReport report = world.fair();
  const FairnessRow& owners = world.row(report.queues, "owners");
  EXPECT_EQ(owners.completion.count, 1);
  EXPECT_EQ(owners.completion.p50, base::seconds(100));
  EXPECT_EQ(owners.waiting.p99, base::seconds(20));
  // It was displaced at 600 s, ran on until 610 s, and again from 700 s.
  const FairnessRow& guests = world.row(report.queues, "guests");
  EXPECT_EQ(guests.completion.p50, base::seconds(1400));
  EXPECT_EQ(guests.waiting.p50, base::seconds(90));
  EXPECT_EQ(guests.waiting_now, 0);
}

TEST(Fairness, LooksBackOneDay) {
  SmallWorld world(4);
  world.queue("q", 4);
  world.submit("j", "q", "t", 1);
  world.cycle();
  world.start("j");
  world.at_second(10);
  world.end("j");
  world.cycle();
  EXPECT_EQ(world.row(world.fair().queues, "q").completion.count, 1);
  world.at_second(10 + 24 * 3600);
  EXPECT_EQ(world.row(world.fair().queues, "q").completion.count, 1);
  world.at_second(11 + 24 * 3600);
  EXPECT_EQ(world.row(world.fair().queues, "q").completion.count, 0);
}

TEST(Fairness, AJobThatIsTakenAwayDidNotEnd) {
  SmallWorld world(4);
  world.submit("j", "q", "t", 8);
  world.cycle();
  world.apply(model::JobGone{"j"});
  world.submit("k", "q", "t", 1);
  world.cycle();
  world.start("k");
  world.cycle();
  world.apply(model::JobGone{"k"});
  world.end("k", model::PodEnd::kRemoved);
  world.cycle();
  for (const FairnessRow& row : world.fair().queues) EXPECT_EQ(row.completion.count, 0);
}

// What a parent lends comes from its children; what children borrow of each other stays inside.
TEST(Fairness, LendingGoesDownTheTree) {
  SmallWorld world(20);
  world.queue("a", 12);
  world.queue("a-idle", 8, "a");
  world.queue("a-busy", 4, "a");
  world.queue("b", 8);
  world.submit("one", "a-busy", "t", 6);
  world.submit("two", "b", "t", 11);
  world.cycle();
  world.at_second(10);
  const FairnessReport report = world.fair();
  const auto gpu = [&](const char* name) { return world.row(report.queues, name).gpu; };
  EXPECT_EQ(gpu("b").borrowed_ms, 3 * 10 * kSecondMs);
  EXPECT_EQ(gpu("a").lent_ms, 3 * 10 * kSecondMs);
  EXPECT_EQ(gpu("a-busy").borrowed_ms, 2 * 10 * kSecondMs);
  EXPECT_EQ(gpu("a-busy").lent_ms, 0);
  EXPECT_EQ(gpu("a-idle").lent_ms, 5 * 10 * kSecondMs);
  EXPECT_EQ(world.row(report.queues, "a-idle").depth, 1U);
  // Every milli-GPU of a queue belongs to some tenant.
  EXPECT_EQ(world.row(report.tenants, "t").gpu.used_ms, 17 * 10 * kSecondMs);
  EXPECT_EQ(world.row(report.tenants, "t").gpu.borrowed_ms, 5 * 10 * kSecondMs);
}

TEST(Fairness, BoundsItsMemoryAndSaysSo) {
  Fairness small(2);
  SmallWorld world(4);
  for (int i = 0; i < 4; ++i) {
    world.submit("j" + std::to_string(i), "q", "t", 1);
    model::Event none;
    none.body = model::Tick{};
    small.observe(none, world.state);
    world.cycle();
    world.start("j" + std::to_string(i));
    world.end("j" + std::to_string(i));
    small.observe(none, world.state);
  }
  small.observe(world.state, world.engine.shares(), world.now);
  const FairnessReport report = small.report(world.state, world.now);
  EXPECT_EQ(report.forgotten, 2);
  EXPECT_EQ(world.row(report.queues, "q").completion.count, 2);
}

}  // namespace
}  // namespace mainspring::report
