// SPDX-License-Identifier: Apache-2.0
#include "mainspring/model/pod_shape.h"

#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mainspring/model/inventory.h"

namespace mainspring::model {
namespace {

using testing::HasSubstr;

PodShape one_pod() {
  PodShape shape;
  shape.request.amounts = {1000, 0, 0, 1};
  return shape;
}

struct Refusal {
  const char* why;
  std::function<void(PodShape&)> spoil;
};

TEST(PodShapeTest, RefusesByNameWhatNoLaterStepCouldUse) {
  const Refusal refusals[] = {
      {"others is not sorted", [](auto& s) { s.others = {{"b", 1}, {"a", 1}}; }},
      {"others is not sorted", [](auto& s) { s.others = {{"a", 1}, {"a", 2}}; }},
      {"others of a is not in 1..2^43 (0)", [](auto& s) { s.others = {{"a", 0}}; }},
      {"others of a is not in", [](auto& s) { s.others = {{"a", int64_t{1} << 44}}; }},
      {"others.name is empty", [](auto& s) { s.others = {{"", 1}}; }},
      {"node_choices.key is empty", [](auto& s) { s.node_choices = {{{{{.key = ""}}}}}; }},
      {"node_choices.values of zone is empty",
       [](auto& s) { s.node_choices = {{{{{.key = "zone"}}}}}; }},
      {"@name goes with In and NotIn only",
       [](auto& s) { s.node_requirements = {{kNodeNameKey, SelectorOp::kExists, {}}}; }},
      {"tags is not sorted", [](auto& s) { s.tags = {"b", "a"}; }},
      {"tags has an empty entry", [](auto& s) { s.tags = {""}; }},
      {"tags has a control character", [](auto& s) { s.tags = {"a\x1f"}; }},
      {"tags is longer", [](auto& s) { s.tags = {std::string(5'000, 'a')}; }},
      {"rules.tag is empty", [](auto& s) { s.rules = {{PodRuleKind::kNear, "", "zone"}}; }},
      {"rules.max_skew is below 1",
       [](auto& s) { s.rules = {{PodRuleKind::kSpread, "a", "zone", 0}}; }},
      {"rules.min_domains is below 1",
       [](auto& s) { s.rules = {{PodRuleKind::kSpread, "a", "zone", 1, 0}}; }},
      {"of spread rules only", [](auto& s) { s.rules = {{PodRuleKind::kNear, "a", "zone", 2}}; }},
      {"rules is not sorted",
       [](auto& s) { s.rules.assign(2, {PodRuleKind::kApart, "a", "zone"}); }},
      {"attachments has more than 1,000",
       [](auto& s) { s.attachments.assign(1'001, {"driver", "volume"}); }},
      {"attachments is not sorted", [](auto& s) { s.attachments.assign(2, {"driver", "volume"}); }},
      {"attachments.driver is empty", [](auto& s) { s.attachments = {{"", "volume"}}; }},
      {"attachments.volume is empty", [](auto& s) { s.attachments = {{"driver", ""}}; }},
  };
  ASSERT_TRUE(validate(one_pod()).has_value());
  for (const Refusal& refusal : refusals) {
    PodShape shape = one_pod();
    refusal.spoil(shape);
    const auto done = validate(shape);
    ASSERT_FALSE(done.has_value()) << refusal.why;
    EXPECT_THAT(done.error().message, HasSubstr(refusal.why));
  }
}

class ShapeOnNode : public ::testing::Test {
 protected:
  const Node& put(const std::string& name, const std::vector<Label>& labels,
                  std::vector<NamedAmount> others = {}, std::vector<NamedAmount> limits = {}) {
    NodeSpec spec{.name = name, .labels = labels};
    spec.allocatable.amounts = {8000, 1 << 20, 0, 8};
    spec.others = std::move(others);
    spec.attachments_max = std::move(limits);
    node_ = inventory_.put_node(spec).value();
    return inventory_.node(node_);
  }
  const Shape& shape(const PodShape& spec) {
    return inventory_.shape(inventory_.intern_shape(spec));
  }

  Inventory inventory_;
  NodeIx node_;
};

TEST_F(ShapeOnNode, MeetsEveryChoiceByOneTermOfIt) {
  PodShape spec = one_pod();
  spec.node_choices = {
      {{{{"disk", SelectorOp::kExists, {}}}, {{"zone", SelectorOp::kIn, {"a"}}}}},
      {{{{"zone", SelectorOp::kIn, {"a"}}, {"disk", SelectorOp::kDoesNotExist, {}}}}}};
  const auto match = [&](const std::vector<Label>& labels) {
    const Node& node = put("n", labels);
    return labels_match(shape(spec), node, inventory_.names());
  };
  EXPECT_TRUE(match({{"zone", "a"}}));
  EXPECT_FALSE(match({{"zone", "a"}, {"disk", "ssd"}}));
  EXPECT_FALSE(match({{"disk", "ssd"}}));
  EXPECT_FALSE(match({}));
  spec.node_choices = {{}};
  EXPECT_FALSE(match({{"zone", "a"}})) << "a choice of nothing";
}

TEST_F(ShapeOnNode, IsAskedForByItsOwnName) {
  PodShape spec = one_pod();
  spec.node_requirements = {{kNodeNameKey, SelectorOp::kIn, {"n1", "n2"}}};
  EXPECT_TRUE(labels_match(shape(spec), put("n2", {}), inventory_.names()));
  EXPECT_FALSE(labels_match(shape(spec), put("n3", {{"n3", "n2"}}), inventory_.names()));
  spec.node_requirements.front().op = SelectorOp::kNotIn;
  EXPECT_FALSE(labels_match(shape(spec), put("n1", {}), inventory_.names()));
  EXPECT_TRUE(labels_match(shape(spec), put("n3", {}), inventory_.names()));
}

TEST_F(ShapeOnNode, CountsOtherResourcesAndGivesThemBack) {
  PodShape spec = one_pod();
  spec.others = {{"hca", 2}};
  const ShapeIx index = inventory_.intern_shape(spec);
  put("n", {}, {{"hca", 5}});
  EXPECT_EQ(others_fit(inventory_.shape(index), inventory_.node(node_).others, 9), 2);
  inventory_.take(node_, index, 0);
  EXPECT_EQ(others_fit(inventory_.shape(index), inventory_.node(node_).others, 9), 1);
  // The node has fewer from now on, and then none: what is held stays booked.
  put("n", {}, {{"hca", 3}});
  EXPECT_EQ(others_fit(inventory_.shape(index), inventory_.node(node_).others, 9), 0);
  put("n", {});
  const uint64_t gains = inventory_.gains();
  inventory_.give_back(node_, index, 0);
  EXPECT_GT(inventory_.gains(), gains);
  EXPECT_TRUE(inventory_.node(node_).others.empty());
}

TEST_F(ShapeOnNode, CountsVolumesOnceHoweverManyPodsShareThem) {
  const auto with = [](std::vector<Attachment> attachments) {
    PodShape spec = one_pod();
    spec.attachments = std::move(attachments);
    return spec;
  };
  const ShapeIx two = inventory_.intern_shape(with({{"disk", "a"}, {"disk", "b"}}));
  const ShapeIx other = inventory_.intern_shape(with({{"disk", "c"}}));
  const ShapeIx free = inventory_.intern_shape(with({{"tape", "c"}}));
  put("n", {}, {}, {{"disk", 2}});
  const auto fit = [&](ShapeIx index) {
    return volumes_fit(inventory_.shape(index), inventory_.node(node_));
  };
  EXPECT_TRUE(fit(two));
  inventory_.take(node_, two, 0);
  EXPECT_TRUE(fit(two)) << "its volumes are there";
  EXPECT_FALSE(fit(other));
  EXPECT_TRUE(fit(free)) << "no limit is known for the driver";
  inventory_.take(node_, two, 0);
  inventory_.give_back(node_, two, 0);
  EXPECT_FALSE(fit(other)) << "one pod still uses them";
  inventory_.give_back(node_, two, 0);
  EXPECT_TRUE(fit(other));
}

}  // namespace
}  // namespace mainspring::model
