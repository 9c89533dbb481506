// SPDX-License-Identifier: Apache-2.0
// Which devices inside the nodes: the search against trying every set of devices for every pod.
#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "mainspring/base/rng.h"
#include "mainspring/placement/best_fit_scorer.h"
#include "mainspring/placement/gang_search.h"
#include "mainspring/placement/small_cluster.h"

namespace mainspring::placement {
namespace {

struct Device {
  int model = 0;
  int32_t free_milli = 1000;
};

struct Wish {
  uint32_t count = 1;
  int32_t milli = 1000;
  int model = -1;  // any
  friend bool operator==(const Wish&, const Wish&) = default;
};

using Fleet = std::vector<std::vector<Device>>;

bool feasible(Fleet& fleet, const std::vector<Wish>& pods, size_t pod) {
  if (pod == pods.size()) return true;
  const Wish& wish = pods[pod];
  for (std::vector<Device>& node : fleet) {
    for (uint32_t mask = 1; mask < (1U << node.size()); ++mask) {
      if (std::popcount(mask) != static_cast<int>(wish.count)) continue;
      bool fits = true;
      for (size_t i = 0; i < node.size(); ++i) {
        if ((mask >> i & 1) == 0) continue;
        fits = fits && node[i].free_milli >= wish.milli;
        fits = fits && (wish.model == -1 || wish.model == node[i].model);
      }
      if (!fits) continue;
      const auto take = [&](int32_t sign) {
        for (size_t i = 0; i < node.size(); ++i) {
          if ((mask >> i & 1) != 0) node[i].free_milli -= sign * wish.milli;
        }
      };
      take(1);
      const bool found = feasible(fleet, pods, pod + 1);
      take(-1);
      if (found) return true;
    }
  }
  return false;
}

std::string model_name(int model) { return model == 0 ? "A" : "B"; }

void build(SmallCluster& cluster, const Fleet& fleet) {
  for (size_t i = 0; i < fleet.size(); ++i) {
    const std::string name = "n" + std::to_string(i);
    model::NodeSpec node{.name = name, .labels = {}, .taints = {}, .gpus = {}};
    node.allocatable.amounts = {64 * kCpu, 1 << 30, 1 << 30, 100};
    for (size_t gpu = 0; gpu < fleet[i].size(); ++gpu) {
      node.gpus.push_back({.id = std::to_string(gpu), .model = model_name(fleet[i][gpu].model)});
    }
    cluster.apply(model::NodeChanged{node});
    for (size_t gpu = 0; gpu < fleet[i].size(); ++gpu) {
      const int32_t used = 1000 - fleet[i][gpu].free_milli;
      if (used == 0) continue;
      const std::string id = "uses-" + name + "-" + std::to_string(gpu);
      cluster.add_job({.id = id,
                       .groups = {{.name = "all"}},
                       .shapes = {SmallCluster::shape(1, 1, used)},
                       .pods = {{.id = id, .group = 0, .shape = 0}}});
      cluster.apply(
          model::PodFound{.pod = id, .node = name, .gpus = {std::to_string(gpu)}, .phase = 3});
    }
  }
}

TEST(DeviceChoiceTest, EqualsTryingEverySetOfDevices) {
  base::Rng rng(11);
  const BestFitScorer scorer;
  int feasible_count = 0;
  constexpr int kRounds = 3'000;
  for (int round = 0; round < kRounds; ++round) {
    Fleet fleet(1 + rng.below(2));
    for (auto& node : fleet) {
      node.resize(2 + rng.below(3));
      for (Device& device : node) {
        device.model = static_cast<int>(rng.below(2));
        if (rng.chance(1, 2)) device.free_milli = static_cast<int32_t>(100 * rng.below(10));
      }
    }
    std::vector<Wish> pods(2 + rng.below(5));
    for (Wish& wish : pods) {
      wish.count = rng.chance(1, 4) ? 2 : 1;
      if (rng.chance(3, 4)) wish.milli = static_cast<int32_t>(200 + 100 * rng.below(6));
      if (rng.chance(1, 2)) wish.model = static_cast<int>(rng.below(2));
    }
    SmallCluster cluster;
    build(cluster, fleet);
    GangSpec gang("gang");
    gang.group(-1);
    for (const Wish& wish : pods) {
      model::PodShape shape = SmallCluster::shape(1, wish.count, wish.milli);
      if (wish.model >= 0) shape.gpu.models = {model_name(wish.model)};
      gang.pods(0, 1, shape);
    }
    GangSearch search(scorer);
    const model::JobIx job = cluster.add_job(gang.spec());
    model::Trial trial(cluster.state());
    const model::Verdict verdict = search.place(trial, {.job = job, .when = {}, .grow = false});
    const bool expected = feasible(fleet, pods, 0);
    feasible_count += expected ? 1 : 0;
    ASSERT_NE(verdict.code, model::ReasonCode::kSearchCutShort);
    ASSERT_EQ(verdict.kind == model::VerdictKind::kNow, expected) << "round " << round;
    cluster.state().check();
  }
  EXPECT_GT(feasible_count, kRounds / 5);
  EXPECT_LT(feasible_count, kRounds * 4 / 5);
}

}  // namespace
}  // namespace mainspring::placement
