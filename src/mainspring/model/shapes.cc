// SPDX-License-Identifier: Apache-2.0
#include "mainspring/model/shapes.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "mainspring/base/check.h"

namespace mainspring::model {
namespace {

std::optional<int64_t> whole_number(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

const NodeLabel* label_of(const Node& node, NameIx key) {
  const auto found = std::ranges::lower_bound(node.labels, key, {}, &NodeLabel::key);
  return found != node.labels.end() && found->key == key ? &*found : nullptr;
}

bool named_as(const ShapeRequirement& need, const Node& node, const base::NameTable& names) {
  const bool listed = std::ranges::any_of(
      need.values, [&](NameIx value) { return names.name(value) == node.name; });
  return listed == (need.op == SelectorOp::kIn);
}

bool meets(const ShapeRequirement& need, const Node& node, const base::NameTable& names) {
  if (need.on_name) return named_as(need, node, names);
  const NodeLabel* label = label_of(node, need.key);
  const auto listed = [&] {
    return label != nullptr && std::ranges::find(need.values, label->value) != need.values.end();
  };
  switch (need.op) {
    case SelectorOp::kIn:
      return listed();
    case SelectorOp::kNotIn:
      return !listed();
    case SelectorOp::kExists:
      return label != nullptr;
    case SelectorOp::kDoesNotExist:
      return label == nullptr;
    case SelectorOp::kGt:
    case SelectorOp::kLt: {
      if (label == nullptr) return false;
      const auto value = whole_number(names.name(label->value));
      if (!value) return false;
      return need.op == SelectorOp::kGt ? *value > need.number : *value < need.number;
    }
  }
  return false;
}

bool tolerates(const ShapeToleration& toleration, const NodeTaint& taint) {
  if (!toleration.any_effect && toleration.effect != taint.effect) return false;
  if (toleration.any_key) return true;
  if (toleration.key != taint.key) return false;
  return toleration.exists || toleration.value == taint.value;
}

}  // namespace

bool labels_match(const Shape& shape, const Node& node, const base::NameTable& names) {
  const auto met = [&](const ShapeTerm& term) {
    return std::ranges::all_of(
        term, [&](const ShapeRequirement& need) { return meets(need, node, names); });
  };
  return met(shape.requirements) &&
         std::ranges::all_of(shape.choices, [&](const std::vector<ShapeTerm>& terms) {
           return std::ranges::any_of(terms, met);
         });
}

bool Shape::carries(TagIx tag) const { return std::ranges::binary_search(tags, tag); }

uint32_t rule_domain(const RuleLevel& level, const Node& node, uint32_t node_slot) {
  if (level.kind == RuleLevel::Kind::kNode) return node_slot;
  if (level.kind == RuleLevel::Kind::kCluster) return 0;
  const NodeLabel* label = label_of(node, level.label);
  return label == nullptr ? kNowhere : label->value;
}

int64_t others_fit(const Shape& shape, std::span<const OtherResource> others, int64_t limit) {
  for (const ShapeAmount& need : shape.others) {
    const auto there = std::ranges::lower_bound(others, need.name, {}, &OtherResource::name);
    const bool known = there != others.end() && there->name == need.name;
    limit = std::min(limit, known ? there->free() / need.amount : 0);
  }
  return limit;
}

bool volumes_fit(const Shape& shape, const Node& node) {
  for (const AttachmentLimit& limit : node.attachments_max) {
    int64_t more = 0;
    for (const AttachedVolume& one : shape.attachments) {
      if (one.driver != limit.driver) continue;
      more += std::ranges::binary_search(node.volumes, one, {}, &VolumeInUse::which) ? 0 : 1;
    }
    const auto attached = std::ranges::count_if(node.volumes, [&](const VolumeInUse& volume) {
      return volume.which.driver == limit.driver;
    });
    if (more > 0 && attached + more > limit.most) return false;
  }
  return true;
}

bool taints_tolerated(const Shape& shape, const Node& node) {
  return std::ranges::all_of(node.taints, [&](const NodeTaint& taint) {
    if (taint.effect == TaintEffect::kPreferNoSchedule) return true;
    return std::ranges::any_of(shape.tolerations, [&](const ShapeToleration& toleration) {
      return tolerates(toleration, taint);
    });
  });
}

}  // namespace mainspring::model
