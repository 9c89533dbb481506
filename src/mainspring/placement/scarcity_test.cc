// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/scarcity.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace mainspring::placement {
namespace {

constexpr uint64_t kBoth = 0b11;
constexpr uint64_t kFirst = 0b01;
constexpr uint64_t kSecond = 0b10;
constexpr std::array<int64_t, Scarcity::kSlotClassesMax> kNoSlots{};

DemandEntry pods(uint64_t models, int64_t count, int64_t cpu_milli = 1000) {
  return {cpu_milli, 1, 1000, models, count};
}

TEST(Scarcity, AModelThatOnlySomeCanUseIsKeptForThem) {
  // A third insists on the second model, of which a tenth is left.
  Scarcity scarcity(std::vector{pods(kBoth, 2000), pods(kSecond, 1000)}, kBoth);
  EXPECT_TRUE(scarcity.observe(
      std::array{ModelFree{900'000, 9'000'000}, ModelFree{100'000, 900'000}}, kNoSlots));
  EXPECT_TRUE(scarcity.any_model_scarce());
  EXPECT_EQ(scarcity.premium(kBoth, 1).per_gpu, PriceTable::kUnit);
  EXPECT_EQ(scarcity.premium(kBoth, 0).per_gpu, 0);
  EXPECT_EQ(scarcity.premium(kSecond, 1).per_gpu, 0);
}

TEST(Scarcity, PlentyCostsNothing) {
  Scarcity scarcity(std::vector{pods(kBoth, 2000), pods(kSecond, 1000)}, kBoth);
  EXPECT_FALSE(scarcity.observe(
      std::array{ModelFree{500'000, 9'000'000}, ModelFree{500'000, 9'000'000}}, kNoSlots));
  EXPECT_FALSE(scarcity.any_model_scarce());
  EXPECT_EQ(scarcity.premium(kBoth, 1).per_gpu, 0);
}

TEST(Scarcity, CpuBesideAModelCanBeWhatIsScarce) {
  // Pods of the second model take eight cores a device; the nodes have four.
  Scarcity scarcity(std::vector{pods(kBoth, 2000), pods(kSecond, 1000, 8000)}, kBoth);
  scarcity.observe(std::array{ModelFree{500'000, 9'000'000}, ModelFree{500'000, 2'000'000}},
                   kNoSlots);
  EXPECT_EQ(scarcity.premium(kBoth, 1).per_gpu, 0);
  EXPECT_GT(scarcity.premium(kBoth, 1).per_core, PriceTable::kUnit / 16);
  EXPECT_EQ(scarcity.premium(kSecond, 1).per_core, 0);
}

TEST(Scarcity, UnknownDemandSparesTheRareModel) {
  Scarcity scarcity({}, kBoth);
  scarcity.observe(std::array{ModelFree{900'000, 9'000'000}, ModelFree{100'000, 1'000'000}},
                   kNoSlots);
  EXPECT_EQ(scarcity.premium(kBoth, 0).per_gpu, 0);
  EXPECT_EQ(scarcity.premium(kBoth, 1).per_gpu, PriceTable::kUnit);
}

TEST(Scarcity, SlotsOfWidePods) {
  const std::vector<DemandEntry> demand{pods(kFirst, 800),
                                        DemandEntry{32'000, 8, 1000, kFirst, 100}};
  Scarcity scarcity(demand, kFirst);
  ASSERT_EQ(scarcity.slots().size(), 1U);
  const SlotClass& slot = scarcity.slots()[0];
  EXPECT_EQ(slot.gpus, 8U);
  EXPECT_EQ(slot.share_ppm, 500'000);
  EXPECT_EQ(slot.fit(16, 100'000), 2U);
  EXPECT_EQ(slot.fit(15, 100'000), 1U);
  EXPECT_EQ(slot.fit(16, 63'000), 1U);
  EXPECT_EQ(slot.fit(16, 0), 0U);
  const std::array free{ModelFree{160'000, 1'000'000}};
  EXPECT_FALSE(scarcity.observe(free, std::array<int64_t, Scarcity::kSlotClassesMax>{20}));
  EXPECT_FALSE(scarcity.any_slot_scarce());
  EXPECT_TRUE(scarcity.observe(free, std::array<int64_t, Scarcity::kSlotClassesMax>{12}));
  EXPECT_TRUE(scarcity.any_slot_scarce());
  EXPECT_EQ(scarcity.slots()[0].price(), 2 * PriceTable::kUnit);
  EXPECT_FALSE(scarcity.observe(free, std::array<int64_t, Scarcity::kSlotClassesMax>{12}));
}

TEST(Scarcity, WiderPodsCountForNarrowerSlots) {
  const std::vector<DemandEntry> demand{DemandEntry{1000, 8, 1000, kFirst, 10},
                                        DemandEntry{1000, 2, 1000, kFirst, 20},
                                        DemandEntry{1000, 1, 1000, kFirst, 80}};
  const Scarcity scarcity(demand, kFirst);
  ASSERT_EQ(scarcity.slots().size(), 2U);
  EXPECT_EQ(scarcity.slots()[0].gpus, 2U);
  EXPECT_EQ(scarcity.slots()[0].share_ppm, 600'000);
  EXPECT_EQ(scarcity.slots()[1].gpus, 8U);
  EXPECT_EQ(scarcity.slots()[1].share_ppm, 400'000);
}

TEST(Scarcity, PodsWithMoreCpuAreAClassOfTheirOwn) {
  const std::vector<DemandEntry> demand{DemandEntry{64'000, 8, 1000, kFirst, 30},
                                        DemandEntry{66'000, 8, 1000, kFirst, 30},
                                        DemandEntry{120'000, 8, 1000, kFirst, 40}};
  const Scarcity scarcity(demand, kFirst);
  ASSERT_EQ(scarcity.slots().size(), 2U);
  EXPECT_EQ(scarcity.slots()[0].cpu_milli, 65'000);
  EXPECT_EQ(scarcity.slots()[0].share_ppm, 1'000'000);
  EXPECT_EQ(scarcity.slots()[1].cpu_milli, 120'000);
  EXPECT_EQ(scarcity.slots()[1].share_ppm, 400'000);
}

TEST(Scarcity, WithoutDevicesNothingIsScarce) {
  Scarcity scarcity(std::vector{DemandEntry{1000, 0, 0, 0, 10}}, 0);
  EXPECT_FALSE(scarcity.observe({}, kNoSlots));
  EXPECT_EQ(scarcity.premium(0, 0).per_gpu, 0);
}

}  // namespace
}  // namespace mainspring::placement
