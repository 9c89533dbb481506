// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/area_bound.h"

#include <gtest/gtest.h>

namespace mainspring::sim {
namespace {

config::ScenarioJob job(int64_t at, int64_t run, uint32_t gpus) {
  config::ScenarioJob made{.name = "job", .run = base::seconds(run)};
  made.spec.submitted_at = base::Instant{at * 1000};
  made.spec.shapes.emplace_back().gpu.count = gpus;
  made.spec.pods.push_back({.id = "pod"});
  return made;
}

base::Instant at(int64_t seconds) { return base::Instant{seconds * 1000}; }

TEST(AreaBound, ServesWhatHasArrivedAndNoMore) {
  EXPECT_DOUBLE_EQ(area_bound({}, 4, at(10)), 0.0);
  EXPECT_DOUBLE_EQ(area_bound({job(0, 10, 4)}, 4, at(10)), 1.0);
  EXPECT_DOUBLE_EQ(area_bound({job(5, 10, 4)}, 4, at(10)), 0.5) << "nobody runs before he comes";
  EXPECT_DOUBLE_EQ(area_bound({job(0, 20, 2)}, 4, at(10)), 0.5) << "nor wider than he is";
  EXPECT_DOUBLE_EQ(area_bound({job(0, 5, 8), job(0, 5, 2)}, 4, at(20)), 50.0 / 80)
      << "what waits is served later";
  EXPECT_DOUBLE_EQ(area_bound({job(0, 1, 4), job(9, 50, 40)}, 4, at(10)), 0.2)
      << "and never faster than the cluster is";
}

}  // namespace
}  // namespace mainspring::sim
