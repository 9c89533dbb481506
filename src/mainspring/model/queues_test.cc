// SPDX-License-Identifier: Apache-2.0
// The books of queues, through everything that a job goes through.
#include "mainspring/model/queues.h"

#include <utility>

#include <gtest/gtest.h>

#include "mainspring/model/history_for_tests.h"

namespace mainspring::model {
namespace {

constexpr size_t kModelA = kModelDimension;

// The queues x and y below r; one node with four GPUs. Job `j` of x has two pods of one GPU each.
class QueuesTest : public testing::Test {
 protected:
  QueuesTest() {
    apply(ConfigChanged{{.usage_half_life = base::seconds(64)}});
    apply(QueueChanged{{.name = "r"}});
    apply(QueueChanged{{.name = "x", .parent = "r"}});
    apply(QueueChanged{{.name = "y", .parent = "r"}});
    NodeSpec node{.name = "n"};
    node.allocatable.amounts = {64'000, 1 << 30, 1 << 30, 100};
    for (const char* id : {"g0", "g1", "g2", "g3"}) node.gpus.push_back({.id = id, .model = "A"});
    apply(NodeChanged{node});
    spec_.groups.push_back({.name = "all"});
    PodShape& shape = spec_.shapes.emplace_back();
    shape.request.amounts = {1500, 1000, 0, 1};
    shape.gpu.count = 1;
    spec_.pods = {{.id = "a"}, {.id = "b"}};
    apply(JobChanged{spec_});
  }

  void apply(EventBody body) {
    const auto done = state_.apply({++sequence_, now_, std::move(body)});
    ASSERT_TRUE(done.has_value()) << done.error().message;
    state_.check();
  }
  void start() {
    Trial trial(state_);
    RandomHistory::place_first_fit(trial, state_.find_job("j"));
    trial.commit();
    for (const char* pod : {"a", "b"}) {
      apply(PodStarted{pod, state_.pod(state_.find_pod(pod)).incarnation});
    }
  }
  [[nodiscard]] int64_t count(const char* queue, QueueBook book, size_t dimension = 0) const {
    return state_.queues().row(state_.queues().find(queue)).count(book, dimension);
  }
  // GPUs asked for, held, stopping and firm.
  [[nodiscard]] std::vector<int64_t> gpus(const char* queue) const {
    std::vector<int64_t> books;
    for (size_t book = 0; book < kQueueBookCount; ++book) {
      books.push_back(count(queue, static_cast<QueueBook>(book)));
    }
    return books;
  }
  [[nodiscard]] PastUse past(const char* queue) const {
    const auto used = state_.queues().past_until(state_.queues().find(queue), now_);
    return used.empty() ? PastUse{} : used[kGpuDimension];
  }

  using Books = std::vector<int64_t>;
  ClusterState state_;
  JobSpec spec_{.id = "j", .queue = "x"};
  base::Instant now_{64'000};
  uint64_t sequence_ = 0;
};

TEST_F(QueuesTest, StartAndStop) {
  EXPECT_EQ(gpus("x"), (Books{2000, 0, 0, 0}));
  EXPECT_EQ(count("x", QueueBook::kDemand, kModelA), 0) << "known in its place only";
  start();
  for (const char* queue : {"x", "r"}) {
    EXPECT_EQ(gpus(queue), (Books{2000, 2000, 0, 0})) << queue;
    EXPECT_EQ(count(queue, QueueBook::kHeld, kModelA), 2000) << queue;
    EXPECT_EQ(count(queue, QueueBook::kHeld, kCpuDimension), 3000) << queue;
    EXPECT_EQ(count(queue, QueueBook::kHeld, kMemoryDimension), 2000) << queue;
  }
  EXPECT_EQ(gpus("y"), (Books{0, 0, 0, 0}));
  apply(PodStopping{"a", 0});
  EXPECT_EQ(gpus("r"), (Books{2000, 1000, 1000, 0}));
  apply(PodGone{"a", 0, PodEnd::kLost});
  EXPECT_EQ(gpus("r"), (Books{2000, 1000, 0, 0})) << "it is asked for again";
  apply(PodGone{"b", 0, PodEnd::kSucceeded});
  EXPECT_EQ(gpus("r"), (Books{1000, 0, 0, 0}));
  apply(JobGone{"j"});
  EXPECT_EQ(gpus("x"), (Books{0, 0, 0, 0}));
}

TEST_F(QueuesTest, WhatCannotBeDisplacedIsFirm) {
  start();
  spec_.preemptible = false;
  apply(JobChanged{spec_});
  EXPECT_EQ(gpus("r"), (Books{2000, 2000, 0, 2000}));
  apply(PodStopping{"a", 0});
  EXPECT_EQ(gpus("r"), (Books{2000, 1000, 1000, 1000}));
  spec_.preemptible = true;
  apply(JobChanged{spec_});
  EXPECT_EQ(gpus("r"), (Books{2000, 1000, 1000, 0}));
}

TEST_F(QueuesTest, JobsAndQueuesThatMove) {
  start();
  apply(PodStopping{"a", 0});
  spec_.queue = "y";
  apply(JobChanged{spec_});
  EXPECT_EQ(gpus("x"), (Books{0, 0, 0, 0}));
  EXPECT_EQ(gpus("y"), (Books{2000, 1000, 1000, 0}));
  EXPECT_EQ(gpus("r"), (Books{2000, 1000, 1000, 0}));
  apply(QueueChanged{{.name = "y"}});
  EXPECT_EQ(gpus("y"), (Books{2000, 1000, 1000, 0})) << "a root now";
  EXPECT_EQ(gpus("r"), (Books{0, 0, 0, 0}));
  apply(QueueChanged{{.name = "y", .parent = "x"}});
  EXPECT_EQ(gpus("r"), (Books{2000, 1000, 1000, 0})) << "two levels up";
  apply(QueueChanged{{.name = "s"}});
  apply(QueueChanged{{.name = "x", .parent = "s"}});
  EXPECT_EQ(gpus("s"), (Books{2000, 1000, 1000, 0})) << "with all below";
  EXPECT_EQ(gpus("r"), (Books{0, 0, 0, 0}));
}

TEST_F(QueuesTest, PromisesAreHeldAndACheckpointIsNot) {
  spec_.preemptible = false;
  apply(JobChanged{spec_});
  const NodeIx node = state_.inventory().find_node("n");
  state_.promise(state_.find_job("j"),
                 {{.pod = state_.find_pod("a"), .node = node, .devices = 1},
                  {.pod = state_.find_pod("b"), .node = node, .devices = 2}},
                 base::Instant{100'000});
  state_.check();
  EXPECT_EQ(gpus("r"), (Books{2000, 2000, 0, 2000}));
  state_.redeem(state_.find_job("j"));
  state_.check();
  EXPECT_EQ(gpus("r"), (Books{2000, 2000, 0, 2000})) << "held now, and not twice";
  apply(JobCheckpointed{"j"});
  EXPECT_EQ(gpus("r"), (Books{2000, 2000, 0, 2000}));
  EXPECT_EQ(state_.job(state_.find_job("j")).checkpointed_at, now_);
}

TEST_F(QueuesTest, PromisesThatEnd) {
  state_.promise(
      state_.find_job("j"),
      {{.pod = state_.find_pod("a"), .node = state_.inventory().find_node("n"), .devices = 1}},
      base::Instant{100'000});
  EXPECT_EQ(gpus("x"), (Books{2000, 1000, 0, 0}));
  state_.end_promise(state_.find_job("j"), now_);
  state_.check();
  EXPECT_EQ(gpus("x"), (Books{2000, 0, 0, 0}));
}

// Two GPUs for a second are 2000 thousandths; past use fades with each 64th of the half-life.
TEST_F(QueuesTest, PastUseIsCountedAndFades) {
  start();
  now_ = base::Instant{64'500};
  for (const char* queue : {"x", "r"}) {
    EXPECT_EQ(past(queue), (PastUse{1000, 0})) << queue;
  }
  EXPECT_EQ(past("y"), (PastUse{0, 0}));
  now_ = base::Instant{65'000};
  EXPECT_EQ(past("x"), (PastUse{1978, 456}));
  for (const char* pod : {"a", "b"}) apply(PodGone{pod, 0, PodEnd::kLost});
  now_ = base::Instant{65'000 + 64'000};
  apply(Tick{});
  EXPECT_EQ(past("x").seconds, 989) << "half after a half-life";
  apply(QueueChanged{{.name = "x", .parent = "r", .priority = 3}});
  EXPECT_EQ(past("x").seconds, 989) << "a queue that changes forgets nothing";
}

}  // namespace
}  // namespace mainspring::model
