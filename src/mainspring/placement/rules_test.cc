// SPDX-License-Identifier: Apache-2.0
// Rules among pods in the search: each kind alone, and small worlds against trying everything.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mainspring/base/rng.h"
#include "mainspring/placement/best_fit_scorer.h"
#include "mainspring/placement/diagnose.h"
#include "mainspring/placement/gang_search.h"
#include "mainspring/placement/small_cluster.h"

namespace mainspring::placement {
namespace {

using model::NodeTest;
using model::PodRule;
using model::PodRuleKind;
using model::PodShape;
using model::ReasonCode;
using model::Shortage;
using model::Verdict;
using model::VerdictKind;
using testing::Contains;

class RulesTest : public ::testing::Test {
 protected:
  Verdict place(const GangSpec& gang) {
    const model::JobIx job = cluster_.add_job(gang.spec());
    Verdict verdict;
    {
      model::Trial trial(cluster_.state());
      verdict = search_.place(trial, {.job = job, .when = {}, .grow = false});
      if (verdict.kind == VerdictKind::kNow) trial.commit();
    }
    cluster_.state().check();
    return diagnose(cluster_.state(), search_, job, verdict);
  }

  Verdict place(const std::string& id, int pods, const PodShape& shape) {
    GangSpec gang(id);
    gang.group(-1);
    gang.pods(0, pods, shape);
    return place(gang);
  }

  static PodShape tagged(const std::string& tag, std::vector<PodRule> rules = {}) {
    PodShape shape = SmallCluster::shape(1, 0);
    if (!tag.empty()) shape.tags = {tag};
    shape.rules = std::move(rules);
    return shape;
  }

  // How many pods of the job are on each node.
  std::map<std::string, int> where(const std::string& job) {
    std::map<std::string, int> nodes;
    const model::ClusterState& state = cluster_.state();
    for (const model::PodIx index : state.job(state.find_job(job)).pods) {
      if (state.pod(index).holds()) ++nodes[state.inventory().node(state.pod(index).node).name];
    }
    return nodes;
  }

  void add_zones(int nodes_of_each, int cpus = 64) {
    for (const char* zone : {"a", "b", "c"}) {
      for (int i = 0; i < nodes_of_each; ++i) {
        cluster_.add_node(zone + std::to_string(i), cpus, 0, {{"zone", zone}});
      }
    }
  }

  BestFitScorer scorer_;
  SmallCluster cluster_{std::vector<std::string>{}};
  GangSearch search_{scorer_};
};

TEST_F(RulesTest, AGangThatIsApartFromItselfTakesOneNodeForEachPod) {
  add_zones(1);
  const PodShape apart = tagged("web", {{PodRuleKind::kApart, "web", model::kNodeLevel}});
  const Verdict four = place("four", 4, apart);
  EXPECT_EQ(four.kind, VerdictKind::kNotNow);
  EXPECT_EQ(four.code, ReasonCode::kPodRules);
  EXPECT_EQ(place("three", 3, apart).kind, VerdictKind::kNow);
  EXPECT_EQ(where("three").size(), 3U);
  const Verdict one = place("one", 1, apart);
  EXPECT_EQ(one.code, ReasonCode::kPodRules);
  EXPECT_EQ(one.failed_nodes[static_cast<size_t>(NodeTest::kApart)], 3);
  EXPECT_THAT(one.nearest_miss.short_of, Contains(Shortage{"apart:web", 1}));
}

TEST_F(RulesTest, ApartHoldsForThoseThatComeLater) {
  add_zones(1);
  ASSERT_EQ(place("guard", 1, tagged("", {{PodRuleKind::kApart, "web", "zone"}})).kind,
            VerdictKind::kNow);
  ASSERT_EQ(place("web", 4, tagged("web")).kind, VerdictKind::kNow);
  const std::string guarded = where("guard").begin()->first;
  EXPECT_FALSE(where("web").contains(guarded));
}

TEST_F(RulesTest, TheFirstOfItsKindIsNearToNobody) {
  add_zones(2, 2);
  cluster_.add_node("nowhere", 64, 0);
  const PodShape near = tagged("web", {{PodRuleKind::kNear, "web", "zone"}});
  ASSERT_EQ(place("four", 4, near).kind, VerdictKind::kNow);
  const auto nodes = where("four");
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes.begin()->first[0], nodes.rbegin()->first[0]) << "one zone";
  EXPECT_EQ(place("fifth", 1, near).kind, VerdictKind::kNotNow) << "the zone is full";
  EXPECT_EQ(place("stranger", 1, tagged("", {{PodRuleKind::kNear, "db", "zone"}})).code,
            ReasonCode::kPodRules)
      << "it is not of that kind itself";
}

TEST_F(RulesTest, WhoFollowsIsPlacedAfterThoseItIsNearTo) {
  add_zones(1);
  GangSpec gang("gang");
  gang.group(-1);
  PodShape follower = tagged("", {{PodRuleKind::kNear, "leader", model::kNodeLevel}});
  follower.request[model::Resource::kCpuMilli] = 8 * kCpu;
  gang.pods(0, 2, follower);
  gang.pods(0, 1, tagged("leader"));
  ASSERT_EQ(place(gang).kind, VerdictKind::kNow);
  EXPECT_EQ(where("gang").size(), 1U);
}

TEST_F(RulesTest, SpreadPodsDifferByNoMoreThanTheSkew) {
  add_zones(2);
  const PodShape spread = tagged("web", {{PodRuleKind::kSpread, "web", "zone"}});
  ASSERT_EQ(place("seven", 7, spread).kind, VerdictKind::kNow);
  std::map<char, int> zones;
  for (const auto& [node, pods] : where("seven")) zones[node[0]] += pods;
  ASSERT_EQ(zones.size(), 3U);
  for (const auto& [zone, pods] : zones) EXPECT_THAT(pods, testing::AnyOf(2, 3)) << zone;
}

TEST_F(RulesTest, WithTooFewDomainsTheFewestIsNone) {
  add_zones(1);
  PodShape spread = tagged("web", {{PodRuleKind::kSpread, "web", "zone"}});
  spread.rules[0].min_domains = 4;
  ASSERT_EQ(place("three", 3, spread).kind, VerdictKind::kNow);
  const Verdict fourth = place("fourth", 1, spread);
  EXPECT_EQ(fourth.code, ReasonCode::kPodRules);
  EXPECT_EQ(fourth.failed_nodes[static_cast<size_t>(NodeTest::kSpread)], 3);
}

TEST_F(RulesTest, PodsThatStopCountForNearAndApartAndNotForSpread) {
  add_zones(1);
  ASSERT_EQ(place("old", 1, tagged("web")).kind, VerdictKind::kNow);
  const std::string node = where("old").begin()->first;
  cluster_.apply(model::PodStopping{"old-0", 0});
  cluster_.state().check();
  PodShape apart = tagged("", {{PodRuleKind::kApart, "web", "zone"}});
  ASSERT_EQ(place("apart", 3, apart).kind, VerdictKind::kNow);
  EXPECT_FALSE(where("apart").contains(node));
  PodShape near = tagged("", {{PodRuleKind::kNear, "web", "zone"}});
  ASSERT_EQ(place("near", 1, near).kind, VerdictKind::kNow);
  EXPECT_TRUE(where("near").contains(node));
  const PodShape spread = tagged("web", {{PodRuleKind::kSpread, "web", "zone"}});
  EXPECT_EQ(place("spread", 3, spread).kind, VerdictKind::kNotNow)
      << "the guards keep the tag out of the other zones";
  cluster_.apply(model::JobGone{"apart"});
  for (int i = 0; i < 3; ++i) {
    cluster_.apply(model::PodGone{"apart-" + std::to_string(i), 0, model::PodEnd::kRemoved});
  }
  ASSERT_EQ(place("spread-2", 3, spread).kind, VerdictKind::kNow);
  EXPECT_EQ(where("spread-2").size(), 3U) << "the one that stops does not count";
}

TEST_F(RulesTest, TagsOfAPodThatHoldsAPlaceCanChange) {
  add_zones(1);
  GangSpec gang("web");
  gang.group(-1);
  gang.pods(0, 1, tagged("web"));
  ASSERT_EQ(place(gang).kind, VerdictKind::kNow);
  const PodShape apart = tagged("", {{PodRuleKind::kApart, "db", model::kClusterLevel}});
  model::JobSpec changed = gang.spec();
  changed.shapes[0].tags = {"db"};
  cluster_.apply(model::JobChanged{changed});
  cluster_.state().check();
  EXPECT_EQ(place("apart", 1, apart).code, ReasonCode::kPodRules);
  changed.shapes[0].tags = {};
  cluster_.apply(model::JobChanged{changed});
  EXPECT_EQ(place("apart-2", 1, apart).kind, VerdictKind::kNow);
}

// The plain truth: pods of two shapes in the order of the search, heavier first, on every node.
class Truth {
 public:
  struct Node {
    std::optional<char> zone;
    int cpus = 0;
  };
  struct Pod {
    const PodShape* shape = nullptr;
    size_t node = 0;
  };

  Truth(std::vector<Node> nodes, std::vector<const PodShape*> pods)
      : nodes_(std::move(nodes)), pods_(std::move(pods)) {}

  void put(const PodShape* shape, size_t node) { placed_.push_back({shape, node}); }
  bool feasible(size_t pod = 0) {
    if (pod == pods_.size()) return true;
    for (size_t node = 0; node < nodes_.size(); ++node) {
      if (!room(*pods_[pod], node) || !obeys(*pods_[pod], node)) continue;
      placed_.push_back({pods_[pod], node});
      const bool found = feasible(pod + 1);
      placed_.pop_back();
      if (found) return true;
    }
    return false;
  }

 private:
  static bool carries(const PodShape& shape, const std::string& tag) {
    return std::ranges::find(shape.tags, tag) != shape.tags.end();
  }
  // Empty: in none.
  [[nodiscard]] std::string domain(const std::string& level, size_t node) const {
    if (level == model::kClusterLevel) return "all";
    if (level == model::kNodeLevel) return "n" + std::to_string(node);
    return nodes_[node].zone ? std::string(1, *nodes_[node].zone) : "";
  }
  [[nodiscard]] bool room(const PodShape& shape, size_t node) const {
    int64_t used = shape.request[model::Resource::kCpuMilli];
    for (const Pod& pod : placed_) {
      if (pod.node == node) used += pod.shape->request[model::Resource::kCpuMilli];
    }
    return used <= nodes_[node].cpus * kCpu;
  }
  [[nodiscard]] bool close(const std::string& level, size_t one, size_t other) const {
    return !domain(level, one).empty() && domain(level, one) == domain(level, other);
  }

  [[nodiscard]] bool obeys(const PodShape& shape, size_t node) const {
    bool near = true;
    bool first = true;
    for (const PodRule& rule : shape.rules) {
      if (rule.kind == PodRuleKind::kSpread && !evenly(shape, rule, node)) return false;
      bool there = false;
      bool anywhere = false;
      for (const Pod& pod : placed_) {
        if (!carries(*pod.shape, rule.tag)) continue;
        there = there || close(rule.level, pod.node, node);
        anywhere = anywhere || !domain(rule.level, pod.node).empty();
      }
      if (rule.kind == PodRuleKind::kApart && there) return false;
      if (rule.kind != PodRuleKind::kNear) continue;
      if (domain(rule.level, node).empty()) return false;
      near = near && there;
      first = first && !anywhere && carries(shape, rule.tag);
    }
    for (const Pod& pod : placed_) {
      for (const PodRule& rule : pod.shape->rules) {
        if (rule.kind == PodRuleKind::kApart && carries(shape, rule.tag) &&
            close(rule.level, pod.node, node)) {
          return false;
        }
      }
    }
    return near || first;
  }

  [[nodiscard]] bool evenly(const PodShape& shape, const PodRule& rule, size_t node) const {
    if (domain(rule.level, node).empty()) return false;
    std::map<std::string, int> counts;
    const auto counts_here = [&](size_t at) {
      return std::ranges::none_of(shape.rules, [&](const PodRule& other) {
        return other.kind == PodRuleKind::kSpread && domain(other.level, at).empty();
      });
    };
    for (size_t at = 0; at < nodes_.size(); ++at) {
      if (counts_here(at)) counts[domain(rule.level, at)];
    }
    for (const Pod& pod : placed_) {
      if (carries(*pod.shape, rule.tag) && counts_here(pod.node)) {
        ++counts[domain(rule.level, pod.node)];
      }
    }
    int fewest = counts.size() < static_cast<size_t>(rule.min_domains) ? 0 : INT32_MAX;
    for (const auto& [name, pods] : counts) fewest = std::min(fewest, pods);
    const int there = counts[domain(rule.level, node)] + (carries(shape, rule.tag) ? 1 : 0);
    return there - fewest <= rule.max_skew;
  }

  std::vector<Node> nodes_;
  std::vector<const PodShape*> pods_;
  std::vector<Pod> placed_;
};

PodShape random_shape(base::Rng& rng) {
  PodShape shape = SmallCluster::shape(1, 0);
  for (const char* tag : {"blue", "red"}) {
    if (rng.chance(1, 2)) shape.tags.emplace_back(tag);
  }
  std::set<PodRule> rules;
  for (size_t i = rng.below(3); i > 0; --i) {
    PodRule rule{.kind = static_cast<PodRuleKind>(rng.below(3)),
                 .tag = rng.chance(1, 2) ? "blue" : "red",
                 .level = rng.chance(1, 2) ? "zone" : "node"};
    if (rng.chance(1, 8)) rule.level = model::kClusterLevel;
    if (rule.kind == PodRuleKind::kSpread && rng.chance(1, 4)) rule.max_skew = 2;
    if (rule.kind == PodRuleKind::kSpread && rng.chance(1, 4)) rule.min_domains = 3;
    rules.insert(rule);
  }
  shape.rules.assign(rules.begin(), rules.end());
  return shape;
}

TEST(RulesSmallWorlds, ANoIsExact) {
  base::Rng rng(20261204);
  int feasible = 0;
  int impossible = 0;
  for (int world = 0; world < 20'000; ++world) {
    SmallCluster cluster{std::vector<std::string>{}};
    std::vector<Truth::Node> nodes;
    for (size_t i = 2 + rng.below(3); i > 0; --i) {
      Truth::Node node{.zone = std::nullopt, .cpus = static_cast<int>(rng.between(1, 2))};
      if (!rng.chance(1, 6)) node.zone = static_cast<char>('a' + rng.below(2));
      std::vector<model::Label> labels;
      if (node.zone) labels.push_back({"zone", std::string(1, *node.zone)});
      cluster.add_node("n" + std::to_string(nodes.size()), node.cpus, 0, labels);
      nodes.push_back(node);
    }
    // One runs already; of the gang, one shape is placed after the other.
    const PodShape before = random_shape(rng);
    const PodShape one = random_shape(rng);
    const bool pair = rng.chance(1, 2);
    const auto count = static_cast<int>(rng.between(1, 3));
    std::vector<const PodShape*> pods(static_cast<size_t>(count), &one);
    const PodShape other = random_shape(rng);
    const bool follows = std::ranges::any_of(one.rules, [&](const PodRule& rule) {
      return rule.kind == PodRuleKind::kNear &&
             std::ranges::find(one.tags, rule.tag) == one.tags.end();
    });
    const bool other_follows = std::ranges::any_of(other.rules, [&](const PodRule& rule) {
      return rule.kind == PodRuleKind::kNear &&
             std::ranges::find(other.tags, rule.tag) == other.tags.end();
    });
    // Equal in weight, the later one is placed first, unless only it has to follow.
    if (pair && other != one) {
      const bool first = !other_follows || follows;
      pods.insert(first ? pods.begin() : pods.end(), &other);
    }
    Truth truth(nodes, pods);
    cluster.add_job({.id = "before",
                     .groups = {{.name = "all"}},
                     .shapes = {before},
                     .pods = {{.id = "before", .group = 0, .shape = 0}}});
    cluster.apply(model::PodFound{.pod = "before", .node = "n0", .gpus = {}, .phase = 3});
    truth.put(&before, 0);
    GangSpec gang("gang");
    gang.group(-1);
    gang.pods(0, count, one);
    if (pods.size() > static_cast<size_t>(count)) gang.pods(0, 1, other);
    const model::JobIx job = cluster.add_job(gang.spec());
    const BestFitScorer scorer;
    GangSearch search(scorer);
    model::Trial trial(cluster.state());
    const Verdict verdict = search.place(trial, {.job = job, .when = {}, .grow = false});
    const bool expected = truth.feasible();
    ASSERT_EQ(verdict.kind == VerdictKind::kNow, expected) << "world " << world;
    ++(expected ? feasible : impossible);
  }
  EXPECT_GT(feasible, 4000);
  EXPECT_GT(impossible, 4000);
}

}  // namespace
}  // namespace mainspring::placement
