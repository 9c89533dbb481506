// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/price_table.h"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "mainspring/placement/node_value.h"

namespace mainspring::placement {
namespace {

constexpr int32_t kUnit = PriceTable::kUnit;

std::vector<SupplyEntry> plenty_of_cpu() { return {{1'000'000, 8, 100}}; }

std::vector<DemandEntry> pods(const std::vector<std::pair<int32_t, int64_t>>& milli_and_count) {
  std::vector<DemandEntry> demand;
  demand.reserve(milli_and_count.size());
  for (const auto& [milli, count] : milli_and_count) {
    demand.push_back({1000, 1, milli, ~uint64_t{0}, count});
  }
  return demand;
}

// The price of a device's share at no cost of CPU, in thousandths of a device.
int32_t worth(const PriceTable& table, int32_t free_milli) {
  return (table.share(free_milli)[0] * 1000 + kUnit / 2) / kUnit;
}

TEST(PriceTable, SharesThatDivideADeviceArePricedByTheirNumber) {
  // No two pods of 400 and 700 go together: one device holds two of the former or one of the
  // latter.
  const PriceTable table = PriceTable::solve(pods({{400, 1000}, {700, 1000}}), plenty_of_cpu());
  EXPECT_NEAR(worth(table, 400), 500, 2);
  EXPECT_NEAR(worth(table, 700), 1000, 2);
  EXPECT_NEAR(worth(table, 1000), 1000, 2);
}

TEST(PriceTable, WhatNothingFitsIntoIsWorthNothing) {
  const PriceTable table = PriceTable::solve(pods({{810, 3000}, {1000, 3000}}), plenty_of_cpu());
  EXPECT_EQ(worth(table, 190), 0);
  EXPECT_EQ(worth(table, 800), 0);
  EXPECT_NEAR(worth(table, 810), 1000, 2);
  // A whole device is worth no more than one of which 810 are free.
  EXPECT_NEAR(worth(table, 999), 1000, 2);
}

TEST(PriceTable, FillersOfUnavoidableGapsAreFree) {
  // Every 810 leaves room for a 160; there are fewer of the latter.
  const PriceTable table =
      PriceTable::solve(pods({{810, 3000}, {160, 300}, {1000, 3000}}), plenty_of_cpu());
  EXPECT_EQ(worth(table, 160), 0);
  EXPECT_NEAR(worth(table, 810), 1000, 2);
}

TEST(PriceTable, ThirdsAndQuarters) {
  const PriceTable table = PriceTable::solve(pods({{330, 900}, {1000, 900}}), plenty_of_cpu());
  EXPECT_NEAR(worth(table, 330), 333, 2);
  EXPECT_NEAR(worth(table, 660), 667, 2);
  EXPECT_NEAR(worth(table, 989), 667, 2);
}

TEST(PriceTable, SeveralDevicesAreWorthWhatTheyHold) {
  std::vector<DemandEntry> demand = pods({{1000, 1000}});
  demand.push_back({8000, 8, 1000, ~uint64_t{0}, 200});
  const PriceTable table = PriceTable::solve(demand, plenty_of_cpu());
  EXPECT_NEAR(table.wholes(8)[0], 8 * kUnit, 40);
  EXPECT_EQ(table.wholes(0)[0], 0);
}

TEST(PriceTable, CpuHasAPriceWhereItRunsOut) {
  // One core a device, and every pod wants one: half the CPU gone is half the node.
  const std::vector<SupplyEntry> supply{{8000, 8, 100}};
  const PriceTable table = PriceTable::solve(pods({{1000, 5000}}), supply);
  const std::vector<DeviceFree> devices(8, {1000, true});
  NodeValue full;
  full.assign(table, 8000, devices);
  NodeValue starved;
  starved.assign(table, 0, devices);
  EXPECT_GT(full.value(), 7 * kUnit);
  EXPECT_LT(starved.value(), full.value() / 2);
}

TEST(PriceTable, WithoutGpusOrWithoutDemandForThem) {
  EXPECT_FALSE(PriceTable::solve({}, {}).priced());
  const std::vector<SupplyEntry> no_gpus{{64000, 0, 10}};
  EXPECT_FALSE(PriceTable::solve(pods({{500, 10}}), no_gpus).priced());
  // Nothing arrived yet: whole devices, halves and quarters are expected.
  const PriceTable unknown = PriceTable::solve({}, plenty_of_cpu());
  EXPECT_TRUE(unknown.priced());
  EXPECT_NEAR(worth(unknown, 500), 500, 30);
  EXPECT_NEAR(worth(unknown, 250), 250, 15);
}

TEST(PriceTable, ManySizesAreMerged) {
  std::vector<DemandEntry> demand;
  demand.reserve(3000);
  for (int i = 0; i < 3000; ++i) {
    demand.push_back({100 + 37 * (i % 900), i % 50 == 0 ? 2U + static_cast<uint32_t>(i) % 7 : 1U,
                      i % 50 == 0 ? 1000 : 1 + i % 1000, ~uint64_t{0}, 1});
  }
  EXPECT_TRUE(PriceTable::solve(demand, plenty_of_cpu()).priced());
}

std::vector<DemandEntry> any_demand() {
  std::vector<DemandEntry> demand;
  const size_t count = *rc::gen::inRange<size_t>(0, 30);
  for (size_t i = 0; i < count; ++i) {
    DemandEntry entry;
    entry.cpu_milli = *rc::gen::inRange<int64_t>(0, 100'000);
    entry.gpu_count = *rc::gen::inRange<uint32_t>(0, 9);
    entry.gpu_milli = entry.gpu_count == 0   ? 0
                      : entry.gpu_count == 1 ? *rc::gen::inRange(1, 1001)
                                             : 1000;
    entry.weight = *rc::gen::inRange<int64_t>(1, 500);
    demand.push_back(entry);
  }
  return demand;
}

std::vector<SupplyEntry> any_supply() {
  std::vector<SupplyEntry> supply;
  const size_t count = *rc::gen::inRange<size_t>(1, 6);
  supply.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    supply.push_back({*rc::gen::inRange<int64_t>(0, 300'000), *rc::gen::inRange<uint32_t>(0, 17),
                      *rc::gen::inRange<int64_t>(1, 500)});
  }
  return supply;
}

RC_GTEST_PROP(PriceTable, MoreIsNeverWorthLess, ()) {
  const PriceTable table = PriceTable::solve(any_demand(), any_supply());
  for (size_t r = 0; r < PriceTable::kRates; ++r) {
    for (int32_t milli = 1; milli <= 1000; ++milli) {
      RC_ASSERT(table.share(milli)[r] >= table.share(milli - 1)[r]);
    }
    for (uint32_t count = 1; count <= PriceTable::kWholesMax; ++count) {
      RC_ASSERT(table.wholes(count)[r] >= table.wholes(count - 1)[r]);
    }
    RC_ASSERT(table.cpu(2000)[r] >= table.cpu(1000)[r]);
  }
}

RC_GTEST_PROP(PriceTable, SameArgumentsSamePrices, ()) {
  const std::vector<DemandEntry> demand = any_demand();
  const std::vector<SupplyEntry> supply = any_supply();
  std::vector<DemandEntry> reversed(demand.rbegin(), demand.rend());
  RC_ASSERT(PriceTable::solve(demand, supply) == PriceTable::solve(demand, supply));
  RC_ASSERT(PriceTable::solve(reversed, supply).priced() ==
            PriceTable::solve(demand, supply).priced());
}

RC_GTEST_PROP(NodeValue, AddsUpAndNeverGainsByLosing, ()) {
  const PriceTable table = PriceTable::solve(any_demand(), any_supply());
  std::vector<DeviceFree> devices(*rc::gen::inRange<size_t>(1, 17));
  for (DeviceFree& device : devices) {
    device.wholly_free = *rc::gen::arbitrary<bool>();
    device.free_milli = device.wholly_free ? 1000 : *rc::gen::inRange(0, 1000);
  }
  const auto cpu_milli = *rc::gen::inRange<int64_t>(0, 200'000);
  const auto taken_cpu = *rc::gen::inRange<int64_t>(0, cpu_milli + 1);
  NodeValue before;
  before.assign(table, cpu_milli, devices);
  const PriceTable::Row cpu = table.cpu(taken_cpu);
  RC_ASSERT(before.drop(cpu) >= 0);

  const size_t number = *rc::gen::inRange<size_t>(0, devices.size());
  const int32_t taken = *rc::gen::inRange(0, devices[number].free_milli + 1);
  if (taken == 0) return;
  const bool opened = devices[number].wholly_free;
  const int32_t drop =
      before.drop(opened ? loss_of_opening(table, cpu, before.wholes(), taken)
                         : loss_of_share(table, cpu, devices[number].free_milli, taken));
  RC_ASSERT(drop >= 0);
  devices[number] = {devices[number].free_milli - taken, false};
  NodeValue after;
  after.assign(table, cpu_milli - taken_cpu, devices);
  // CPU is rounded once for the node and once for the pod.
  RC_ASSERT(std::abs(before.value() - drop - after.value()) <= 1);
}

}  // namespace
}  // namespace mainspring::placement
