// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mainspring/model/spec.h"

// The checker's own reading of what pods demand besides the amounts of a node: written from the
// specification, not from the core. Slow and plain.

namespace mainspring::sim {

struct PlacedPod {
  const model::PodShape* shape = nullptr;
  const model::NodeSpec* node = nullptr;
  bool stopping = false;
};

// Why one more pod of this shape may not go to this node, beside those that are placed; empty where
// it may. O(pods × lists).
[[nodiscard]] std::string why_not_beside(std::span<const PlacedPod> placed,
                                         const model::PodShape& shape, const model::NodeSpec& node);

// The same of the rules among pods. `nodes` are all that there are. O(nodes × pods × lists).
[[nodiscard]] std::string why_not_by_rules(std::span<const PlacedPod> placed,
                                           std::span<const model::NodeSpec* const> nodes,
                                           const model::PodShape& shape,
                                           const model::NodeSpec& node);

// Whether it demands anything of the first kind.
[[nodiscard]] bool demands_besides(const model::PodShape& shape);

}  // namespace mainspring::sim
