// SPDX-License-Identifier: Apache-2.0
#include "mainspring/policy/queue_shares.h"

#include "mainspring/policy/queue_world_for_tests.h"

namespace mainspring::policy {
namespace {

using model::kGpuDimension;
using model::kUnlimited;

class QueueSharesTest : public QueueWorld {
 protected:
  int64_t share(const char* name) { return shares().share(queue(name), kGpuDimension); }
  int64_t quota(const char* name) { return shares().quota(queue(name), kGpuDimension); }
  int64_t demand(const char* name) { return shares().demand(queue(name), kGpuDimension); }
  int64_t weight(const char* name) { return shares().weight_milli(queue(name), kGpuDimension); }
  void add_part(const char* name, int32_t ppm, const char* parent = "") {
    model::QueueSpec spec{.name = name, .parent = parent};
    spec.resources.push_back({.name = "gpu", .quota_ppm = ppm});
    apply(model::QueueChanged{spec});
  }
};

TEST_F(QueueSharesTest, NothingIsSharedOutWithoutATree) {
  add_node("n", 4);
  submit(job("j", "any", 1, 1));
  EXPECT_TRUE(shares().dimensions().empty());
  add_queue("any", 1);
  EXPECT_EQ(shares().dimensions().size(), 1U);
  apply(model::QueueGone{"any"});
  EXPECT_TRUE(shares().dimensions().empty());
}

TEST_F(QueueSharesTest, PartsAreOfTheParentAndOfTheClusterForARoot) {
  add_node("n", 10);
  add_part("a", 600'000);
  add_part("half", 500'000, "a");
  apply(model::QueueChanged{{.name = "all", .resources = {{.name = "gpu", .quota = kUnlimited}}}});
  add_part("third", 333'333, "all");
  EXPECT_EQ(quota("a"), 6000);
  EXPECT_EQ(quota("half"), 3000);
  EXPECT_EQ(quota("all"), kUnlimited);
  EXPECT_EQ(quota("third"), 3333) << "of the cluster, rounded down";
  add_node("m", 10);
  EXPECT_EQ(quota("half"), 6000) << "the cluster grew";
}

TEST_F(QueueSharesTest, WhoSaysNothingIsPromisedWhatItsChildrenAre) {
  add_node("n", 10);
  apply(model::QueueChanged{{.name = "team"}});
  add_queue("x", 2, "team");
  add_queue("y", 3, "team");
  EXPECT_EQ(quota("team"), 5000);
  apply(model::QueueChanged{
      {.name = "y", .parent = "team", .resources = {{.name = "gpu", .quota = kUnlimited}}}});
  EXPECT_EQ(quota("team"), kUnlimited);
}

TEST_F(QueueSharesTest, PromisesThatAddUpToMoreThanCanBeCounted) {
  add_node("n", 8);
  apply(model::QueueChanged{{.name = "top"}});
  for (int team = 0; team < 9; ++team) {
    const std::string name = "t" + std::to_string(team);
    apply(model::QueueChanged{{.name = name, .parent = "top"}});
    for (int i = 0; i < 256; ++i) {
      apply(model::QueueChanged{{.name = name + "-" + std::to_string(i),
                                 .parent = name,
                                 .resources = {{.name = "gpu", .quota = model::kAmountMax}}}});
    }
  }
  submit(job("j", "t8-0", 1, 4));
  EXPECT_EQ(quota("top"), model::kTotalMax);
  EXPECT_EQ(share("t8-0"), 4000);
}

TEST_F(QueueSharesTest, AShareDoesNotChangeBecauseAJobStartsOrStops) {
  add_node("n", 8);
  add_queue("a", 4);
  add_queue("b", 4);
  const model::JobIx one = submit(job("one", "a", 2, 3));
  submit(job("two", "b", 3, 1));
  const auto look = [&] {
    return std::vector<int64_t>{demand("a"), share("a"), demand("b"), share("b")};
  };
  const std::vector<int64_t> due{6000, 5000, 3000, 3000};
  EXPECT_EQ(look(), due) << "what b does not ask for goes to a";
  bring_up("one");
  EXPECT_EQ(look(), due);
  displace(one, state_.find_job("two"));
  EXPECT_EQ(look(), due);
  apply(model::JobGone{"one"});
  EXPECT_EQ(look(), (std::vector<int64_t>{0, 0, 3000, 3000}));
}

TEST_F(QueueSharesTest, LimitsBoundDemand) {
  add_node("n", 8);
  model::QueueSpec spec = gpu_queue("a", 0);
  spec.resources[0].limit = 2000;
  apply(model::QueueChanged{spec});
  submit(job("one", "a", 1, 5));
  EXPECT_EQ(demand("a"), 2000);
  EXPECT_EQ(share("a"), 2000);
}

TEST_F(QueueSharesTest, CapacityIsWhatWorks) {
  model::NodeSpec cordoned = node("cordoned", 2);
  cordoned.schedulable = false;
  model::NodeSpec lost = node("lost", 4);
  lost.ready = false;
  model::NodeSpec broken = node("broken", 8);
  broken.gpus[0].healthy = false;
  for (const model::NodeSpec& spec : {cordoned, lost, broken}) apply(model::NodeChanged{spec});
  add_queue("a", 1);
  EXPECT_EQ(shares().capacity(kGpuDimension), 2000 + 7000);
}

TEST_F(QueueSharesTest, ModelsAndOtherResourcesAreSharedByThemselves) {
  apply(model::NodeChanged{node("n", 2, "A")});
  apply(model::NodeChanged{node("m", 6, "B")});
  apply(model::QueueChanged{
      {.name = "a", .resources = {{.name = "gpu:B", .quota = 4000}, {.name = "cpu"}}}});
  const size_t model_b = state_.inventory().find_dimension("gpu:B");
  EXPECT_EQ(std::vector<size_t>(shares().dimensions().begin(), shares().dimensions().end()),
            (std::vector<size_t>{model::kCpuDimension, model_b}));
  EXPECT_EQ(shares().capacity(model_b), 6000);
  submit(job("one", "a", 5, 1));
  EXPECT_EQ(shares().share(queue("a"), model_b), 5000) << "any of them may be of this model";
  EXPECT_EQ(shares().share(queue("a"), model::kCpuDimension), 5000);
}

TEST_F(QueueSharesTest, PastUseShiftsWeightsAtFixedTimes) {
  apply(model::ConfigChanged{{.usage_half_life = base::seconds(64)}});
  add_node("n", 9);
  add_queue("a", 0);
  add_queue("b", 0);
  run(job("one", "a", 4, 1));
  submit(job("more", "a", 9, 1));
  submit(job("two", "b", 9, 1));
  EXPECT_EQ(weight("a"), 1000);
  EXPECT_EQ(share("b"), 4000) << "the odd one is for a, by name";
  wait(10);
  EXPECT_EQ(weight("a"), 500) << "all of the use, half of the weights";
  EXPECT_EQ(weight("b"), 4000) << "at most four times";
  EXPECT_EQ(share("a"), 1000);
  EXPECT_EQ(share("b"), 8000);
  const uint64_t version = shares().version();
  now_ = now_ + base::milliseconds(900);
  EXPECT_EQ(shares().version(), version) << "within the same 64th of a half-life";
  now_ = now_ + base::milliseconds(100);
  EXPECT_NE(shares().version(), version);
}

TEST_F(QueueSharesTest, WhoHasUsedLessOfItsShare) {
  add_node("n", 8);
  add_queue("a", 4);
  add_queue("b", 4);
  add_queue("c", 0);
  run(job("one", "a", 3, 1));
  run(job("two", "b", 2, 1));
  submit(job("three", "b", 2, 1));
  const Dominant a = dominant(state_, shares(), queue("a"));
  const Dominant b = dominant(state_, shares(), queue("b"));
  const Dominant c = dominant(state_, shares(), queue("c"));
  EXPECT_EQ(a.held, 3000);
  EXPECT_EQ(a.share, 3000);
  EXPECT_TRUE(used_less(b, a)) << "2 of 4 against 3 of 3";
  EXPECT_FALSE(used_less(a, b));
  EXPECT_TRUE(used_less(b, c)) << "who is due nothing has used up all of it";
}

}  // namespace
}  // namespace mainspring::policy
