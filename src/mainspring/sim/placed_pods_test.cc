// SPDX-License-Identifier: Apache-2.0
// The checker's reading of demands besides amounts, and the core's, are the same.
#include "mainspring/sim/placed_pods.h"

#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "mainspring/model/random_specs_for_tests.h"
#include "mainspring/model/rule_view.h"
#include "mainspring/sim/checker.h"

namespace mainspring::sim {
namespace {

using model::ClusterState;

// A state of random nodes with random pods on them, and what it was made from.
class RandomCompany {
 public:
  explicit RandomCompany(uint64_t seed) : specs_(seed) {
    for (int i = 0; i < 6; ++i) {
      model::NodeSpec node = specs_.node();
      node.gpus.clear();
      nodes_[node.name] = node;
      apply(model::NodeChanged{node});
    }
    for (int i = 0; i < 6; ++i) add_pod("pod-" + std::to_string(i));
    for (const auto& [name, node] : nodes_) all_nodes_.push_back(&node);
    for (const model::Pod& pod : state_.pods()) {
      // Copied, since the state moves its own when it learns of another.
      shapes_.push_back(
          std::make_unique<model::PodShape>(state_.inventory().shape(pod.shape).spec));
      placed_.push_back({shapes_.back().get(), &nodes_.at(state_.inventory().node(pod.node).name),
                         pod.phase == model::PodPhase::kStopping});
    }
    state_.check();
  }

  model::PodShape shape() {
    model::PodShape shape = specs_.shape();
    shape.gpu = {};
    for (int more = 0; more < 2; ++more) {
      const model::PodRule rule = specs_.rule();
      if (shape.rules.empty() || shape.rules.back() < rule) shape.rules.push_back(rule);
    }
    return shape;
  }

  // Compares both readings for one more pod on each node; counts the answers.
  void compare(std::map<std::string, int>& answers) {
    const model::PodShape spec = shape();
    add_job("asks", spec);
    const model::ShapeIx index = state_.pod(state_.find_pod("asks")).shape;
    const model::Inventory& inventory = state_.inventory();
    const model::Shape& compiled = inventory.shape(index);
    model::RuleView rules;
    rules.begin(inventory, {&index, 1});
    for (const auto& [name, node] : nodes_) {
      const model::NodeIx at = inventory.find_node(name);
      const std::string by_rules = why_not_by_rules(placed_, all_nodes_, spec, node);
      ASSERT_EQ(rules.admits(index, at.slot), by_rules.empty()) << name << ": " << by_rules;
      const std::string besides = why_not_beside(placed_, spec, node);
      const model::Node& row = inventory.node(at);
      const bool fits = others_fit(compiled, row.others, 1) == 1 && volumes_fit(compiled, row);
      ASSERT_EQ(fits, besides.empty()) << name << ": " << besides;
      ++answers[by_rules.substr(0, 8)];
      ++answers[besides.substr(0, 8)];
    }
    apply(model::JobGone{"asks"});
  }

 private:
  void apply(model::EventBody body) {
    const auto done = state_.apply({.sequence = ++sequence_, .at = {}, .body = std::move(body)});
    ASSERT_TRUE(done.has_value()) << done.error().message;
  }
  void add_job(const std::string& id, const model::PodShape& shape) {
    apply(model::JobChanged{{.id = id,
                             .groups = {{.name = "all"}},
                             .shapes = {shape},
                             .pods = {{.id = id, .group = 0, .shape = 0}}}});
  }
  void add_pod(const std::string& id) {
    add_job(id, shape());
    auto node = nodes_.begin();
    std::advance(node, static_cast<int64_t>(specs_.rng().below(nodes_.size())));
    apply(model::PodFound{.pod = id, .node = node->first, .gpus = {}, .phase = 3});
    if (specs_.rng().chance(1, 4)) apply(model::PodStopping{id, 0});
  }

  model::RandomSpecs specs_;
  ClusterState state_;
  uint64_t sequence_ = 0;
  std::map<std::string, model::NodeSpec> nodes_;
  std::vector<const model::NodeSpec*> all_nodes_;
  std::vector<std::unique_ptr<model::PodShape>> shapes_;
  std::vector<PlacedPod> placed_;
};

TEST(PlacedPods, AreReadAsTheCoreReadsThem) {
  std::map<std::string, int> answers;
  for (uint64_t seed = 0; seed < 2'000; ++seed) {
    RandomCompany company(seed);
    for (int i = 0; i < 5; ++i) company.compare(answers);
    if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
  }
  // Each kind of answer is common: may, apart, near, spread; resources, volumes.
  EXPECT_EQ(answers.size(), 6U);
  for (const auto& [answer, times] : answers) EXPECT_GT(times, 1'000) << answer;
}

TEST(PlacedPods, ABindAgainstARuleIsReported) {
  Checker checker{1};
  uint64_t sequence = 0;
  const auto observe = [&](model::EventBody body) {
    checker.observe({.sequence = ++sequence, .at = {}, .body = std::move(body)}, true, {});
  };
  model::NodeSpec node{.name = "n"};
  node.allocatable.amounts = {8000, 8000, 0, 8};
  observe(model::NodeChanged{node});
  model::JobSpec job{.id = "j", .groups = {{.name = "all"}}, .shapes = {{}}};
  job.shapes[0].request.amounts = {1000, 0, 0, 1};
  job.shapes[0].tags = {"web"};
  job.shapes[0].rules = {{model::PodRuleKind::kApart, "web", model::kNodeLevel}};
  job.pods = {{.id = "a"}, {.id = "b"}};
  observe(model::JobChanged{job});
  model::Plan plan;
  plan.decisions.emplace_back(model::Bind{"j", {{"a", 0, "n", {}}, {"b", 0, "n", {}}}});
  checker.judge(plan, {});
  EXPECT_EQ(checker.count(Rule::kPodRules), 1);
  EXPECT_EQ(checker.violation_count(), 1);
}

}  // namespace
}  // namespace mainspring::sim
