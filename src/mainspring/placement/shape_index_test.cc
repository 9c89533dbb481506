// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/shape_index.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "mainspring/base/rng.h"
#include "mainspring/placement/best_fit_scorer.h"
#include "mainspring/placement/node_fit.h"
#include "mainspring/placement/small_cluster.h"

namespace mainspring::placement {
namespace {

class VersionedScorer : public Scorer {
 public:
  [[nodiscard]] uint64_t version() const override { return version_; }
  [[nodiscard]] Spot best_spot(const model::Inventory& inventory, uint32_t node_slot,
                               const model::Shape& shape) const override {
    Spot spot = packs_.best_spot(inventory, node_slot, shape);
    if (spot.fits() && version_ % 2 == 1) spot.cost = -spot.cost;
    return spot;
  }
  void costs(const model::Inventory& inventory, std::span<const uint32_t> node_slots,
             const model::Shape& shape, std::span<int64_t> out) const override {
    for (size_t i = 0; i < node_slots.size(); ++i) {
      out[i] = best_spot(inventory, node_slots[i], shape).cost;
    }
    evaluated += node_slots.size();
  }
  void reprice() { ++version_; }

  mutable size_t evaluated = 0;

 private:
  BestFitScorer packs_;
  uint64_t version_ = 0;
};

std::vector<uint32_t> listed(ShapeIndex& index, const model::Inventory& inventory,
                             model::ShapeIx shape) {
  ShapeIndex::Cursor cursor;
  index.begin();
  index.open(inventory, shape, cursor);
  std::vector<uint32_t> slots;
  uint32_t slot = 0;
  while (cursor.next(slot)) slots.push_back(slot);
  return slots;
}

std::vector<uint32_t> expected(const Scorer& scorer, const model::Inventory& inventory,
                               model::ShapeIx shape) {
  std::vector<std::pair<int64_t, uint32_t>> ranked;
  std::vector<uint32_t> slots;
  for (const uint32_t slot : inventory.nodes_by_rank()) {
    const Spot spot = scorer.best_spot(inventory, slot, inventory.shape(shape));
    const bool takes = eligible(inventory, inventory.shape(shape), inventory.nodes()[slot]);
    if (spot.fits() && takes) ranked.emplace_back(spot.cost, slots.size());
    slots.push_back(slot);
  }
  std::ranges::sort(ranked);
  std::vector<uint32_t> order;
  order.reserve(ranked.size());
  for (const auto& [cost, position] : ranked) order.push_back(slots[position]);
  return order;
}

model::NodeSpec node_spec(const std::string& name, int gpus, bool ready = true) {
  model::NodeSpec node{.name = name, .labels = {}, .taints = {}, .ready = ready, .gpus = {}};
  node.allocatable.amounts = {64 * kCpu, 1 << 30, 1 << 30, 100};
  for (int i = 0; i < gpus; ++i) node.gpus.push_back({.id = std::to_string(i), .model = "A"});
  return node;
}

TEST(ShapeIndexTest, KeepsUpWithAnythingThatHappensToNodes) {
  SmallCluster cluster;
  VersionedScorer scorer;
  ShapeIndex index(scorer, 200);
  base::Rng rng(3);
  std::vector<model::ShapeIx> shapes;
  for (uint32_t gpus = 0; gpus < 5; ++gpus) {
    GangSpec gang("asks-" + std::to_string(gpus));
    gang.group(-1);
    gang.pods(0, 1, cluster.shape(1 + gpus, gpus));
    const model::JobIx job = cluster.add_job(gang.spec());
    shapes.push_back(cluster.state().pod(cluster.state().job(job).pods[0]).shape);
  }
  const model::Inventory& inventory = cluster.state().inventory();
  EXPECT_TRUE(listed(index, inventory, shapes[0]).empty());
  for (int step = 0; step < 2'000; ++step) {
    const std::string name = "n" + std::to_string(rng.below(60));
    switch (rng.below(8)) {
      case 0:
        cluster.apply(model::NodeGone{name});
        break;
      case 1:
        scorer.reprice();
        break;
      case 2:
        cluster.apply(model::NodeChanged{node_spec(name, 4, rng.chance(4, 5))});
        break;
      default: {
        const model::NodeIx node = inventory.find_node(name);
        if (!node.valid() || !inventory.node(node).usable()) break;
        const auto gpus = static_cast<uint32_t>(rng.below(3));
        const model::Free& free = inventory.node(node).free;
        if (free.gpus >= gpus && free.resources[model::Resource::kCpuMilli] >= 2 * kCpu) {
          cluster.occupy(name, 1, gpus);
        }
      }
    }
    const model::ShapeIx shape = shapes[rng.below(shapes.size())];
    ASSERT_EQ(listed(index, inventory, shape), expected(scorer, inventory, shape)) << step;
    ASSERT_LE(index.costs_kept(), 200U);
  }
}

TEST(ShapeIndexTest, LooksOnlyAtNodesThatChanged) {
  SmallCluster cluster;
  for (int i = 0; i < 100; ++i) cluster.add_node("n" + std::to_string(i), 64, 8);
  VersionedScorer scorer;
  ShapeIndex index(scorer, 1'000);
  GangSpec gang("gang");
  gang.group(-1);
  gang.pods(0, 1, cluster.shape(1, 1));
  const model::JobIx job = cluster.add_job(gang.spec());
  const model::ShapeIx shape = cluster.state().pod(cluster.state().job(job).pods[0]).shape;
  listed(index, cluster.state().inventory(), shape);
  EXPECT_EQ(index.costs_kept(), 0U);  // nothing is kept of a shape that is asked for once
  listed(index, cluster.state().inventory(), shape);
  EXPECT_EQ(index.costs_kept(), 100U);
  scorer.evaluated = 0;
  cluster.occupy("n7", 1, 1);
  cluster.occupy("n7", 1, 1);
  cluster.occupy("n9", 1, 1);
  listed(index, cluster.state().inventory(), shape);
  EXPECT_EQ(scorer.evaluated, 2U);
}

}  // namespace
}  // namespace mainspring::placement
