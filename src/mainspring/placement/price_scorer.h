// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "mainspring/model/cluster_state.h"
#include "mainspring/placement/price_rows.h"
#include "mainspring/placement/price_table.h"
#include "mainspring/placement/scarcity.h"
#include "mainspring/placement/scorer.h"

// The default: a pod goes where the node's worth drops least under prices learned from arrivals,
// and pays more for what others cannot do without. Among equals to the tightest device or node.
//
// Prices and scarcity are functions of the state at the last `refresh`; what is kept of each node
// follows the inventory's change log. Belongs to one inventory for good.

namespace mainspring::placement {

class PriceScorer final : public Scorer {
 public:
  // Whether arrivals have grown so much (by half) that prices should be made anew. The engine
  // then calls `ClusterState::mark_demand_priced`, so that a restored state has the same prices.
  static bool demand_grew(const model::ClusterState& state);

  // To be called before each cycle. O(1 + nodes changed), but O(nodes) and the linear program after
  // new prices or a new layout.
  void refresh(const model::ClusterState& state);

  [[nodiscard]] uint64_t version() const override { return version_; }
  [[nodiscard]] Spot best_spot(const model::Inventory& inventory, uint32_t node_slot,
                               const model::Shape& shape) const override;
  void costs(const model::Inventory& inventory, std::span<const uint32_t> node_slots,
             const model::Shape& shape, std::span<int64_t> out) const override;

  [[nodiscard]] const PriceTable& prices() const { return table_; }
  [[nodiscard]] const Scarcity& scarcity() const { return scarcity_; }

 private:
  class Request;
  struct Choice {
    int64_t cost = Spot::kNoFit;
    int32_t device = -1;  // of a share; -1: the first wholly free ones
  };

  [[nodiscard]] std::vector<DemandEntry> demand(const model::Inventory& inventory) const;
  [[nodiscard]] static std::vector<SupplyEntry> supply(const model::Inventory& inventory);
  [[nodiscard]] uint64_t models_for(const model::Inventory& inventory,
                                    const model::Shape& shape) const;
  void note_models(const model::Inventory& inventory);
  [[nodiscard]] Request compile(const model::Inventory& inventory, const model::Shape& shape) const;
  [[nodiscard]] Choice choose(const PriceRow& row, const model::Shape& shape,
                              Request& request) const;
  [[nodiscard]] Choice choose_share(const PriceRow& row, const model::Shape& shape,
                                    Request& request) const;
  [[nodiscard]] Spot look_at_each(const model::Node& node, const PriceRow& row,
                                  const model::Shape& shape, Request& request) const;
  [[nodiscard]] int32_t slots_lost(const PriceRow& row, const Request& request,
                                   uint32_t wholes) const;

  PriceTable table_;
  Scarcity scarcity_;
  uint64_t version_ = 0;
  uint64_t layouts_ = UINT64_MAX;
  int64_t arrivals_priced_ = -1;
  // By GPU resource: models that have devices of it; by model: its smallest memory.
  std::vector<uint64_t> models_of_resource_;
  std::vector<int64_t> memory_of_model_;
  uint64_t models_present_ = 0;

  // A cache of the inventory, which changes while a Trial is tried.
  mutable PriceRows rows_;
};

}  // namespace mainspring::placement
