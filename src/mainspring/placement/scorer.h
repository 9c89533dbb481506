// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "mainspring/model/inventory.h"

// Which of the places that fit is best. Scores only order what is feasible; they never forbid.

namespace mainspring::placement {

// A place for one pod on one node.
struct Spot {
  static constexpr int64_t kNoFit = INT64_MAX;

  int64_t cost = kNoFit;  // smaller is better
  model::DeviceMask devices = 0;

  [[nodiscard]] bool fits() const { return cost != kNoFit; }
};

class Scorer {
 public:
  virtual ~Scorer() = default;

  // Grows whenever costs may have changed though no node did (new prices).
  [[nodiscard]] virtual uint64_t version() const = 0;

  // The best devices of this node for one pod of the shape, and what taking them costs; no fit when
  // a resource or a device is lacking. Labels, taints and readiness are the caller's business. Pure
  // and deterministic: equal free states give equal costs. O(devices).
  [[nodiscard]] virtual Spot best_spot(const model::Inventory& inventory, uint32_t node_slot,
                                       const model::Shape& shape) const = 0;

  // The same cost for many nodes at once, kNoFit where it does not fit.
  virtual void costs(const model::Inventory& inventory, std::span<const uint32_t> node_slots,
                     const model::Shape& shape, std::span<int64_t> out) const = 0;
};

}  // namespace mainspring::placement
