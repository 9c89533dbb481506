// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/placed_pods.h"

#include <algorithm>
#include <map>
#include <set>

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

}  // namespace

bool demands_besides(const PodShape& shape) {
  return !shape.others.empty() || !shape.attachments.empty();
}

std::string why_not_beside(std::span<const PlacedPod> placed, const PodShape& shape,
                           const NodeSpec& node) {
  std::string why = lacking_resource(placed, shape, node);
  return why.empty() ? too_many_volumes(placed, shape, node) : why;
}

}  // namespace mainspring::sim
