// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mainspring/placement/scorer.h"

// Packs: the node that has the least free GPU, then the least free CPU, after the pod was placed.
// For callers without prices, and the measure of what prices are worth.

namespace mainspring::placement {

class BestFitScorer final : public Scorer {
 public:
  [[nodiscard]] uint64_t version() const override { return 0; }
  [[nodiscard]] Spot best_spot(const model::Inventory& inventory, uint32_t node_slot,
                               const model::Shape& shape) const override;
  void costs(const model::Inventory& inventory, std::span<const uint32_t> node_slots,
             const model::Shape& shape, std::span<int64_t> out) const override;
};

}  // namespace mainspring::placement
