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

bool meets(const ShapeRequirement& need, const NodeLabel* label, const base::NameTable& names) {
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
  return std::ranges::all_of(shape.requirements, [&](const ShapeRequirement& need) {
    return meets(need, label_of(node, need.key), names);
  });
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
