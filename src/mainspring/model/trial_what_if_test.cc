// SPDX-License-Identifier: Apache-2.0
// The steps of a Trial that only ask "what if", and that nothing of them stays.
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "mainspring/model/trial.h"

namespace mainspring::model {
namespace {

class WhatIf : public testing::Test {
 protected:
  WhatIf() {
    apply(ConfigChanged{{.topologies = {{.name = "t", .levels = {{"rack", "rack"}}}}}});
    NodeSpec node{.name = "n0", .labels = {{"rack", "r0"}}};
    node.allocatable.amounts = {8'000, 1 << 30, 1 << 30, 10};
    for (const char* id : {"a", "b"}) {
      node.gpus.push_back({.id = id, .model = "m", .memory_bytes = 1 << 30});
    }
    apply(NodeChanged{node});
    apply(JobChanged{job("running", "running-0")});
    apply(PodFound{.pod = "running-0", .node = "n0", .gpus = {"a"}, .phase = 3});
  }

  void apply(EventBody body) {
    const auto done = state_.apply({.sequence = 0, .at = {}, .body = std::move(body)});
    ASSERT_TRUE(done.has_value()) << done.error().message;
  }

  static JobSpec job(const std::string& id, const std::string& pod) {
    JobSpec spec{.id = id, .groups = {}, .shapes = {}, .pods = {{.id = pod}}};
    spec.groups.resize(1);
    PodShape shape;
    shape.request.amounts = {1'000, 1 << 20, 0, 1};
    shape.gpu.count = 1;
    spec.shapes = {shape};
    return spec;
  }

  [[nodiscard]] NodeIx node() const { return state_.inventory().find_node("n0"); }
  [[nodiscard]] const Node& row() const { return state_.inventory().node(node()); }

  ClusterState state_;
};

TEST_F(WhatIf, ACordonedNodeGivesNothing) {
  const uint64_t before = state_.hash();
  {
    Trial trial(state_);
    trial.set_usable(node(), false, true);
    EXPECT_EQ(state_.inventory().total_free(), Free{});
    const auto mark = trial.mark();
    trial.set_usable(node(), true, true);
    EXPECT_EQ(state_.inventory().total_free().gpus, 1);
    trial.rollback(mark);
    EXPECT_FALSE(row().schedulable);
    state_.check();
  }
  EXPECT_TRUE(row().usable());
  EXPECT_EQ(state_.hash(), before);
  state_.check();
}

TEST_F(WhatIf, MoreDevicesCanBeHeldAndGoAgain) {
  const uint64_t before = state_.hash();
  apply(JobChanged{job("waiting", "waiting-0")});
  const uint64_t waiting = state_.hash();
  EXPECT_NE(waiting, before);
  {
    Trial trial(state_);
    trial.add_gpus(node(), 0, 3);
    EXPECT_EQ(row().free.gpus, 4);
    EXPECT_EQ(row().gpus[4].holders, 0) << "like the first device, but idle";
    trial.place(state_.find_pod("waiting-0"), node(), DeviceMask{1} << 4, {});
    EXPECT_EQ(row().free.gpus, 3);
    state_.check();
  }
  EXPECT_EQ(row().gpus.size(), 2U);
  EXPECT_EQ(state_.hash(), waiting);
  state_.check();
}

TEST_F(WhatIf, AJobThatNobodySubmitted) {
  const uint64_t before = state_.hash();
  const int64_t arrivals = state_.arrivals();
  {
    Trial trial(state_);
    const JobIx index = trial.add_job(job("what-if", "what-if-0"));
    EXPECT_EQ(state_.job(index).pods_pending, 1U);
    trial.place(state_.find_pod("what-if-0"), node(), DeviceMask{1} << 1, {});
    EXPECT_EQ(row().free.gpus, 0);
    state_.check();
  }
  EXPECT_FALSE(state_.find_job("what-if").valid());
  EXPECT_FALSE(state_.find_pod("what-if-0").valid());
  EXPECT_EQ(state_.arrivals(), arrivals) << "demand is learnt from real jobs only";
  EXPECT_EQ(state_.hash(), before);
  state_.check();
}

TEST_F(WhatIf, TheNextJobGetsTheSlotsThatItWouldHaveGotAnyway) {
  JobSpec three = job("three", "three-0");
  three.pods.push_back({.id = "three-1"});
  three.pods.push_back({.id = "three-2"});
  {
    Trial trial(state_);
    trial.add_job(three);
  }
  apply(JobChanged{three});
  EXPECT_EQ(state_.find_job("three").slot, 1U);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(state_.find_pod("three-" + std::to_string(i)).slot, 1 + i);
  }
}

using WhatIfDeathTest = WhatIf;

TEST_F(WhatIfDeathTest, NothingOfItCanBeCommitted) {
  EXPECT_DEATH(
      {
        Trial trial(state_);
        trial.set_usable(node(), false, false);
        trial.commit();
      },
      "what-if step was committed");
}

}  // namespace
}  // namespace mainspring::model
