// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mainspring/model/inventory.h"
#include "mainspring/model/verdict.h"

// One node against one pod, for explanations: the first test that the node fails, whether it could
// take the pod if it were empty, and how far it is from taking it. O(devices + labels) per call.

namespace mainspring::placement {

// What is missing for one pod, devices first: of two nodes the one with the smaller deficit is the
// nearer miss.
struct Deficit {
  int64_t gpus = 0;              // whole devices
  int64_t gpu_milli = 0;         // of shares, over the devices that come closest
  int64_t gpu_memory_bytes = 0;  // the same for shares by memory
  model::Resources resources;

  friend constexpr auto operator<=>(const Deficit&, const Deficit&) = default;
};

struct NodeLook {
  // Of the tests in their order; none: the node takes the pod now.
  std::optional<model::NodeTest> first_failed;
  // The first test that the node would fail even if it were empty, schedulable, ready and its
  // devices healthy; none: it could take the pod.
  std::optional<model::NodeTest> barrier;
  // Against what is free now, where there is no barrier; against the empty node for the barriers
  // kGpuCount and kCapacity; otherwise nothing.
  Deficit deficit;
  uint32_t free_devices = 0;  // that could serve the pod now
  int64_t free_share = 0;     // of shares: milli, or bytes where the share is by memory
};

// `levels`: the node must lie in a domain of each of these.
NodeLook look_at(const model::Inventory& inventory, const model::Node& node,
                 const model::Shape& shape, std::span<const model::LevelIx> levels);

// How many pods of the shape the node could take if every pod were gone and every device healthy
// and without strangers; labels, taints and availability are not asked.
int64_t fit_count_emptied(const model::Node& node, const model::Shape& shape);

// Appends what the node's labels and taints lack for the shape: "label:KEY" for each requirement
// that it does not meet, "toleration:KEY" for each taint that the shape does not tolerate.
void add_label_shortages(const model::Inventory& inventory, const model::Node& node,
                         const model::Shape& shape, std::vector<model::Shortage>& out);
void add_taint_shortages(const model::Inventory& inventory, const model::Node& node,
                         const model::Shape& shape, std::vector<model::Shortage>& out);

// Appends what the node lacks of other resources and of room for volumes: now, or even `emptied`.
void add_besides_shortages(const model::Inventory& inventory, const model::Node& node,
                           const model::Shape& shape, bool emptied,
                           std::vector<model::Shortage>& out);

// Free amounts, whether or not the node is available; never negative.
model::Resources free_resources(const model::Node& node);

}  // namespace mainspring::placement
