// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/survey.h"

#include <algorithm>

#include "mainspring/placement/node_fit.h"

namespace mainspring::placement {
namespace {

using model::Node;
using model::NodeTest;
using model::Shape;

// The order of nearness: nodes that only need room, then those that also need to be made available,
// then the others by how far they came.
int32_t tier_of(const Node& node, const NodeLook& look) {
  if (!look.barrier) return node.usable() ? 0 : 1;
  return 2 + static_cast<int32_t>(model::kNodeTestCount) - static_cast<int32_t>(*look.barrier);
}

NodeTest test_of(model::PodRuleKind kind) {
  switch (kind) {
    case model::PodRuleKind::kNear:
      return NodeTest::kNear;
    case model::PodRuleKind::kApart:
      return NodeTest::kApart;
    case model::PodRuleKind::kSpread:
      break;
  }
  return NodeTest::kSpread;
}

void add_free(const Node& node, const NodeLook& look, Survey& out) {
  out.free += free_resources(node);
  out.free_devices += look.free_devices;
  out.free_share += look.free_share;
}

}  // namespace

std::optional<model::RuleView::Refusal> refused_by_rules(const RulesNow& now, model::ShapeIx shape,
                                                         uint32_t node_slot) {
  if (!now.rules.any()) return std::nullopt;
  const auto refusal = now.rules.refuses(shape, node_slot);
  if (now.gang && refusal && refusal->kind != model::PodRuleKind::kApart) return std::nullopt;
  return refusal;
}

Survey survey(const model::Inventory& inventory, const PodClass& pods, const RulesNow& now,
              bool count_fits) {
  const Shape& shape = inventory.shape(pods.shape);
  Survey out;
  if (count_fits) {
    out.fit_now.assign(inventory.nodes().size(), 0);
    out.fit_emptied.assign(inventory.nodes().size(), 0);
  }
  int32_t nearest_tier = INT32_MAX;
  for (const uint32_t slot : inventory.nodes_by_rank()) {
    const Node& node = inventory.nodes()[slot];
    if (!node.listed) continue;
    ++out.nodes;
    NodeLook look = look_at(inventory, node, shape, pods.levels);
    if (!look.first_failed) {
      const auto refusal = refused_by_rules(now, pods.shape, slot);
      if (refusal) look.first_failed = test_of(refusal->kind);
    }
    if (look.first_failed) {
      ++out.failed[static_cast<size_t>(*look.first_failed)];
    } else {
      ++out.takes_now;
    }
    if (look.barrier) {
      out.barrier = std::max(out.barrier, *look.barrier);
    } else {
      ++out.capable;
      if (node.usable()) {
        ++out.capable_usable;
        add_free(node, look, out);
      }
      if (count_fits) {
        out.fit_emptied[slot] = fit_count_emptied(node, shape);
        if (!look.first_failed) out.fit_now[slot] = fit_count(shape, node, INT32_MAX);
      }
    }
    const int32_t tier = tier_of(node, look);
    if (tier < nearest_tier || (tier == nearest_tier && look.deficit < out.deficit)) {
      nearest_tier = tier;
      out.deficit = look.deficit;
      out.nearest = slot;
    }
  }
  return out;
}

bool enough_in_sum(const Survey& survey, const Shape& shape) {
  if (!shape.request.within(survey.free)) return false;
  if (shape.gpu_count == 0) return true;
  if (shape.whole) return survey.free_devices >= shape.gpu_count;
  const int64_t share = shape.gpu_memory_bytes > 0 ? shape.gpu_memory_bytes : shape.gpu_milli;
  return survey.free_share / share >= shape.gpu_count;
}

}  // namespace mainspring::placement
