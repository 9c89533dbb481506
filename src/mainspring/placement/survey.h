// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mainspring/model/rule_view.h"
#include "mainspring/placement/gang_need.h"
#include "mainspring/placement/node_look.h"

// All nodes against the pods of one class.

namespace mainspring::placement {

struct Survey {
  static constexpr uint32_t kNone = UINT32_MAX;

  model::NodeTestCounts failed{};
  int64_t nodes = 0;           // listed ones
  int64_t capable = 0;         // could take a pod if empty and available
  int64_t capable_usable = 0;  // of these, available
  int64_t takes_now = 0;       // take a pod now
  // The barrier that the nodes that came furthest met; meaningful when nobody is capable.
  model::NodeTest barrier = model::NodeTest::kUnavailable;
  uint32_t nearest = kNone;  // slot of the node that is nearest to taking a pod
  Deficit deficit;
  // What the capable and usable nodes have free together.
  model::Resources free;
  int64_t free_devices = 0;  // that could serve the shape
  int64_t free_share = 0;    // milli or bytes, as the shape asks
  // Pods by node slot, filled when asked for: now (usable nodes), and emptied (all nodes).
  std::vector<int64_t> fit_now;
  std::vector<int64_t> fit_emptied;
};

// What the rules among pods say now, of single pods. Of gangs only what no other pod of the gang
// can change: that others are too close.
struct RulesNow {
  const model::RuleView& rules;
  bool gang = false;
};
std::optional<model::RuleView::Refusal> refused_by_rules(const RulesNow& now, model::ShapeIx shape,
                                                         uint32_t node_slot);

// O(nodes × devices).
Survey survey(const model::Inventory& inventory, const PodClass& pods, const RulesNow& now,
              bool count_fits);

// Whether together they have what one pod asks for, though no node may.
bool enough_in_sum(const Survey& survey, const model::Shape& shape);

}  // namespace mainspring::placement
