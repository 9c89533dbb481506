// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mainspring/model/inventory.h"

// How often one shape fits on one node: the arithmetic under every search. Integers only.

namespace mainspring::placement {

// Whether the node takes pods of this shape at all, however full it is: ready, not cordoned, with
// the labels that the shape requires and no taint that it does not tolerate.
bool eligible(const model::Inventory& inventory, const model::Shape& shape,
              const model::Node& node);

// How many pods can have their share of this device, side by side: 0 or 1 for whole devices.
int64_t device_units(const model::Shape& shape, const model::Gpu& gpu);

// How many pods of the shape fit into this free state side by side, at most `limit`. Exact: a pod
// that asks for several devices needs distinct ones, and m pods fit exactly if
// Σ min(units of a device, m) ≥ m × devices per pod. O(devices).
int64_t fit_count(const model::Shape& shape, const model::Resources& free,
                  std::span<const model::Gpu> gpus, int64_t limit);

// The same for a node as it is, other resources and volumes included.
int64_t fit_count(const model::Shape& shape, const model::Node& node, int64_t limit);

}  // namespace mainspring::placement
