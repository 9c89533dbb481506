// SPDX-License-Identifier: Apache-2.0
#include "mainspring/policy/queue_shares.h"

#include <algorithm>

#include "mainspring/base/check.h"
#include "mainspring/policy/fair_share.h"

namespace mainspring::policy {

using model::ClusterState;
using model::kUnlimited;
using model::Queue;
using model::QueueIx;

namespace {

constexpr size_t kNoColumn = ~size_t{0};
constexpr int64_t kMillion = 1'000'000;
constexpr int64_t kTurnsPerHalfLife = 64;

// GPUs are shared out as whole devices.
int64_t unit_of(size_t dimension) {
  const bool cpu_or_memory =
      dimension == model::kCpuDimension || dimension == model::kMemoryDimension;
  return cpu_or_memory ? 1 : model::kWholeGpuMilli;
}

int64_t part_of(int64_t amount, int32_t ppm) {
  return static_cast<int64_t>(static_cast<__int128>(amount) * ppm / kMillion);
}

}  // namespace

const QueueShares::Due& QueueShares::at(QueueIx queue, size_t dimension) const {
  const size_t column = dimension < column_of_.size() ? column_of_[dimension] : kNoColumn;
  MAINSPRING_CHECK(column != kNoColumn, "a share was asked for of what is not shared out");
  return due_[column][queue.slot];
}

void QueueShares::refresh(const ClusterState& state, base::Instant now) {
  const model::Queues& queues = state.queues();
  const int64_t part = std::max<int64_t>(queues.half_life().ms / kTurnsPerHalfLife, 1);
  const int64_t turn = queues.half_life().ms > 0 ? now.ms / part : 0;
  const bool same = known_ && demands_ == queues.demands() &&
                    layouts_ == state.inventory().layouts() && turn_ == turn;
  if (same) return;
  if (!known_ || layouts_ != state.inventory().layouts()) count_capacity(state.inventory());
  known_ = true;
  demands_ = queues.demands();
  layouts_ = state.inventory().layouts();
  turn_ = turn;
  ++version_;
  find_dimensions(state);
  due_.resize(dimensions_.size());
  for (size_t column = 0; column < dimensions_.size(); ++column) {
    due_[column].assign(queues.rows().size(), Due{});
    read_settings(state, column);
    hand_down(state, queues.roots(), capacity(dimensions_[column]), column, now);
  }
}

void QueueShares::find_dimensions(const ClusterState& state) {
  dimensions_.clear();
  column_of_.clear();
  if (!state.queues().declared()) return;
  for (const Queue& queue : state.queues().rows()) {
    for (const model::QueueResource& resource : queue.spec.resources) {
      const size_t dimension = state.inventory().find_dimension(resource.name);
      if (dimension != model::Inventory::kNoDimension) dimensions_.push_back(dimension);
    }
  }
  if (dimensions_.empty()) dimensions_.push_back(model::kGpuDimension);
  std::ranges::sort(dimensions_);
  dimensions_.erase(std::ranges::unique(dimensions_).begin(), dimensions_.end());
  column_of_.assign(dimensions_.back() + 1, kNoColumn);
  for (size_t i = 0; i < dimensions_.size(); ++i) column_of_[dimensions_[i]] = i;
}

// What is there, cordoned or not: work that runs on a cordoned node goes on.
void QueueShares::count_capacity(const model::Inventory& inventory) {
  capacity_.assign(model::kModelDimension + inventory.gpu_models().size(), 0);
  for (const model::Node& node : inventory.nodes()) {
    if (!node.alive || !node.listed || !node.ready) continue;
    capacity_[model::kCpuDimension] += node.allocatable[model::Resource::kCpuMilli];
    capacity_[model::kMemoryDimension] += node.allocatable[model::Resource::kMemoryBytes];
    for (const model::Gpu& gpu : node.gpus) {
      if (!gpu.usable()) continue;
      capacity_[model::kGpuDimension] += model::kWholeGpuMilli;
      capacity_[model::kModelDimension + gpu.model] += model::kWholeGpuMilli;
    }
  }
}

void QueueShares::read_settings(const ClusterState& state, size_t column) {
  for (const QueueIx root : state.queues().roots()) read_below(state, root, column);
}

// Quotas from the top, since a percentage is one of what lies above; demand and quotas that are
// sums from the bottom.
void QueueShares::read_below(const ClusterState& state, QueueIx index, size_t column) {
  const Queue& queue = state.queues().row(index);
  const size_t dimension = dimensions_[column];
  const std::string name = state.inventory().dimension_name(dimension);
  const auto named = std::ranges::find(queue.spec.resources, name, &model::QueueResource::name);
  const bool says = named != queue.spec.resources.end();
  std::vector<Due>& dues = due_[column];
  Due& due = dues[index.slot];
  if (says) {
    due.quota = named->quota;
    due.limit = named->limit;
    due.weight = named->weight;
    if (named->quota_ppm > 0) {
      const int64_t whole =
          queue.parent.valid() ? dues[queue.parent.slot].quota : capacity(dimension);
      due.quota = whole == kUnlimited ? part_of(capacity(dimension), named->quota_ppm)
                                      : part_of(whole, named->quota_ppm);
    }
  }
  int64_t demand = 0;
  int64_t promised = 0;
  for (const QueueIx child : queue.children) {
    read_below(state, child, column);
    demand += dues[child.slot].demand;
    if (dues[child.slot].quota == kUnlimited) promised = kUnlimited;
    if (promised != kUnlimited) {
      promised = std::min(promised + dues[child.slot].quota, model::kTotalMax);
    }
  }
  if (queue.children.empty()) {
    // Which model a pod will get is known in its place only.
    const bool model = dimension >= model::kModelDimension;
    demand = queue.count(model::QueueBook::kDemand, model ? model::kGpuDimension : dimension);
  } else if (!says) {
    due.quota = promised;
  }
  due.demand = due.limit == kUnlimited ? demand : std::min(demand, due.limit);
}

void QueueShares::hand_down(const ClusterState& state, std::span<const QueueIx> children,
                            int64_t amount, size_t column, base::Instant now) {
  if (children.empty()) return;
  std::vector<Due>& dues = due_[column];
  std::vector<int64_t> weights;
  std::vector<int64_t> past;
  for (const QueueIx child : children) {
    weights.push_back(dues[child.slot].weight);
    const std::vector<model::PastUse> used = state.queues().past_use(child, now);
    past.push_back(dimensions_[column] < used.size() ? used[dimensions_[column]].seconds : 0);
  }
  weights = shift_weights(weights, past);
  std::vector<Sharer> sharers;
  for (size_t i = 0; i < children.size(); ++i) {
    Due& due = dues[children[i].slot];
    due.weight_milli = weights[i];
    const model::QueueSpec& spec = state.queues().row(children[i]).spec;
    sharers.push_back({.quota = due.quota,
                       .limit = due.limit,
                       .weight = weights[i],
                       .priority = spec.priority,
                       .demand = due.demand,
                       .name = spec.name});
  }
  const std::vector<int64_t> parts = divide(amount, sharers, unit_of(dimensions_[column]));
  for (size_t i = 0; i < children.size(); ++i) {
    dues[children[i].slot].share = parts[i];
    hand_down(state, state.queues().row(children[i]).children, parts[i], column, now);
  }
}

Dominant dominant(const ClusterState& state, const QueueShares& shares, QueueIx queue) {
  Dominant most;
  most.share = 1;
  for (const size_t dimension : shares.dimensions()) {
    const Dominant one{state.queues().row(queue).held(dimension), shares.share(queue, dimension)};
    if (used_less(most, one)) most = one;
  }
  return most;
}

bool used_less(const Dominant& left, const Dominant& right) {
  // Who is due nothing has used up all of it.
  const auto used = [](const Dominant& one) { return one.share > 0 ? one.held : one.held + 1; };
  return static_cast<__int128>(used(left)) * right.share <
         static_cast<__int128>(used(right)) * left.share;
}

}  // namespace mainspring::policy
