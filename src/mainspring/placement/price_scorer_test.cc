// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/price_scorer.h"

#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "mainspring/model/trial.h"
#include "mainspring/placement/node_fit.h"
#include "mainspring/placement/small_cluster.h"

namespace mainspring::placement {
namespace {

using model::DeviceMask;
using model::ShapeIx;

// One job of one pod, placed by hand on the best spot.
class Desk {
 public:
  SmallCluster cluster{std::vector<std::string>{}};
  PriceScorer scorer;

  ShapeIx submit(const model::PodShape& shape) {
    const std::string id = "job-" + std::to_string(jobs_++);
    last_ = cluster.add_job({.id = id,
                             .groups = {{.name = "all"}},
                             .shapes = {shape},
                             .pods = {{.id = id, .group = 0, .shape = 0}}});
    if (PriceScorer::demand_grew(cluster.state())) cluster.state().mark_demand_priced();
    scorer.refresh(cluster.state());
    const model::Job& job = cluster.state().job(last_);
    return cluster.state().pod(job.pods[0]).shape;
  }

  // The slot of the best node, or -1.
  int best(ShapeIx shape) {
    int best = -1;
    int64_t cost = Spot::kNoFit;
    for (uint32_t slot = 0; slot < inventory().nodes().size(); ++slot) {
      const Spot spot = scorer.best_spot(inventory(), slot, inventory().shape(shape));
      if (spot.cost >= cost) continue;
      cost = spot.cost;
      best = static_cast<int>(slot);
    }
    return best;
  }

  // Places the last submitted pod; false when it fits nowhere.
  bool place(ShapeIx shape) {
    const int slot = best(shape);
    if (slot < 0) return false;
    const auto node = static_cast<uint32_t>(slot);
    const Spot spot = scorer.best_spot(inventory(), node, inventory().shape(shape));
    model::Trial trial(cluster.state());
    const model::PodIx pod = cluster.state().job(last_).pods[0];
    trial.place(pod, inventory().index_of(node), spot.devices, {});
    trial.commit();
    return true;
  }

  [[nodiscard]] const model::Inventory& inventory() { return cluster.state().inventory(); }

 private:
  model::JobIx last_;
  int jobs_ = 0;
};

TEST(PriceScorer, SharesFillTheGapThatNothingBetterWouldFill) {
  Desk desk;
  desk.cluster.add_node("a", 64, 2);
  desk.cluster.add_node("b", 64, 2);
  // The mix is known: whole devices and 600s; what a 600 leaves takes a 400.
  for (int i = 0; i < 40; ++i) {
    desk.submit(SmallCluster::shape(1, 1));
    desk.submit(SmallCluster::shape(1, 1, 600));
    desk.submit(SmallCluster::shape(1, 1, 400));
  }
  const ShapeIx large = desk.submit(SmallCluster::shape(1, 1, 600));
  ASSERT_TRUE(desk.place(large));
  const ShapeIx small = desk.submit(SmallCluster::shape(1, 1, 400));
  ASSERT_TRUE(desk.place(small));
  EXPECT_EQ(desk.inventory().total_free().gpus, 3);
}

TEST(PriceScorer, WithoutGpusItPacks) {
  Desk desk;
  desk.cluster.add_node("empty", 64, 0);
  const auto used = desk.cluster.add_node("used", 64, 0);
  desk.cluster.occupy("used", 40, 0);
  const ShapeIx shape = desk.submit(SmallCluster::shape(8, 0));
  EXPECT_EQ(desk.best(shape), static_cast<int>(used.slot));
}

TEST(PriceScorer, CpuPodsLeaveNodesWithGpusAlone) {
  Desk desk;
  desk.cluster.add_node("gpus", 64, 8);
  const auto plain = desk.cluster.add_node("plain", 64, 0);
  const ShapeIx shape = desk.submit(SmallCluster::shape(8, 0));
  EXPECT_EQ(desk.best(shape), static_cast<int>(plain.slot));
}

TEST(PriceScorer, WholeGpusGatherSoThatWholeNodesStay) {
  Desk desk;
  desk.cluster.add_node("empty", 64, 8);
  const auto used = desk.cluster.add_node("used", 64, 8);
  desk.cluster.occupy("used", 8, 4);
  const ShapeIx shape = desk.submit(SmallCluster::shape(4, 1));
  EXPECT_EQ(desk.best(shape), static_cast<int>(used.slot));
}

TEST(PriceScorer, PricesFollowTheStateOnly) {
  Desk desk;
  for (int i = 0; i < 4; ++i) desk.cluster.add_node("n" + std::to_string(i), 32, 4);
  for (int i = 0; i < 30; ++i) {
    const ShapeIx shape = desk.submit(SmallCluster::shape(1 + i % 5, 1, i % 3 == 0 ? 1000 : 310));
    desk.place(shape);
  }
  PriceScorer fresh;
  fresh.refresh(desk.cluster.state());
  desk.scorer.refresh(desk.cluster.state());
  EXPECT_EQ(fresh.prices(), desk.scorer.prices());
  for (const model::Shape& shape : desk.inventory().shapes()) {
    for (uint32_t slot = 0; slot < 4; ++slot) {
      const Spot expected = fresh.best_spot(desk.inventory(), slot, shape);
      const Spot spot = desk.scorer.best_spot(desk.inventory(), slot, shape);
      EXPECT_EQ(spot.cost, expected.cost);
      EXPECT_EQ(spot.devices, expected.devices);
    }
  }
}

model::PodShape any_shape() {
  model::PodShape shape =
      SmallCluster::shape(*rc::gen::inRange<int64_t>(0, 12), *rc::gen::inRange<uint32_t>(0, 4));
  if (shape.gpu.count == 1 && *rc::gen::arbitrary<bool>()) {
    if (*rc::gen::arbitrary<bool>()) {
      shape.gpu.milli = *rc::gen::inRange(1, 1000);
    } else {
      shape.gpu.memory_bytes = *rc::gen::inRange<int64_t>(1, int64_t{80} << 30);
    }
  }
  return shape;
}

// It never refuses what fits, never offers what does not, and one by one says the same as many at
// once.
RC_GTEST_PROP(PriceScorer, FitsExactlyWhatFits, ()) {
  Desk desk;
  const uint32_t nodes = *rc::gen::inRange<uint32_t>(1, 5);
  for (uint32_t i = 0; i < nodes; ++i) {
    desk.cluster.add_node("n" + std::to_string(i), *rc::gen::inRange<int64_t>(0, 40),
                          *rc::gen::inRange(0, 6));
  }
  std::vector<uint32_t> slots(nodes);
  std::iota(slots.begin(), slots.end(), 0U);
  std::vector<int64_t> costs(nodes);
  const int pods = *rc::gen::inRange(1, 40);
  for (int i = 0; i < pods; ++i) {
    const ShapeIx number = desk.submit(any_shape());
    const model::Shape& shape = desk.inventory().shape(number);
    desk.scorer.costs(desk.inventory(), slots, shape, costs);
    bool any = false;
    for (const uint32_t slot : slots) {
      const model::Node& node = desk.inventory().nodes()[slot];
      const Spot spot = desk.scorer.best_spot(desk.inventory(), slot, shape);
      const bool fits = fit_count(shape, node.free.resources, node.gpus, 1) == 1;
      RC_ASSERT(spot.fits() == fits);
      RC_ASSERT(spot.cost == costs[slot]);
      if (!fits) continue;
      any = true;
      RC_ASSERT(static_cast<uint32_t>(std::popcount(spot.devices)) == shape.gpu_count);
      for (DeviceMask rest = spot.devices; rest != 0; rest &= rest - 1) {
        RC_ASSERT(
            model::device_fits(shape, node.gpus[static_cast<size_t>(std::countr_zero(rest))]));
      }
    }
    RC_ASSERT(desk.place(number) == any);
  }
}

}  // namespace
}  // namespace mainspring::placement
