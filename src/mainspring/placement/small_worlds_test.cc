// SPDX-License-Identifier: Apache-2.0
// "Feasible or not" is exact in small worlds: the search against brute force.
#include "mainspring/placement/small_worlds.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "mainspring/base/rng.h"
#include "mainspring/placement/best_fit_scorer.h"
#include "mainspring/placement/brute_force.h"
#include "mainspring/placement/gang_search.h"
#include "mainspring/placement/small_cluster.h"

namespace mainspring::placement {
namespace {

using model::Verdict;
using model::VerdictKind;

std::string level_name(SmallLevel level) {
  switch (level) {
    case SmallLevel::kNone:
      return "";
    case SmallLevel::kRow:
      return "row";
    case SmallLevel::kRack:
      return "rack";
    case SmallLevel::kNode:
      return "node";
  }
  return "";
}

GangSpec spec_of(const SmallGang& gang, const std::string& id) {
  GangSpec spec(id);
  for (const SmallGroup& group : gang.groups) {
    spec.group(group.parent, static_cast<uint32_t>(group.min), level_name(group.required),
               level_name(group.preferred));
  }
  for (const SmallPod& pod : gang.pods) {
    spec.pods(static_cast<uint32_t>(pod.group), 1,
              pod.shape.half ? SmallCluster::shape(1, 1, 500)
                             : SmallCluster::shape(1, static_cast<uint32_t>(pod.shape.whole)));
  }
  return spec;
}

std::string describe(const SmallNodes& nodes, const SmallGang& gang) {
  std::string text;
  for (const SmallNode& node : nodes) {
    text += "node rack=" + std::to_string(node.rack) + " row=" + std::to_string(node.row) +
            " whole=" + std::to_string(node.whole) + " half=" + std::to_string(node.half) +
            " cpus=" + std::to_string(node.cpus) + "\n";
  }
  for (const SmallGroup& group : gang.groups) {
    text += "group parent=" + std::to_string(group.parent) + " min=" + std::to_string(group.min) +
            " required=" + level_name(group.required) +
            " preferred=" + level_name(group.preferred) + "\n";
  }
  for (const SmallPod& pod : gang.pods) {
    text += "pod group=" + std::to_string(pod.group) + " whole=" + std::to_string(pod.shape.whole) +
            (pod.shape.half ? " half\n" : "\n");
  }
  return text;
}

// One state whose nodes are exchanged from world to world, so that the caches of the search have to
// keep up with a cluster that changes under them.
class WorldRunner {
 public:
  WorldRunner() : cluster_(std::vector<std::string>{}), search_(scorer_) {
    cluster_.add_topologies({{"rack"}, {"row"}});
  }

  model::JobIx add_gang(const SmallGang& gang, uint64_t number) {
    return cluster_.add_job(spec_of(gang, "gang-" + std::to_string(number)).spec());
  }
  void remove_gang(uint64_t number) {
    cluster_.apply(model::JobGone{"gang-" + std::to_string(number)});
  }

  void set_nodes(const SmallNodes& nodes) {
    for (size_t i = 0; i < node_count_; ++i) {
      if (broken_[i]) cluster_.apply(model::JobGone{"half-" + std::to_string(i)});
      if (broken_[i]) cluster_.apply(model::PodGone{"half-" + std::to_string(i), 0});
      cluster_.apply(model::NodeGone{"n" + std::to_string(i)});
    }
    node_count_ = nodes.size();
    for (size_t i = 0; i < nodes.size(); ++i) {
      const SmallNode& node = nodes[i];
      const std::string name = "n" + std::to_string(i);
      cluster_.add_node(name, node.cpus + (node.half > 0 ? 1 : 0), node.whole + node.half,
                        {{"rack", std::to_string(node.rack)}, {"row", std::to_string(node.row)}});
      broken_[i] = node.half > 0;
      if (broken_[i]) break_gpu(name, "half-" + std::to_string(i));
    }
  }

  // Whether the gang may start, be it with pods that are placed already; those are told to `truth`.
  void tell_placed(model::JobIx job, size_t pods, BruteForce& truth) {
    for (size_t i = 0; i < pods; ++i) {
      const model::Pod& pod = cluster_.state().pod(cluster_.state().job(job).pods[i]);
      if (pod.holds()) truth.fix(i, number_of(pod));
    }
  }

  // Some pods of the gang are lost, and somebody else takes a GPU.
  void disturb(base::Rng& rng, model::JobIx job, SmallNodes& nodes) {
    const std::vector<model::PodIx> pods = cluster_.state().job(job).pods;
    for (const model::PodIx index : pods) {
      const model::Pod& pod = cluster_.state().pod(index);
      if (!pod.holds() || rng.chance(1, 2)) continue;
      cluster_.apply(model::PodGone{pod.id, pod.incarnation, model::PodEnd::kLost});
    }
    const size_t victim = rng.below(nodes.size());
    const std::string name = "n" + std::to_string(victim);
    const model::Inventory& inventory = cluster_.state().inventory();
    const model::Free& free = inventory.node(inventory.find_node(name)).free;
    if (free.gpus == 0 || free.resources[model::Resource::kCpuMilli] < kCpu) return;
    cluster_.occupy(name, 1, 1);
    --nodes[victim].whole;
    --nodes[victim].cpus;
  }

  void end_all_pods() {
    for (uint32_t slot = 0; slot < cluster_.state().pods().size(); ++slot) {
      const model::Pod& pod = cluster_.state().pods()[slot];
      if (!pod.alive || !pod.holds() || pod.id.starts_with("half")) continue;
      cluster_.apply(model::PodGone{std::string(pod.id), pod.incarnation, model::PodEnd::kRemoved});
    }
  }

  // The verdict of the search; checks the placement that it proposes.
  Verdict place(model::JobIx job, const SmallNodes& nodes, const SmallGang& gang) {
    model::Trial trial(cluster_.state());
    const Verdict verdict = search_.place(trial, {.job = job, .when = {}, .grow = grow});
    if (verdict.kind != VerdictKind::kNow) return verdict;
    BruteForce::Where where{};
    for (size_t i = 0; i < gang.pods.size(); ++i) {
      const model::Pod& pod = cluster_.state().pod(cluster_.state().job(job).pods[i]);
      where[i] = static_cast<int>(nodes.size());
      if (!pod.holds()) continue;
      where[i] = number_of(pod);
    }
    EXPECT_TRUE(BruteForce(nodes, gang).holds(where)) << describe(nodes, gang);
    if (keep) trial.commit();
    return verdict;
  }

  bool grow = false;
  bool keep = false;  // what was placed

 private:
  [[nodiscard]] int number_of(const model::Pod& pod) {
    return std::stoi(cluster_.state().inventory().node(pod.node).name.substr(1));
  }

  void break_gpu(const std::string& node, const std::string& id) {
    cluster_.add_job({.id = id,
                      .groups = {{.name = "all"}},
                      .shapes = {SmallCluster::shape(1, 1, 500)},
                      .pods = {{.id = id, .group = 0, .shape = 0}}});
    cluster_.apply(model::PodFound{.pod = id, .node = node, .gpus = {"gpu-0"}, .phase = 3});
  }

  BestFitScorer scorer_;
  SmallCluster cluster_;
  GangSearch search_;
  size_t node_count_ = 0;
  std::array<bool, BruteForce::kNodesMax> broken_{};
};

void expect_truth(WorldRunner& runner, model::JobIx job, const SmallNodes& nodes,
                  const SmallGang& gang, uint64_t world) {
  BruteForce truth(nodes, gang);
  runner.tell_placed(job, gang.pods.size(), truth);
  const bool feasible = truth.feasible();
  const Verdict verdict = runner.place(job, nodes, gang);
  ASSERT_NE(verdict.code, model::ReasonCode::kSearchCutShort) << describe(nodes, gang);
  ASSERT_EQ(verdict.kind == VerdictKind::kNow, feasible) << "world " << world << "\n"
                                                         << describe(nodes, gang);
}

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Compares `wanted` of the worlds, evenly drawn by index. Equal gangs are one job of the state.
void compare(uint64_t wanted) {
  const SmallWorlds worlds;
  const uint64_t total = worlds.count();
  wanted = std::min(wanted, total);
  std::printf("%llu small worlds up to symmetry (%zu clusters, %zu gangs); comparing %llu\n",
              static_cast<unsigned long long>(total), worlds.clusters.size(), worlds.gangs.size(),
              static_cast<unsigned long long>(wanted));
  WorldRunner runner;
  std::vector<model::JobIx> jobs(worlds.gangs.size());
  uint64_t feasible_count = 0;
  uint64_t cluster = UINT64_MAX;
  for (uint64_t i = 0; i < wanted; ++i) {
    const auto index = static_cast<uint64_t>(static_cast<__uint128_t>(i) * total / wanted);
    const SmallNodes& nodes = worlds.nodes(index);
    const SmallGang& gang = worlds.gang(index);
    if (index / worlds.gangs.size() != cluster) {
      cluster = index / worlds.gangs.size();
      runner.set_nodes(nodes);
    }
    model::JobIx& job = jobs[index % worlds.gangs.size()];
    if (!job.valid()) job = runner.add_gang(gang, index % worlds.gangs.size());
    const bool feasible = BruteForce(nodes, gang).feasible();
    feasible_count += feasible ? 1 : 0;
    const Verdict verdict = runner.place(job, nodes, gang);
    ASSERT_NE(verdict.code, model::ReasonCode::kSearchCutShort) << describe(nodes, gang);
    ASSERT_EQ(verdict.kind == VerdictKind::kNow, feasible) << "world " << index << "\n"
                                                           << describe(nodes, gang);
  }
  std::printf("%llu of them feasible\n", static_cast<unsigned long long>(feasible_count));
}

// Beyond what is listed: more nodes and pods, two topologies that cut across each other, groups
// three deep, preferred levels, growth, and repair after losses.
SmallNodes random_nodes(base::Rng& rng) {
  SmallNodes nodes(5 + rng.below(2));
  for (SmallNode& node : nodes) {
    node.rack = static_cast<int>(rng.below(3));
    node.row = static_cast<int>(rng.below(3));
    node.whole = static_cast<int>(rng.below(4));
    node.half = static_cast<int>(rng.below(2));
    node.cpus = rng.chance(1, 2) ? 99 : static_cast<int>(1 + rng.below(3));
  }
  return nodes;
}

SmallGang random_gang(base::Rng& rng) {
  SmallGang gang;
  const auto group_count = static_cast<int>(1 + rng.below(5));
  for (int group = 0; group < group_count; ++group) {
    SmallGroup row;
    row.parent = group == 0 ? -1 : static_cast<int>(rng.below(static_cast<uint64_t>(group)));
    row.required = static_cast<SmallLevel>(rng.chance(1, 2) ? 0 : rng.below(4));
    row.preferred = static_cast<SmallLevel>(rng.chance(2, 3) ? 0 : rng.below(4));
    gang.groups.push_back(row);
  }
  std::vector<int> pods(gang.groups.size());
  for (size_t left = 3 + rng.below(6); left > 0; --left) ++pods[rng.below(gang.groups.size())];
  for (size_t group = gang.groups.size(); group-- > 0;) {
    auto children = static_cast<uint64_t>(pods[group]);
    for (const SmallGroup& row : gang.groups) children += row.parent == static_cast<int>(group);
    if (children > 0) gang.groups[group].min = static_cast<int>(1 + rng.below(children));
  }
  for (size_t group = 0; group < gang.groups.size(); ++group) {
    std::vector<SmallShape> shapes;
    shapes.reserve(static_cast<size_t>(pods[group]));
    for (int i = 0; i < pods[group]; ++i) {
      shapes.push_back(rng.chance(1, 3) ? SmallShape{.half = true}
                                        : SmallShape{.whole = static_cast<int>(1 + rng.below(3))});
    }
    std::ranges::sort(shapes);
    for (const SmallShape& shape : shapes) gang.pods.push_back({static_cast<int>(group), shape});
  }
  return gang;
}

TEST(SmallWorldsTest, RandomLargerWorldsEqualBruteForce) {
  base::Rng rng(20);
  WorldRunner runner;
  const uint64_t wanted = from_environment("MAINSPRING_RANDOM_WORLDS", 20'000);
  for (uint64_t i = 0; i < wanted; ++i) {
    SmallNodes nodes = random_nodes(rng);
    const SmallGang gang = random_gang(rng);
    runner.set_nodes(nodes);
    runner.grow = rng.chance(1, 2);
    const model::JobIx job = runner.add_gang(gang, i);
    runner.keep = rng.chance(1, 2) && std::ranges::none_of(gang.pods, [](const SmallPod& pod) {
                    return pod.shape.half;  // a half that stays pins the GPU that it is on
                  });
    expect_truth(runner, job, nodes, gang, i);
    if (::testing::Test::HasFatalFailure()) return;
    if (runner.keep) {
      runner.disturb(rng, job, nodes);
      expect_truth(runner, job, nodes, gang, i);
      if (::testing::Test::HasFatalFailure()) return;
    }
    runner.remove_gang(i);
    runner.end_all_pods();
  }
}

TEST(SmallWorldsTest, SampleEqualsBruteForce) { compare(20'000); }

TEST(SmallWorldsTest, ExhaustiveEqualsBruteForce) {
  const bool everything = from_environment("MAINSPRING_LONG", 0) > 0;
  compare(everything ? UINT64_MAX : from_environment("MAINSPRING_SMALL_WORLDS", 1'000'000));
}

}  // namespace
}  // namespace mainspring::placement
