// SPDX-License-Identifier: Apache-2.0
#include "mainspring/model/trial.h"

#include <gtest/gtest.h>

#include "mainspring/model/history_for_tests.h"

namespace mainspring::model {
namespace {

// The fields that a hash does not see, but that rolled-back steps must not move either.
struct Hidden {
  uint64_t gains = 0;
  uint64_t layouts = 0;
  std::vector<std::vector<PodIx>> pods_by_node;
  friend bool operator==(const Hidden&, const Hidden&) = default;
};

Hidden hidden_of(const ClusterState& state) {
  Hidden hidden{state.inventory().gains(), state.inventory().layouts(), {}};
  for (const uint32_t slot : state.inventory().nodes_by_rank()) {
    auto& pods = hidden.pods_by_node.emplace_back();
    for (PodIx pod = state.inventory().nodes()[slot].first_pod; pod.valid();
         pod = state.pod(pod).next_on_node) {
      pods.push_back(pod);
    }
  }
  return hidden;
}

NodeIx random_node(const ClusterState& state, base::Rng& rng) {
  const auto nodes = state.inventory().nodes_by_rank();
  if (nodes.empty()) return {};
  return state.inventory().index_of(nodes[rng.below(nodes.size())]);
}

void vacate_one(Trial& trial, base::Rng& rng) {
  const ClusterState& state = trial.state();
  const auto slot = static_cast<uint32_t>(rng.below(state.pods().size() + 1));
  if (slot == state.pods().size()) return;
  const Pod& pod = state.pods()[slot];
  if (!pod.alive || !pod.holds() || !state.inventory().node(pod.node).listed) return;
  trial.vacate(state.pod_index(slot));
}

// One step of a what-if; where it does not apply, none.
void random_step(Trial& trial, RandomHistory& history, int number) {
  const ClusterState& state = trial.state();
  base::Rng& rng = history.rng();
  const NodeIx node = random_node(state, rng);
  switch (rng.below(8)) {
    case 0:
    case 1:
      if (const JobIx job = state.find_job(history.job_name()); job.valid()) {
        RandomHistory::place_first_fit(trial, job);
      }
      return;
    case 2:
    case 3:
      vacate_one(trial, rng);
      return;
    case 4:
      if (node.valid()) trial.grow(node, Resources{{rng.between(-500, 4000), 1000, 0, 2}});
      return;
    case 5: {
      NodeSpec spec = history.node();
      spec.name = "what-if-" + std::to_string(number);
      trial.add_node(spec);
      return;
    }
    case 6:
      if (!node.valid()) return;
      if (rng.chance(1, 2)) {
        trial.set_usable(node, rng.chance(1, 2), rng.chance(1, 2));
      } else if (const size_t gpus = state.inventory().node(node).gpus.size(); gpus > 0) {
        trial.set_gpu(node, rng.below(gpus), rng.chance(1, 2), rng.between(0, 1) * 500);
      }
      return;
    default:
      if (node.valid() && !state.inventory().node(node).gpus.empty()) trial.add_gpus(node, 0, 2);
      return;
  }
}

TEST(Trial, RollbackIsAsIfNothingHadHappened) {
  int64_t steps = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    ClusterState state;
    RandomHistory history(seed);
    for (int step = 0; step < 120; ++step) history.step(state);
    const uint64_t hash = state.hash();
    const Hidden hidden = hidden_of(state);
    {
      Trial trial(state);
      std::vector<std::pair<Trial::Mark, uint64_t>> marks;
      for (int step = 0; step < 40; ++step, ++steps) {
        if (history.rng().chance(1, 4)) marks.emplace_back(trial.mark(), state.hash());
        random_step(trial, history, step);
        if (step % 10 == 9) state.check();
        if (marks.empty() || !history.rng().chance(1, 8)) continue;
        const size_t back_to = history.rng().below(marks.size());
        trial.rollback(marks[back_to].first);
        ASSERT_EQ(state.hash(), marks[back_to].second) << "seed " << seed << ", step " << step;
        marks.resize(back_to);
      }
    }
    state.check();
    ASSERT_EQ(state.hash(), hash) << "seed " << seed;
    ASSERT_EQ(hidden_of(state), hidden) << "seed " << seed;
  }
  EXPECT_EQ(steps, 200 * 40);
}

TEST(Trial, CommitMakesClaimsOfProposals) {
  ClusterState state;
  RandomHistory history(3);
  for (int step = 0; step < 60; ++step) history.step(state);
  NodeSpec node{.name = "free"};
  node.allocatable.amounts = {8000, 1 << 20, 1 << 20, 8};
  ASSERT_TRUE(state.apply({1000, {}, NodeChanged{node}}).has_value());
  JobSpec job{.id = "new"};
  job.groups.push_back({.name = "root"});
  job.shapes.emplace_back().request[Resource::kPods] = 1;
  job.pods.push_back({.id = "new-0"});
  ASSERT_TRUE(state.apply({1001, {}, JobChanged{job}}).has_value());
  const PodIx pod = state.find_pod("new-0");
  Trial trial(state);
  ASSERT_EQ(RandomHistory::place_first_fit(trial, state.find_job("new")).size(), 1U);
  EXPECT_EQ(state.pod(pod).holding, HoldingState::kProposed);
  trial.commit();
  EXPECT_EQ(state.pod(pod).holding, HoldingState::kClaimed);
  EXPECT_EQ(state.pod(pod).phase, PodPhase::kClaimed);
  state.check();
}

TEST(TrialDeathTest, RefusesWhatDoesNotFit) {
  ClusterState state;
  NodeSpec node{.name = "n"};
  node.allocatable.amounts = {1000, 1000, 0, 1};
  ASSERT_TRUE(state.apply({1, {}, NodeChanged{node}}).has_value());
  JobSpec job{.id = "j"};
  job.groups.push_back({.name = "root"});
  job.shapes.emplace_back().request.amounts = {600, 0, 0, 1};
  job.pods = {{.id = "a"}, {.id = "b"}};
  ASSERT_TRUE(state.apply({2, {}, JobChanged{job}}).has_value());
  Trial trial(state);
  const NodeIx there = state.inventory().find_node("n");
  trial.place(state.find_pod("a"), there, 0, {});
  EXPECT_DEATH(trial.place(state.find_pod("b"), there, 0, {}), "does not fit");
  EXPECT_DEATH(trial.place(state.find_pod("a"), there, 0, {}), "only a pending pod");
  trial.grow(there, Resources{{1000, 0, 0, 1}});
  EXPECT_DEATH(trial.place(state.find_pod("b"), there, 1, {}), "another number of devices");
  EXPECT_DEATH(trial.commit(), "what-if step was committed");
}

}  // namespace
}  // namespace mainspring::model
