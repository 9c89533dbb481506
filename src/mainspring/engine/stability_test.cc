// SPDX-License-Identifier: Apache-2.0
// Displacement comes to rest: properties over random trees of queues and loads.
//
// The potential is the one of policy/rights.h, counted anew here from the state: the overshoot over
// shares, then what runs by priority. Every displacement has to lower it.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "mainspring/engine/random_tree.h"
#include "mainspring/model/snapshot.h"
#include "mainspring/policy/rights.h"

namespace mainspring::engine {
namespace {

using model::ClusterState;
using model::Displace;

struct Potential {
  __int128 overshoot = 0;
  // What does not run, by priority from the highest: minus the number of milli-GPU (and pods, for
  // work without GPUs) that hold a place or are promised one.
  std::map<int32_t, int64_t, std::greater<>> idle;

  friend bool operator<(const Potential& left, const Potential& right) {
    if (left.overshoot != right.overshoot) return left.overshoot < right.overshoot;
    std::set<int32_t, std::greater<>> priorities;
    for (const auto& [priority, amount] : left.idle) priorities.insert(priority);
    for (const auto& [priority, amount] : right.idle) priorities.insert(priority);
    const auto at = [](const Potential& one, int32_t priority) {
      const auto found = one.idle.find(priority);
      return found == one.idle.end() ? int64_t{0} : found->second;
    };
    for (const int32_t priority : priorities) {
      if (at(left, priority) != at(right, priority)) {
        return at(left, priority) < at(right, priority);
      }
    }
    return false;
  }
};

Potential potential_of(const ClusterState& state, const policy::QueueShares& shares) {
  Potential potential;
  for (uint32_t slot = 0; slot < state.queues().rows().size(); ++slot) {
    const model::Queue& queue = state.queues().rows()[slot];
    if (!queue.rooted) continue;
    for (const size_t dimension : shares.dimensions()) {
      const int64_t over = queue.held(dimension) - shares.share(model::QueueIx{slot}, dimension);
      if (over > 0) potential.overshoot += over;
    }
  }
  for (const model::Job& job : state.jobs()) {
    if (!job.alive) continue;
    int64_t worth = 0;
    std::set<uint32_t> counted;
    for (const model::PodIx index : job.pods) {
      const model::Pod& pod = state.pod(index);
      if (!pod.holds() || pod.phase == model::PodPhase::kStopping) continue;
      counted.insert(index.slot);
    }
    for (const model::Promise& promise : job.promises) counted.insert(promise.pod.slot);
    for (const uint32_t slot : counted) {
      const model::Shape& shape = state.inventory().shape(state.pods()[slot].shape);
      worth += 1 + int64_t{shape.gpu_count} * shape.gpu_milli;
    }
    potential.idle[job.priority] -= worth;
  }
  return potential;
}

// Whether the winner would have been placed, by right, with the pods left out of what was
// displaced.
bool placed_without(const std::vector<model::Event>& before, const Displace& displace,
                    const std::set<std::string>& left_out) {
  ClusterState state;
  for (const model::Event& event : before) {
    const auto done = state.apply(event);
    MAINSPRING_CHECK(done.has_value(), "a snapshot was refused");
  }
  Engine engine;
  const model::JobIx winner = state.find_job(displace.job);
  const policy::Rights rights(state, engine.shares(state), winner, state.now());
  model::Trial trial(state);
  for (const model::Victim& victim : displace.victims) {
    for (const model::PodRelease& pod : victim.pods) {
      if (!left_out.contains(pod.pod)) trial.vacate(state.find_pod(pod.pod));
    }
  }
  const model::Verdict verdict =
      engine.placer().place(trial, {.job = winner, .when = {state.now()}, .grow = false});
  return verdict.kind == model::VerdictKind::kNow && rights.holds_after();
}

// No victim, and no single pod above a minimum, can be left out.
void expect_minimal(const std::vector<model::Event>& before, const Displace& displace) {
  ASSERT_TRUE(placed_without(before, displace, {})) << displace.job;
  for (const model::Victim& victim : displace.victims) {
    std::set<std::string> pods;
    for (const model::PodRelease& pod : victim.pods) {
      if (!victim.whole) pods.clear();
      pods.insert(pod.pod);
      if (victim.whole) continue;
      ASSERT_FALSE(placed_without(before, displace, pods)) << pod.pod << " went in vain";
    }
    ASSERT_FALSE(placed_without(before, displace, pods)) << victim.job << " went in vain";
  }
}

struct Totals {
  int64_t cases = 0;
  int64_t large = 0;
  int64_t displacements = 0;
  int64_t victims = 0;
  int64_t by_rule[4] = {};
  int64_t minimal = 0;        // sets of victims of which nobody could be left out
  int64_t later = 0;          // displacements in a later round than the first
  int64_t after_leaving = 0;  // of these: only since the victims of the round before have left
  int64_t loaded_cases = 0;
};

// One arrival at a time is decided by its own cycle, so that states before and after are known.
class StabilityCase {
 public:
  StabilityCase(uint64_t seed, Totals& totals) : tree_(seed), totals_(totals) {}

  void run() {
    ++totals_.cases;
    totals_.large += tree_.facts().large ? 1 : 0;
    const size_t load = tree_.facts().large ? 24 : 10;
    tree_.submit(load);
    settle("the first load");
    tree_.wait(base::seconds(900));
    const int64_t before = totals_.displacements;
    for (int burst = 0; burst < 2; ++burst) {
      tree_.submit(load / 3);
      settle("a burst");
      tree_.wait(base::seconds(300));
    }
    tree_.end_one();
    settle("an end");
    totals_.loaded_cases += totals_.displacements > before ? 1 : 0;
  }

 private:
  // Rounds until nothing is decided. What is displaced is displaced in the first round. In a later
  // one nobody is, unless the round before, or this one, let somebody borrow free room (that is
  // what gives others the right to take it back), or a job has to be moved, which waits until its
  // new place is free.
  void settle(const char* after) {
    constexpr int kRoundsMax = 6;
    std::map<std::string, std::set<std::string>> displaced_by;
    for (int round = 0; round < kRoundsMax; ++round) {
      const Potential before = potential_of(tree_.state(), tree_.engine().shares(tree_.state()));
      const std::vector<model::Event> snapshot = model::take_snapshot(tree_.state());
      const model::Plan plan = tree_.cycle();
      if (!plan.decisions.empty()) look_at_first(snapshot, plan.decisions.front());
      if (testing::Test::HasFatalFailure()) return;
      look_at(plan, round, after, before, displaced_by);
      if (testing::Test::HasFatalFailure()) return;
      tree_.carry_out(plan);
      tree_.state().check();
      if (plan.decisions.empty()) return;
    }
    FAIL() << "no rest within " << kRoundsMax << " rounds after " << after;
  }

  // What was decided first was decided in the state before the cycle.
  void look_at_first(const std::vector<model::Event>& before, const model::Decision& decision) {
    const auto* displace = std::get_if<Displace>(&decision);
    if (displace == nullptr || displace->victims.empty()) return;
    if (displace->rule == model::DisplaceRule::kConsolidate) return;
    ++totals_.minimal;
    expect_minimal(before, *displace);
  }

  void look_at(const model::Plan& plan, int round, const char* after, const Potential& before,
               std::map<std::string, std::set<std::string>>& displaced_by) {
    int64_t displacements = 0;
    bool started = false;
    for (const model::Decision& decision : plan.decisions) {
      if (const auto* bind = std::get_if<model::Bind>(&decision)) {
        started = promised_.erase(bind->job) == 0 || started;
      }
      if (const auto* promise = std::get_if<Displace>(&decision)) promised_.insert(promise->job);
      const auto* displace = std::get_if<Displace>(&decision);
      if (displace == nullptr || displace->victims.empty()) continue;
      // A job is moved only where it is free already, so a move may have to wait for one round.
      const bool expected = round == 0 || started_before_ || started ||
                            displace->rule == model::DisplaceRule::kConsolidate;
      totals_.later += round > 0 ? 1 : 0;
      // Rarely there is a better way only when those who stopped have really left.
      totals_.after_leaving += expected ? 0 : 1;
      ASSERT_TRUE(expected || stopped_before_)
          << displace->job << " displaced " << displace->victims[0].job
          << " in a later round after " << after;
      ++displacements;
      for (const model::Victim& victim : displace->victims) {
        ++totals_.victims;
        ++totals_.by_rule[static_cast<size_t>(victim.rule)];
        ASSERT_FALSE(displaced_by[displace->job].contains(victim.job))
            << victim.job << " was displaced by whom it displaced";
        displaced_by[victim.job].insert(displace->job);
        const model::JobIx job = tree_.state().find_job(victim.job);
        ASSERT_TRUE(tree_.state().job(job).preemptible);
      }
    }
    totals_.displacements += displacements;
    started_before_ = started;
    stopped_before_ = displacements > 0;
    // Starts in free room may borrow; displacements by themselves lower the potential.
    if (displacements == 0 || started) return;
    const Potential now = potential_of(tree_.state(), tree_.engine().shares(tree_.state()));
    ASSERT_TRUE(now < before) << "a displacement did not lower the potential after " << after;
  }

  RandomTree tree_;
  Totals& totals_;
  bool started_before_ = false;
  bool stopped_before_ = false;
  std::set<std::string> promised_;
};

#if defined(__SANITIZE_ADDRESS__)
constexpr uint64_t kCasesPerTest = 120;  // a sample
#else
constexpr uint64_t kCasesPerTest = 2600;
#endif

class Stability : public testing::TestWithParam<uint64_t> {};

TEST_P(Stability, DisplacementComesToRest) {
  Totals totals;
  for (uint64_t seed = 0; seed < kCasesPerTest; ++seed) {
    StabilityCase(GetParam() * kCasesPerTest + seed, totals).run();
    ASSERT_FALSE(HasFatalFailure()) << "seed " << GetParam() * kCasesPerTest + seed;
  }
  std::printf(
      "%lld cases, %lld of them with 3 levels, 39 queues, gangs and 3 resources; %lld "
      "displacements in %lld cases, %lld of them in a later round; victims: %lld "
      "preempted, %lld reclaimed, %lld moved; %lld sets minimal\n",
      static_cast<long long>(totals.cases), static_cast<long long>(totals.large),
      static_cast<long long>(totals.displacements), static_cast<long long>(totals.loaded_cases),
      static_cast<long long>(totals.later), static_cast<long long>(totals.by_rule[0]),
      static_cast<long long>(totals.by_rule[1]), static_cast<long long>(totals.by_rule[2]),
      static_cast<long long>(totals.minimal));
  EXPECT_EQ(totals.large * 2, totals.cases);
  EXPECT_GT(totals.displacements, totals.cases / 4);
  EXPECT_GT(totals.minimal, totals.cases / 8);
  EXPECT_LE(totals.after_leaving, totals.cases / 1000);
  for (size_t rule = 0; rule < 3; ++rule) EXPECT_GT(totals.by_rule[rule], totals.cases / 100);
}

INSTANTIATE_TEST_SUITE_P(Parts, Stability, testing::Values(0, 1, 2, 3));

}  // namespace
}  // namespace mainspring::engine
