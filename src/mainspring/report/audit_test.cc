// SPDX-License-Identifier: Apache-2.0
#include "mainspring/report/audit.h"

#include "mainspring/report/small_world_for_tests.h"

namespace mainspring::report {
namespace {

TEST(Audit, KeepsWhoWhyAndAtWhichCost) {
  Reclaimed world;
  ASSERT_EQ(world.audit.displacements().size(), 1U);
  const Displacement& made = world.audit.displacements().front();
  EXPECT_EQ(made.at, base::Instant{} + base::seconds(600));
  EXPECT_EQ(made.winner, "claim");
  EXPECT_EQ(made.winner_queue, "owners");
  EXPECT_EQ(made.winner_tenant, "olga");
  EXPECT_EQ(made.rule, model::DisplaceRule::kReclaim);
  ASSERT_EQ(made.victims.size(), 1U);
  EXPECT_EQ(made.victims[0].job, "guest");
  EXPECT_EQ(made.victims[0].queue, "guests");
  EXPECT_EQ(made.victims[0].tenant, "gus");
  EXPECT_EQ(made.victims[0].lost_gpu_ms, 4 * 600'000);
  EXPECT_EQ(made.victims[0].checkpoint_age, base::seconds(600));
  EXPECT_EQ(made.outcome, Outcome::kOpen);
  EXPECT_EQ(world.audit.totals().lost_gpu_ms, 4 * 600'000);
}

TEST(Audit, TheWinnerStartedOnceItsMinimumRuns) {
  Reclaimed world;
  world.at_second(610);
  world.end("guest", model::PodEnd::kLost);
  world.cycle();
  EXPECT_EQ(world.audit.displacements().front().outcome, Outcome::kOpen);
  world.at_second(620);
  world.start("claim");
  EXPECT_EQ(world.audit.displacements().front().outcome, Outcome::kStarted);
  EXPECT_EQ(world.audit.displacements().front().settled_at, world.now);
  world.at_second(700);
  world.end("claim");
  world.cycle();
  EXPECT_EQ(world.audit.displacements().front().outcome, Outcome::kStarted);
  EXPECT_EQ(world.audit.totals().by_outcome[static_cast<size_t>(Outcome::kOpen)], 0);
  EXPECT_EQ(world.audit.totals().by_outcome[static_cast<size_t>(Outcome::kStarted)], 1);
}

TEST(Audit, APromiseThatIsLateIsNotAStart) {
  Reclaimed world;
  world.at_second(600 + 301);
  world.cycle();
  EXPECT_EQ(world.audit.displacements().front().outcome, Outcome::kLate);
  world.at_second(1000);
  world.end("guest", model::PodEnd::kLost);
  world.cycle();
  EXPECT_EQ(world.audit.displacements().front().outcome, Outcome::kLate);
}

TEST(Audit, AWinnerThatIsTakenAwayNeverStarted) {
  Reclaimed world;
  world.at_second(605);
  world.apply(model::JobGone{"claim"});
  world.cycle();
  EXPECT_EQ(world.audit.displacements().front().outcome, Outcome::kWithdrawn);
}

TEST(Audit, AWinnerThatIsReleasedNeverStarted) {
  Reclaimed world;
  model::Plan plan;
  plan.decisions.emplace_back(model::Release{.job = "claim", .pods = {}});
  world.audit.observe(plan, world.state, world.now);
  EXPECT_EQ(world.audit.displacements().front().outcome, Outcome::kReleased);
}

TEST(Audit, ForgetsTheOldestAndCountsAll) {
  Audit audit(2);
  model::ClusterState state;
  for (int i = 0; i < 5; ++i) {
    model::Plan plan;
    model::Displace decision{.job = "w" + std::to_string(i)};
    decision.victims.push_back({.job = "v" + std::to_string(i), .lost_gpu_ms = 10});
    plan.decisions.emplace_back(std::move(decision));
    audit.observe(plan, state, base::Instant{i});
  }
  EXPECT_EQ(audit.displacements().size(), 2U);
  EXPECT_EQ(audit.displacements().front().winner, "w3");
  EXPECT_EQ(audit.totals().victims, 5);
  EXPECT_EQ(audit.totals().victims_kept, 2);
  EXPECT_EQ(audit.totals().lost_gpu_ms, 50);
  // A record that is forgotten can still be settled; nothing that is kept is touched.
  model::Plan ends;
  ends.decisions.emplace_back(model::PromiseEnded{.job = "w4", .why = model::PromiseEnd::kBroken});
  Audit other(1);
  other.observe(ends, state, base::Instant{9});
  EXPECT_TRUE(other.displacements().empty());
}

TEST(Audit, PlacesHeldWithoutAVictimAreForgottenToo) {
  Audit audit(2);
  model::ClusterState state;
  for (int i = 0; i < 5; ++i) {
    model::Plan plan;
    plan.decisions.emplace_back(
        model::Displace{.job = "w" + std::to_string(i), .rule = model::DisplaceRule::kHold});
    audit.observe(plan, state, base::Instant{i});
  }
  EXPECT_EQ(audit.displacements().size(), 2U);
  EXPECT_EQ(audit.totals().displacements, 5);
  EXPECT_EQ(audit.totals().victims, 0);
}

}  // namespace
}  // namespace mainspring::report
