// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/timed_policies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mainspring/sim/timed_world_for_tests.h"

namespace mainspring::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kNever = -1;

// --- first-fit, best-fit ---

TEST(FirstFit, TakesTheFirstNodeWithRoom) {
  TimedWorld world(2, 4);
  world.job({.id = "a", .run_s = 10, .gpus = 3});  // node-0000
  world.job({.id = "b", .gpus = 3});               // node-0001
  world.job({.id = "probe", .at_s = 20, .gpus = 1});
  world.run("first-fit", 100);
  EXPECT_EQ(world.node_of("b"), "node-0001");
  EXPECT_EQ(world.node_of("probe"), "node-0000");
}

TEST(BestFit, TakesTheNodeThatIsLeftWithLeast) {
  TimedWorld world(2, 4);
  world.job({.id = "a", .run_s = 10, .gpus = 3});
  world.job({.id = "b", .gpus = 3});
  world.job({.id = "probe", .at_s = 20, .gpus = 1});
  world.run("best-fit", 100);
  EXPECT_EQ(world.node_of("b"), "node-0001");
  EXPECT_EQ(world.node_of("probe"), "node-0001");
}

TEST(StrictOrder, NobodyPassesAHeadThatDoesNotFit) {
  for (const char* policy : {"first-fit", "best-fit"}) {
    TimedWorld world(2, 4);
    world.job({.id = "running", .run_s = 100, .gpus = 4});
    world.job({.id = "head", .at_s = 1, .run_s = 10, .pods = 2, .gpus = 4});
    world.job({.id = "small", .at_s = 2, .gpus = 1, .priority = 7});
    world.run(policy, 300);
    EXPECT_EQ(world.start_ms("head"), 100'000) << policy;
    EXPECT_EQ(world.start_ms("small"), 110'000) << policy;
    EXPECT_THAT(world.displaced_by("running"), IsEmpty()) << policy;
  }
}

TEST(StrictOrder, WhatCannotEverStartBlocksNobody) {
  for (const char* policy : {"first-fit", "best-fit"}) {
    TimedWorld world(2, 4);
    world.job({.id = "impossible", .pods = 3, .gpus = 4});
    world.job({.id = "small", .at_s = 2, .gpus = 1});
    world.run(policy, 300);
    EXPECT_EQ(world.start_ms("impossible"), kNever) << policy;
    EXPECT_EQ(world.start_ms("small"), 2000) << policy;
  }
}

// --- fifo ---

TEST(Fifo, PassesOverWhoDoesNotFitAndTakesItBackFromTheLatest) {
  TimedWorld world(1, 4);
  world.job({.id = "first", .run_s = 100, .gpus = 2});
  world.job({.id = "wide", .at_s = 1, .run_s = 50, .gpus = 3});
  world.job({.id = "second", .at_s = 2, .run_s = 500, .gpus = 1});
  world.job({.id = "third", .at_s = 3, .run_s = 500, .gpus = 1});
  world.run("fifo", 2000);
  EXPECT_EQ(world.start_ms("second"), 2000);
  EXPECT_EQ(world.start_ms("third"), 3000);
  // At 100 s two GPUs come free; of those who came later it takes one more, from the latest. It may
  // not take from `first`, which came before it.
  EXPECT_EQ(world.start_ms("wide"), 100'000);
  EXPECT_THAT(world.displaced_by("first"), IsEmpty());
  EXPECT_THAT(world.displaced_by("second"), IsEmpty());
  EXPECT_THAT(world.displaced_by("third"), ElementsAre("wide"));
}

TEST(Fifo, LeavesAloneWhatCannotBeDisplaced) {
  TimedWorld world(1, 4);
  world.job({.id = "first", .run_s = 100, .gpus = 2});
  world.job({.id = "wide", .at_s = 1, .run_s = 50, .gpus = 3});
  world.job({.id = "second", .at_s = 2, .run_s = 500, .gpus = 2, .preemptible = false});
  world.run("fifo", 2000);
  EXPECT_THAT(world.displaced_by("second"), IsEmpty());
  EXPECT_EQ(world.start_ms("wide"), 502'000);
}

// --- priority ---

TEST(Priority, TakesFromTheLowestAndThenTheLatest) {
  TimedWorld world(1, 4);
  world.job({.id = "low-old", .gpus = 1, .priority = 1});
  world.job({.id = "middle", .at_s = 1, .gpus = 1, .priority = 2});
  world.job({.id = "low-new", .at_s = 2, .gpus = 1, .priority = 1});
  world.job({.id = "equal", .at_s = 3, .gpus = 1, .priority = 5});
  world.job({.id = "urgent", .at_s = 10, .gpus = 1, .priority = 5});
  world.run("priority", 100);
  EXPECT_EQ(world.start_ms("urgent"), 10'000);
  EXPECT_THAT(world.displaced_by("low-new"), ElementsAre("urgent"));
  for (const char* id : {"low-old", "middle", "equal"}) {
    EXPECT_THAT(world.displaced_by(id), IsEmpty()) << id;
  }
}

TEST(Priority, EqualOnesWaitAndTheHigherGoesFirst) {
  TimedWorld world(1, 4);
  world.job({.id = "running", .run_s = 100, .gpus = 4, .priority = 5});
  world.job({.id = "early", .at_s = 1, .run_s = 10, .gpus = 4, .priority = 4});
  world.job({.id = "late", .at_s = 2, .run_s = 10, .gpus = 4, .priority = 5});
  world.job({.id = "meek", .at_s = 103, .gpus = 4, .priority = 9, .may_displace = false});
  world.run("priority", 300);
  EXPECT_THAT(world.displaced_by("running"), IsEmpty());
  EXPECT_EQ(world.start_ms("late"), 100'000);
  EXPECT_THAT(world.displaced_by("late"), IsEmpty());
  EXPECT_EQ(world.start_ms("meek"), 110'000);
  EXPECT_EQ(world.start_ms("early"), kNever);
}

// --- static ---

TEST(Static, NobodyExceedsItsQuotaHoweverMuchIsIdle) {
  TimedWorld world(2, 4);
  world.queue("team-a", 4);
  world.queue("team-b", 4);
  world.job({.id = "a-1", .run_s = 100, .gpus = 3, .queue = "team-a"});
  world.job({.id = "a-2", .at_s = 1, .gpus = 2, .queue = "team-a"});
  world.job({.id = "a-3", .at_s = 2, .gpus = 1, .queue = "team-a"});
  world.job({.id = "b-1", .at_s = 3, .gpus = 4, .queue = "team-b"});
  world.run("static", 300);
  EXPECT_EQ(world.start_ms("a-2"), 100'000);  // 5 GPUs were free
  EXPECT_EQ(world.start_ms("a-3"), 2000);
  EXPECT_EQ(world.start_ms("b-1"), 3000);
}

// --- periodic ---

TEST(Periodic, ActsAtTheBeginningOfACycleAndTakesItsTime) {
  TimedWorld world(1, 8);
  world.job({.id = "first", .gpus = 1});
  world.job({.id = "second", .at_s = 1, .pods = 4, .gpus = 1});
  const PeriodicCosts costs{.period = base::milliseconds(3000), .bind_us = 10'000};
  world.run("periodic", 100, costs);
  EXPECT_EQ(world.start_ms("first"), 10);
  // The next cycle begins a period after the end of the last one.
  EXPECT_EQ(world.start_ms("second"), 10 + 3000 + 40);
}

TEST(Periodic, IdleCapacityIsLentAndOnlyWhatTheOwnerNeedsIsTakenBack) {
  TimedWorld world(2, 4, 500);
  world.queue("owner", 4);
  world.queue("borrower", 4);
  for (int i = 0; i < 8; ++i) {
    world.job({.id = "lent-" + std::to_string(i), .gpus = 1, .queue = "borrower"});
  }
  world.job({.id = "claim", .at_s = 10, .gpus = 2, .queue = "owner"});
  world.run("periodic", 100, {});
  int displaced = 0;
  for (int i = 0; i < 8; ++i) {
    const std::string id = "lent-" + std::to_string(i);
    EXPECT_EQ(world.start_ms(id), 0) << id;
    displaced += static_cast<int>(world.displaced_by(id).size());
  }
  EXPECT_EQ(displaced, 2);
  // Evicted in the cycle of 10 s, gone half a second later, placed in the cycle of 11 s.
  EXPECT_EQ(world.start_ms("claim"), 11'000);
}

TEST(Periodic, NobodyTakesBeyondItsQuota) {
  TimedWorld world(2, 4);
  world.queue("owner", 4);
  world.queue("other", 4);
  world.job({.id = "other-1", .gpus = 4, .queue = "other"});
  world.job({.id = "owner-1", .gpus = 2, .queue = "owner"});
  world.job({.id = "owner-2", .at_s = 5, .gpus = 3, .queue = "owner"});  // 5 of 4
  world.job({.id = "owner-3", .at_s = 6, .gpus = 2, .queue = "owner"});
  world.run("periodic", 100);
  EXPECT_THAT(world.displaced_by("other-1"), IsEmpty());
  EXPECT_EQ(world.start_ms("owner-2"), kNever);
  EXPECT_GT(world.start_ms("owner-3"), 6000);
}

TEST(Periodic, TheQueueWithLeastOfItsQuotaGoesFirst) {
  TimedWorld world(1, 4);
  world.queue("full", 2);
  world.queue("poor", 2);
  world.job({.id = "runs", .gpus = 2, .queue = "full", .preemptible = false});
  world.job({.id = "blocks", .run_s = 50, .gpus = 2, .queue = "full", .preemptible = false});
  world.job({.id = "more", .at_s = 1, .gpus = 2, .queue = "full"});
  world.job({.id = "less", .at_s = 2, .gpus = 2, .queue = "poor"});
  world.run("periodic", 200);
  EXPECT_GT(world.start_ms("less"), 50'000);
  EXPECT_LT(world.start_ms("less"), 53'000);
  EXPECT_EQ(world.start_ms("more"), kNever);
}

}  // namespace
}  // namespace mainspring::sim
