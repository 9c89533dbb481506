// SPDX-License-Identifier: Apache-2.0
#include "mainspring/policy/rights.h"

#include "mainspring/policy/queue_world_for_tests.h"

namespace mainspring::policy {
namespace {

using base::Instant;
using model::DisplaceRule;
using model::JobIx;

class RightsTest : public QueueWorld {
 protected:
  RightsTest() { add_node("n", 8); }
  std::optional<DisplaceRule> rule(const char* claimant, const char* victim) {
    return rights(claimant).rule_for(row(victim));
  }
  Rights rights(const char* claimant) {
    return Rights(state_, shares(), state_.find_job(claimant), now_);
  }
};

TEST_F(RightsTest, PreemptsLowerPriorityOfTheSameQueue) {
  add_queue("a", 4);
  add_queue("b", 4);
  run(job("low", "a", 1, 1, -1));
  run(job("same", "a", 1, 1, 3));
  run(job("other", "b", 1, 1, -1));
  submit(job("high", "a", 1, 1, 3));
  EXPECT_EQ(rule("high", "low"), DisplaceRule::kPreempt);
  EXPECT_EQ(rule("high", "same"), std::nullopt) << "equal priority";
  EXPECT_EQ(rule("high", "other"), std::nullopt) << "another queue, within its share";
}

TEST_F(RightsTest, WithoutATreeAllNamesAreOneQueue) {
  run(job("low", "a", 1, 1));
  submit(job("high", "b", 1, 1, 1));
  EXPECT_EQ(rule("high", "low"), DisplaceRule::kPreempt);
}

TEST_F(RightsTest, NobodyWhoCannotOrNeedNotGo) {
  model::JobSpec firm = job("firm", "a", 1, 1);
  firm.preemptible = false;
  run(firm);
  run(job("goes", "a", 1, 1));
  run(job("removed", "a", 1, 1));
  submit(job("promised", "a", 1, 1));
  submit(job("high", "a", 1, 1, 1));
  state_.begin_release(state_.find_job("goes"), now_);
  apply(model::JobGone{"removed"});
  state_.promise(state_.find_job("promised"),
                 {{.pod = state_.find_pod("promised-0"),
                   .node = state_.inventory().find_node("n"),
                   .devices = 0x80}},
                 now_ + base::seconds(9));
  for (const char* victim : {"firm", "goes", "removed", "promised"}) {
    EXPECT_EQ(rule("high", victim), std::nullopt) << victim;
  }
}

// The borrower asks for eight of eight; of that the owner's two are not its own.
TEST_F(RightsTest, ReclaimsOnlyWhatIsHeldAboveTheShare) {
  add_queue("owner", 4);
  add_queue("borrower", 4);
  for (int i = 0; i < 7; ++i) run(job("b" + std::to_string(i), "borrower", 1, 1, 9));
  run(job("cpu", "borrower", 1, 0));
  submit(job("claim", "owner", 2, 1));
  EXPECT_TRUE(rights("claim").starved());
  EXPECT_TRUE(rights("claim").within_quota());
  EXPECT_EQ(rule("claim", "b0"), DisplaceRule::kReclaim) << "of whatever priority";
  EXPECT_EQ(rule("claim", "cpu"), std::nullopt) << "it gives nothing back that is wanted";
  EXPECT_EQ(rule("b0", "b1"), std::nullopt);
  displace(state_.find_job("b6"), state_.find_job("claim"));
  EXPECT_EQ(rule("claim", "b0"), std::nullopt) << "six are its share";
}

TEST_F(RightsTest, ReclaimsOnlyUpToTheOwnShare) {
  add_queue("owner", 2);
  add_queue("borrower", 4);
  for (int i = 0; i < 6; ++i) run(job("b" + std::to_string(i), "borrower", 1, 1));
  run(job("own", "owner", 2, 1));
  submit(job("claim", "owner", 2, 1));
  // Both lend and borrow: of the two that nobody owns the owner is due one.
  EXPECT_EQ(shares().share(queue("owner"), model::kGpuDimension), 3000);
  EXPECT_FALSE(rights("claim").starved());
  EXPECT_FALSE(rights("claim").within_quota());
  EXPECT_EQ(rule("claim", "b0"), std::nullopt);
  submit(job("claim", "owner", 1, 1));
  EXPECT_TRUE(rights("claim").starved());
  EXPECT_EQ(rule("claim", "b0"), DisplaceRule::kReclaim);
}

// Below the queue where the paths part, everybody on the way down holds too much.
TEST_F(RightsTest, ReclaimsAcrossBranches) {
  add_queue("left", 4);
  add_queue("l1", 2, "left");
  add_queue("l2", 2, "left");
  add_queue("right", 4);
  add_queue("r1", 4, "right");
  for (int i = 0; i < 2; ++i) run(job("one" + std::to_string(i), "l1", 1, 1));
  for (int i = 0; i < 6; ++i) run(job("two" + std::to_string(i), "l2", 1, 1));
  submit(job("claim", "r1", 1, 1));
  EXPECT_EQ(rule("claim", "two0"), DisplaceRule::kReclaim);
  EXPECT_EQ(rule("claim", "one0"), std::nullopt) << "its own queue is within its share";
}

TEST_F(RightsTest, WhenOthersMayBeDisplacedForIt) {
  model::QueueSpec queue = gpu_queue("a", 8);
  queue.displace_after = base::seconds(30);
  apply(model::QueueChanged{queue});
  model::JobSpec spec = job("j", "a", 1, 1);
  spec.submitted_at = now_;
  run(spec);
  EXPECT_EQ(rights("j").from(), now_ + base::seconds(30));
  wait(100);
  displace(state_.find_job("j"), submit(job("winner", "a", 1, 1, 1)));
  EXPECT_EQ(rights("j").from(), now_ + state_.config().promise_timeout) << "it was displaced";
  spec.may_displace = false;
  submit(spec);
  EXPECT_EQ(rights("j").from(), Instant::never());
}

TEST_F(RightsTest, ProtectionOfWhoHasJustBegun) {
  model::QueueSpec spec = gpu_queue("a", 4);
  spec.min_run_before_preempt = base::seconds(30);
  spec.min_run_before_reclaim = base::seconds(60);
  apply(model::QueueChanged{spec});
  run(job("runs", "a", 1, 1));
  submit(job("waits", "a", 1, 1));
  submit(job("high", "a", 1, 1, 1));
  const Instant begun = now_;
  wait(5);
  const Rights claim = rights("high");
  EXPECT_EQ(claim.protected_until(row("runs"), DisplaceRule::kPreempt), begun + base::seconds(30));
  EXPECT_EQ(claim.protected_until(row("runs"), DisplaceRule::kReclaim), begun + base::seconds(60));
  EXPECT_EQ(claim.protected_until(row("runs"), DisplaceRule::kConsolidate),
            begun + base::seconds(30));
  EXPECT_EQ(claim.protected_until(row("waits"), DisplaceRule::kPreempt), Instant::never())
      << "what has not begun cannot have run for long enough";
}

TEST_F(RightsTest, TheThirdTimeIsForWorkWithinTheQuotaOnly) {
  add_queue("a", 4);
  add_queue("b", 0);
  submit(job("within", "a", 4, 1, 1));
  submit(job("beyond", "a", 5, 1, 1));
  run(job("victim", "b", 1, 1));
  std::vector<Instant> displaced;
  for (int time = 0; time < 2; ++time) {
    const Rights claim = rights("beyond");
    EXPECT_LE(claim.protected_until(row("victim"), DisplaceRule::kReclaim), now_) << time;
    displaced.push_back(now_);
    displace(state_.find_job("victim"), state_.find_job("within"));
    wait(600);
    bring_up("victim");
  }
  EXPECT_FALSE(rights("beyond").within_quota());
  EXPECT_EQ(rights("beyond").protected_until(row("victim"), DisplaceRule::kReclaim),
            displaced[0] + state_.config().displacements_window);
  EXPECT_TRUE(rights("within").within_quota());
  EXPECT_LE(rights("within").protected_until(row("victim"), DisplaceRule::kReclaim), now_);
}

// Of eight GPUs a is due two and b six, which it holds.
TEST_F(RightsTest, NoQueueAboveExceedsItsShareByMore) {
  add_queue("a", 2);
  add_queue("b", 6);
  const JobIx held = run(job("held", "b", 6, 1));
  model::JobSpec spec = job("claim", "a", 4, 1);
  spec.groups[0].min_count = 2;
  const JobIx claim = submit(spec);
  EXPECT_EQ(shares().share(queue("a"), model::kGpuDimension), 2000);
  const Rights right = rights("claim");
  model::Trial trial(state_);
  for (const model::PodIx pod : state_.job(held).pods) trial.vacate(pod);
  const auto place = [&](size_t pod) {
    trial.place(state_.job(claim).pods[pod], state_.inventory().find_node("n"),
                model::DeviceMask{1} << pod, {now_});
  };
  place(0);
  place(1);
  EXPECT_TRUE(right.holds_after());
  EXPECT_TRUE(right.within_shares_after());
  place(2);
  EXPECT_FALSE(right.holds_after());
  EXPECT_FALSE(right.within_shares_after());
}

// Whoever is above its share already may be so afterwards, but does not move others.
TEST_F(RightsTest, AnOvershootThatWasThereBefore) {
  add_queue("a", 2);
  add_queue("b", 6);
  const JobIx low = run(job("low", "a", 4, 1));
  submit(job("waits", "b", 6, 1));
  const JobIx claim = submit(job("claim", "a", 4, 1, 1));
  const Rights right = rights("claim");
  model::Trial trial(state_);
  for (const model::PodIx pod : state_.job(low).pods) trial.vacate(pod);
  for (size_t pod = 0; pod < 4; ++pod) {
    trial.place(state_.job(claim).pods[pod], state_.inventory().find_node("n"),
                model::DeviceMask{1} << pod, {now_});
  }
  EXPECT_TRUE(right.holds_after());
  EXPECT_FALSE(right.within_shares_after());
}

}  // namespace
}  // namespace mainspring::policy
