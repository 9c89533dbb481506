// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/objects.h"

#include <algorithm>

#include "mainspring/base/check.h"

namespace mainspring::kube {
namespace {

bool holds(const model::NodeRequirement& requirement, const StringMap& labels) {
  const auto label = labels.find(requirement.key);
  const bool there = label != labels.end();
  const bool listed =
      there && std::ranges::find(requirement.values, label->second) != requirement.values.end();
  switch (requirement.op) {
    case model::SelectorOp::kIn:
      return listed;
    case model::SelectorOp::kNotIn:
      return !listed;
    case model::SelectorOp::kExists:
      return there;
    case model::SelectorOp::kDoesNotExist:
      return !there;
    case model::SelectorOp::kGt:
    case model::SelectorOp::kLt:
      break;
  }
  MAINSPRING_CHECK(false, "a label selector knows no order");
}

}  // namespace

bool matches(const LabelSelector& selector, const StringMap& labels) {
  if (selector.matches_nothing) return false;
  return std::ranges::all_of(selector.requirements, [&](const model::NodeRequirement& requirement) {
    return holds(requirement, labels);
  });
}

}  // namespace mainspring::kube
