// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/node_fit.h"

#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "mainspring/base/rng.h"

namespace mainspring::placement {
namespace {

using model::Gpu;
using model::Resource;
using model::Shape;

Shape share_of(uint32_t count, int32_t milli) {
  Shape shape;
  shape.request[Resource::kCpuMilli] = 1;
  shape.request[Resource::kPods] = 1;
  shape.gpu_count = count;
  shape.gpu_milli = milli;
  shape.whole = milli == model::kWholeGpuMilli;
  return shape;
}

// One pod after another, every choice of devices for each.
int64_t most_by_trying(const Shape& shape, std::vector<Gpu>& gpus, int64_t limit) {
  if (limit == 0) return 0;
  int64_t best = 0;
  std::function<void(size_t, uint32_t)> choose = [&](size_t device, uint32_t missing) {
    if (missing == 0) {
      best = std::max(best, 1 + most_by_trying(shape, gpus, limit - 1));
      return;
    }
    if (device == gpus.size() || best == limit) return;
    if (model::device_fits(shape, gpus[device])) {
      gpus[device].used_milli += shape.gpu_milli;
      ++gpus[device].holders;
      choose(device + 1, missing - 1);
      gpus[device].used_milli -= shape.gpu_milli;
      --gpus[device].holders;
    }
    choose(device + 1, missing);
  };
  choose(0, shape.gpu_count);
  return best;
}

TEST(NodeFitTest, CountsSharesOfSeveralDevicesExactly) {
  base::Rng rng(5);
  model::Resources plenty;
  plenty.amounts = {1'000, 1'000, 1'000, 1'000};
  for (int round = 0; round < 500; ++round) {
    std::vector<Gpu> gpus(1 + rng.below(4));
    for (Gpu& gpu : gpus) {
      gpu.used_milli = static_cast<int32_t>(250 * rng.below(5));
      gpu.holders = gpu.used_milli > 0 ? 1 : 0;
    }
    const Shape shape =
        share_of(static_cast<uint32_t>(1 + rng.below(3)),
                 static_cast<int32_t>(rng.chance(1, 3) ? 1000 : 250 + 250 * rng.below(2)));
    const auto limit = static_cast<int64_t>(1 + rng.below(4));
    ASSERT_EQ(fit_count(shape, plenty, gpus, limit), most_by_trying(shape, gpus, limit));
  }
}

TEST(NodeFitTest, EveryResourceBounds) {
  Shape shape = share_of(0, 0);
  shape.request.amounts = {2, 3, 5, 1};
  model::Resources free;
  free.amounts = {20, 30, 50, 100};
  EXPECT_EQ(fit_count(shape, free, {}, 1'000), 10);
  EXPECT_EQ(fit_count(shape, free, {}, 4), 4);
  for (size_t i = 0; i < model::kResourceCount; ++i) {
    model::Resources short_of_one = free;
    short_of_one.amounts[i] = shape.request.amounts[i] * 7;
    EXPECT_EQ(fit_count(shape, short_of_one, {}, 1'000), 7);
    short_of_one.amounts[i] = shape.request.amounts[i] - 1;
    EXPECT_EQ(fit_count(shape, short_of_one, {}, 1'000), 0);
  }
}

TEST(NodeFitTest, SharesByMemoryLeaveStrangersTheirs) {
  Shape shape = share_of(1, 0);
  shape.gpu_memory_bytes = 2'000;
  Gpu gpu;
  gpu.memory_bytes = 46'068;
  EXPECT_EQ(device_units(shape, gpu), 23);
  gpu.foreign_memory_bytes = 7'000;
  EXPECT_EQ(device_units(shape, gpu), 19);
  gpu.memory_bytes = 0;  // not known
  EXPECT_EQ(device_units(shape, gpu), 0);
}

}  // namespace
}  // namespace mainspring::placement
