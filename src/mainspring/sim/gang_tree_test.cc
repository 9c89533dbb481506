// SPDX-License-Identifier: Apache-2.0
// The checker's reading of the rules against the core's, on random input: they were written apart.
#include "mainspring/sim/gang_tree.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "mainspring/model/gang.h"
#include "mainspring/model/history_for_tests.h"

namespace mainspring::sim {
namespace {

TEST(GangTree, AgreesWithTheCoreOnMinimaNodesAndShares) {
  int64_t compared = 0;
  int64_t admitted = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    model::ClusterState state;
    model::RandomHistory history(seed);
    for (int step = 0; step < 60; ++step) history.step(state);
    const model::NodeSpec spec = history.node();
    if (!state.apply({1000, {}, model::NodeChanged{spec}}).has_value()) continue;
    const model::Inventory& inventory = state.inventory();
    const model::Node& node = inventory.node(inventory.find_node(spec.name));
    for (const model::Shape& shape : inventory.shapes()) {
      const bool admits =
          labels_match(shape, node, inventory.names()) && taints_tolerated(shape, node);
      ASSERT_EQ(node_admits(spec, shape.spec), admits) << "seed " << seed;
      ++compared;
      admitted += admits ? 1 : 0;
      for (const model::Gpu& gpu : node.gpus) {
        if (shape.gpu_count == 0 || gpu.memory_bytes == 0) continue;
        const model::GpuTake take = gpu_take(shape, gpu);
        const DeviceShare share = device_share(shape.spec.gpu, gpu.memory_bytes);
        ASSERT_EQ(share.milli, take.milli);
        ASSERT_EQ(share.memory_bytes, take.memory_bytes);
        ASSERT_EQ(share.whole, shape.whole);
      }
    }
    for (const model::Domain& domain : inventory.domains()) {
      if (!domain.alive) continue;
      const std::string& level = inventory.name(inventory.levels()[domain.level.slot].name);
      const bool inside = std::ranges::any_of(
          domain.nodes, [&](uint32_t slot) { return inventory.nodes()[slot].name == spec.name; });
      ASSERT_EQ(domain_of(state.config(), spec, level) == domain.path, inside) << domain.path;
    }
  }
  EXPECT_GT(compared, 500);
  EXPECT_GT(admitted, 100);
  EXPECT_LT(admitted, compared);
}

TEST(GangTree, MinimaOfNestedGroups) {
  base::Rng rng(5);
  int met = 0;
  for (int round = 0; round < 3000; ++round) {
    model::RandomHistory history(rng.next());
    model::ClusterState state;
    model::JobSpec job = history.job();
    if (rng.chance(1, 2)) job.groups[0].min_count = 1;
    if (!state.apply({1, {}, model::JobChanged{job}}).has_value()) continue;
    std::vector<uint8_t> counts;
    for (const model::PodSpec& pod : job.pods) {
      counts.push_back(rng.chance(2, 3) ? 1 : 0);
      const auto phase = counts.back() != 0 ? model::PodPhase::kGone : model::PodPhase::kPending;
      ASSERT_TRUE(
          state.apply({2, {}, model::PodFound{.pod = pod.id, .phase = static_cast<uint8_t>(phase)}})
              .has_value());
    }
    const model::Job& row = state.job(state.find_job(job.id));
    const bool expected = minimum_met(state, row, model::Counts::kHolding);
    ASSERT_EQ(tree_minimum_met(job, counts), expected);
    met += expected ? 1 : 0;
  }
  EXPECT_GT(met, 300);
}

}  // namespace
}  // namespace mainspring::sim
