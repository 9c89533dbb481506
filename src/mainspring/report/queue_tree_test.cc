// SPDX-License-Identifier: Apache-2.0
#include "mainspring/report/queue_tree.h"

#include "mainspring/report/small_world_for_tests.h"

namespace mainspring::report {
namespace {

TEST(QueueTree, IsEmptyWithoutATree) {
  SmallWorld world(4);
  world.submit("j", "q", "t", 1);
  world.cycle();
  EXPECT_TRUE(queue_tree(world.state, world.engine.shares(), world.now).queues.empty());
}

TEST(QueueTree, SaysWhatIsOwnedHeldAndAskedFor) {
  SmallWorld world(8);
  world.queue("company", 8);
  world.queue("b", 2, "company");
  world.queue("a", 6, "company");
  world.submit("runs", "b", "t", 5);
  world.cycle();
  world.start("runs");
  world.submit("waits", "b", "t", 4);
  world.cycle();
  const QueueTree tree = queue_tree(world.state, world.engine.shares(world.state), world.now);
  EXPECT_EQ(tree.resources, std::vector<std::string>{"gpu"});
  EXPECT_EQ(tree.capacity, std::vector<int64_t>{8000});
  ASSERT_EQ(tree.queues.size(), 3U);
  EXPECT_EQ(tree.queues[0].name, "company");
  EXPECT_FALSE(tree.queues[0].leaf);
  EXPECT_EQ(tree.queues[0].amounts[0].held, 5000);
  EXPECT_EQ(tree.queues[0].amounts[0].borrowed, 0);
  EXPECT_EQ(tree.queues[1].name, "a");
  const QueueLine& b = tree.queues[2];
  EXPECT_EQ(b.name, "b");
  EXPECT_EQ(b.parent, "company");
  EXPECT_EQ(b.depth, 1U);
  EXPECT_EQ(b.jobs_running, 1);
  EXPECT_EQ(b.jobs_waiting, 1);
  EXPECT_EQ(b.amounts[0].quota, 2000);
  EXPECT_EQ(b.amounts[0].share, 8000);
  EXPECT_EQ(b.amounts[0].held, 5000);
  EXPECT_EQ(b.amounts[0].borrowed, 3000);
  EXPECT_EQ(b.amounts[0].pending, 4000);
}

TEST(QueueTree, WhatIsPromisedIsHeldAndWhatStopsIsCountedApart) {
  Reclaimed world;
  const QueueTree tree = queue_tree(world.state, world.engine.shares(world.state), world.now);
  ASSERT_EQ(tree.queues.size(), 2U);
  EXPECT_EQ(tree.queues[0].name, "guests");
  EXPECT_EQ(tree.queues[0].amounts[0].held, 0);
  EXPECT_EQ(tree.queues[0].amounts[0].stopping, 4000);
  EXPECT_EQ(tree.queues[1].amounts[0].held, 4000);
  EXPECT_EQ(tree.queues[1].amounts[0].pending, 0);
}

TEST(QueueTree, PastUseIsComparedAmongSiblings) {
  SmallWorld world(8);
  world.apply(model::ConfigChanged{{.usage_half_life = base::seconds(64'000)}});
  world.queue("company", 8);
  world.queue("a", 4, "company");
  world.queue("b", 4, "company");
  world.submit("one", "a", "t", 1);
  world.submit("three", "b", "t", 3);
  world.cycle();
  world.at_second(1000);
  world.cycle();
  const QueueTree tree = queue_tree(world.state, world.engine.shares(), world.now);
  ASSERT_EQ(tree.queues.size(), 3U);
  EXPECT_EQ(tree.queues[0].amounts[0].past_milli, 1000) << "it has no sibling";
  EXPECT_GT(tree.queues[1].amounts[0].past_seconds, 900'000);
  EXPECT_EQ(tree.queues[1].amounts[0].past_milli, 250);
  EXPECT_EQ(tree.queues[2].amounts[0].past_milli, 750);
}

}  // namespace
}  // namespace mainspring::report
