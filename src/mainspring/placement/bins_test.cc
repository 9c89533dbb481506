// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/bins.h"

#include <string>

#include <gtest/gtest.h>

#include "mainspring/placement/small_cluster.h"

namespace mainspring::placement {
namespace {

model::ShapeIx shape_in(SmallCluster& cluster, const model::PodShape& shape) {
  GangSpec gang("asks");
  gang.group(-1);
  gang.pods(0, 1, shape);
  const model::JobIx job = cluster.add_job(gang.spec());
  return cluster.state().pod(cluster.state().job(job).pods[0]).shape;
}

class BinsTest : public ::testing::Test {
 protected:
  BinsTest() {
    for (int i = 0; i < 4; ++i) {
      cluster_.add_node("n" + std::to_string(i), 8, 2, {{"rack", std::to_string(i / 2)}});
    }
    rack_ = inventory().find_level("rack");
  }

  const model::Inventory& inventory() { return cluster_.state().inventory(); }
  uint32_t slot(const std::string& name) { return inventory().find_node(name).slot; }

  SmallCluster cluster_;
  model::LevelIx rack_;
  Bins bins_;
};

TEST_F(BinsTest, UndoRestoresNodesDomainsAndHash) {
  const model::ShapeIx index = shape_in(cluster_, cluster_.shape(3, 1, 500));
  const model::Shape& shape = inventory().shape(index);
  bins_.begin(inventory(), {.levels = {&rack_, 1}});
  const model::DomainIx domain = inventory().nodes()[slot("n0")].domains[rack_.slot];
  const model::Free node_before = bins_.free(slot("n0"));
  const model::Free domain_before = bins_.domain_free(domain);
  const uint64_t hash = bins_.hash();
  const uint64_t key = bins_.key(slot("n0"));
  const Bins::Mark mark = bins_.mark();
  bins_.take(slot("n0"), shape, 2);
  bins_.take_device(slot("n0"), shape, 1, 2);
  EXPECT_EQ(bins_.free(slot("n0")).resources[model::Resource::kCpuMilli], 2 * kCpu);
  EXPECT_EQ(bins_.free(slot("n0")).gpus, 1);
  EXPECT_EQ(bins_.domain_free(domain).gpus, 3);
  EXPECT_EQ(bins_.domain_free(domain).gpu_milli, 3'000);
  EXPECT_NE(bins_.hash(), hash);
  bins_.undo(mark);
  EXPECT_EQ(bins_.free(slot("n0")), node_before);
  EXPECT_EQ(bins_.domain_free(domain), domain_before);
  EXPECT_EQ(bins_.hash(), hash);
  EXPECT_EQ(bins_.key(slot("n0")), key);
  EXPECT_EQ(inventory().node(inventory().find_node("n0")).free, node_before);
}

TEST_F(BinsTest, NodesAreAlikeWithinADomainOnly) {
  bins_.begin(inventory(), {.levels = {&rack_, 1}});
  EXPECT_EQ(bins_.key(slot("n0")), bins_.key(slot("n1")));
  EXPECT_NE(bins_.key(slot("n0")), bins_.key(slot("n2")));
  EXPECT_EQ(bins_.key_without(slot("n0"), rack_), bins_.key_without(slot("n2"), rack_));
  const uint32_t named = slot("n1");
  bins_.begin(inventory(), {.levels = {&rack_, 1}, .named = {&named, 1}});
  EXPECT_NE(bins_.key(slot("n0")), bins_.key(slot("n1")));
}

TEST_F(BinsTest, WhichOfTwoLikeNodesIsTakenMakesNoDifferenceToTheHash) {
  const model::ShapeIx index = shape_in(cluster_, cluster_.shape(3, 1));
  const model::Shape& shape = inventory().shape(index);
  bins_.begin(inventory(), {.levels = {&rack_, 1}});
  const Bins::Mark mark = bins_.mark();
  bins_.take(slot("n0"), shape, 1);
  bins_.take_device(slot("n0"), shape, 0, 1);
  const uint64_t hash = bins_.hash();
  bins_.undo(mark);
  bins_.take(slot("n1"), shape, 1);
  bins_.take_device(slot("n1"), shape, 1, 1);
  EXPECT_EQ(bins_.hash(), hash);
}

}  // namespace
}  // namespace mainspring::placement
