// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/tenant_meter.h"

#include <algorithm>

namespace mainspring::sim {

void TenantMeter::pass(base::Instant now) {
  const base::Instant to = std::min(now, window_end_);
  if (to <= at_) return;
  const auto span = static_cast<double>((to - at_).ms);
  at_ = to;
  used_ += span * static_cast<double>(all_held_milli_) / 1000;
  double beyond = 0;
  double idle = 0;
  for (size_t i = 0; i < owners_.size(); ++i) {
    const double held = static_cast<double>(held_milli_[i]) / 1000;
    const auto owned = static_cast<double>(owners_[i].gpus);
    uses_[i].owned += span * owned;
    uses_[i].used += span * held;
    uses_[i].borrowed += span * std::max(0.0, held - owned);
    beyond += std::max(0.0, held - owned);
    idle += std::max(0.0, owned - held);
  }
  if (idle <= 0) return;
  for (size_t i = 0; i < owners_.size(); ++i) {
    const double held = static_cast<double>(held_milli_[i]) / 1000;
    const double left = std::max(0.0, static_cast<double>(owners_[i].gpus) - held);
    uses_[i].lent += span * std::min(1.0, beyond / idle) * left;
  }
}

void TenantMeter::read(const model::ClusterState& state) {
  const model::Queues& queues = state.queues();
  all_held_milli_ = 0;
  for (const model::Queue& queue : queues.rows()) {
    const auto& own = queue.own[static_cast<size_t>(model::QueueBook::kHeld)];
    all_held_milli_ += model::amount_at(own, model::kGpuDimension);
  }
  for (size_t i = 0; i < owners_.size(); ++i) {
    const model::QueueIx queue = queues.find(owners_[i].queue);
    held_milli_[i] = queue.valid() ? queues.row(queue).held(model::kGpuDimension) : 0;
  }
}

}  // namespace mainspring::sim
