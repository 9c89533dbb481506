// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/placed_pods.h"

#include <algorithm>
#include <map>
#include <set>

#include "mainspring/sim/gang_tree.h"

namespace mainspring::sim {
namespace {

using model::NodeSpec;
using model::PodShape;

std::string lacking_resource(std::span<const PlacedPod> placed, const PodShape& shape,
                             const NodeSpec& node) {
  std::map<std::string, int64_t> free;
  for (const model::NamedAmount& other : node.others) free[other.name] += other.amount;
  for (const PlacedPod& pod : placed) {
    if (pod.node != &node) continue;
    for (const model::NamedAmount& other : pod.shape->others) free[other.name] -= other.amount;
  }
  for (const model::NamedAmount& other : shape.others) {
    if (free[other.name] < other.amount) return "too little of " + other.name + " is free";
  }
  return {};
}

std::string too_many_volumes(std::span<const PlacedPod> placed, const PodShape& shape,
                             const NodeSpec& node) {
  for (const model::NamedAmount& limit : node.attachments_max) {
    std::set<std::string> volumes;
    const auto attach = [&](const PodShape& pod) {
      for (const model::Attachment& one : pod.attachments) {
        if (one.driver == limit.name) volumes.insert(one.volume);
      }
    };
    for (const PlacedPod& pod : placed) {
      if (pod.node == &node) attach(*pod.shape);
    }
    const size_t before = volumes.size();
    attach(shape);
    const auto after = static_cast<int64_t>(volumes.size());
    if (volumes.size() > before && after > limit.amount) return "too many volumes of " + limit.name;
  }
  return {};
}

bool carries(const PodShape& shape, const std::string& tag) {
  return std::ranges::find(shape.tags, tag) != shape.tags.end();
}

// Empty: in none.
std::string domain_at(const std::string& level, const NodeSpec& node) {
  if (level == model::kClusterLevel) return "all";
  if (level == model::kNodeLevel) return "node " + node.name;
  const auto label = std::ranges::find(node.labels, level, &model::Label::key);
  return label == node.labels.end() ? std::string() : "value " + label->value;
}

bool same_domain(const std::string& level, const NodeSpec& one, const NodeSpec& other) {
  const std::string domain = domain_at(level, one);
  return !domain.empty() && domain == domain_at(level, other);
}

bool too_close(std::span<const PlacedPod> placed, const PodShape& shape, const NodeSpec& node) {
  const auto apart = [](const PodShape& guard, const PodShape& from, const NodeSpec& one,
                        const NodeSpec& other) {
    return std::ranges::any_of(guard.rules, [&](const model::PodRule& rule) {
      return rule.kind == model::PodRuleKind::kApart && carries(from, rule.tag) &&
             same_domain(rule.level, one, other);
    });
  };
  return std::ranges::any_of(placed, [&](const PlacedPod& pod) {
    return apart(shape, *pod.shape, node, *pod.node) || apart(*pod.shape, shape, *pod.node, node);
  });
}

bool too_far(std::span<const PlacedPod> placed, const PodShape& shape, const NodeSpec& node) {
  bool near = true;
  bool first = true;
  for (const model::PodRule& rule : shape.rules) {
    if (rule.kind != model::PodRuleKind::kNear) continue;
    if (domain_at(rule.level, node).empty()) return true;
    const auto there = [&](const PlacedPod& pod) {
      return carries(*pod.shape, rule.tag) && same_domain(rule.level, *pod.node, node);
    };
    const auto anywhere = [&](const PlacedPod& pod) {
      return carries(*pod.shape, rule.tag) && !domain_at(rule.level, *pod.node).empty();
    };
    near = near && std::ranges::any_of(placed, there);
    first = first && carries(shape, rule.tag) && std::ranges::none_of(placed, anywhere);
  }
  return !near && !first;
}

// Whether the node counts where this rule of the pod counts.
bool counts_for(const model::PodRule& rule, const PodShape& shape, const NodeSpec& node) {
  for (const model::PodRule& other : shape.rules) {
    if (other.kind == model::PodRuleKind::kSpread && domain_at(other.level, node).empty()) {
      return false;
    }
  }
  NodeSpec bare = node;
  if (!rule.honor_taints) bare.taints.clear();
  PodShape asks = shape;
  if (!rule.honor_requirements) {
    asks.node_requirements.clear();
    asks.node_choices.clear();
  }
  return node_admits(bare, asks);
}

bool too_uneven(std::span<const PlacedPod> placed, std::span<const NodeSpec* const> nodes,
                const PodShape& shape, const NodeSpec& node, const model::PodRule& rule) {
  const std::string domain = domain_at(rule.level, node);
  if (domain.empty()) return true;
  std::map<std::string, int64_t> pods;
  for (const NodeSpec* one : nodes) {
    if (counts_for(rule, shape, *one)) pods[domain_at(rule.level, *one)] += 0;
  }
  for (const PlacedPod& pod : placed) {
    if (pod.stopping || !carries(*pod.shape, rule.tag)) continue;
    if (counts_for(rule, shape, *pod.node)) ++pods[domain_at(rule.level, *pod.node)];
  }
  int64_t fewest = std::ssize(pods) < rule.min_domains ? 0 : INT64_MAX;
  for (const auto& [name, count] : pods) fewest = std::min(fewest, count);
  return pods[domain] + (carries(shape, rule.tag) ? 1 : 0) - fewest > rule.max_skew;
}

}  // namespace

std::string why_not_by_rules(std::span<const PlacedPod> placed,
                             std::span<const NodeSpec* const> nodes, const PodShape& shape,
                             const NodeSpec& node) {
  if (too_close(placed, shape, node)) return "pods that must be apart are too close";
  if (too_far(placed, shape, node)) return "no pod is near that it must be near to";
  for (const model::PodRule& rule : shape.rules) {
    if (rule.kind == model::PodRuleKind::kSpread && too_uneven(placed, nodes, shape, node, rule)) {
      return "pods with the tag " + rule.tag + " are spread too unevenly";
    }
  }
  return {};
}

bool demands_besides(const PodShape& shape) {
  return !shape.others.empty() || !shape.attachments.empty();
}

std::string why_not_beside(std::span<const PlacedPod> placed, const PodShape& shape,
                           const NodeSpec& node) {
  std::string why = lacking_resource(placed, shape, node);
  return why.empty() ? too_many_volumes(placed, shape, node) : why;
}

}  // namespace mainspring::sim
