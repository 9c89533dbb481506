// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/baseline_fgd.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mainspring/base/check.h"

namespace mainspring::sim {

DropScores::DropScores() {
  edges_.front() = -std::numeric_limits<double>::infinity();
  for (size_t score = 1; score < 100; ++score) {
    const auto share = static_cast<double>(score);
    edges_[score] = 1000.0 * std::log(share / (100.0 - share));
  }
  edges_.back() = std::numeric_limits<double>::infinity();
  for (size_t cell = 0; cell < base_.size(); ++cell) {
    const double start = static_cast<double>(cell) * kCellMilli - kRangeMilli;
    const auto above = std::upper_bound(edges_.begin(), edges_.end(), start);
    base_[cell] = static_cast<int32_t>(above - edges_.begin()) - 1;
  }
}

FastFgd::FastFgd(const StaticWorld& world, const TypicalPods& typical, size_t shape_count)
    : world_(world), typical_(typical), caches_(shape_count) {
  build_classes();
  build_weights();
  const size_t node_count = world_.nodes().size();
  views_.resize(node_count);
  rooms_.resize(node_count * classes_.size());
  last_change_.resize(node_count);
  for (size_t node = 0; node < node_count; ++node) refresh_view(node);
}

void FastFgd::build_classes() {
  std::vector<std::pair<int32_t, int32_t>> kinds;
  for (const TypicalPod& pod : typical_.pods) {
    weight_sum_ += pod.weight;
    // Pods without GPU count everything as fragment, whether their CPU fits or not; but the
    // definition adds the two cases up apart, which can move the last bit.
    cpu_steps_.push_back(pod.shape.cpu_milli);
    if (pod.shape.gpu_milli == 0) continue;
    kinds.emplace_back(pod.shape.gpu_milli, pod.shape.gpu_count);
  }
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  for (const auto& [milli, count] : kinds) classes_.push_back({milli, count});
  MAINSPRING_CHECK(classes_.size() <= std::numeric_limits<uint8_t>::max(),
                   "typical pods fall into few classes");
  for (size_t milli = 0; milli < classes_within_.size(); ++milli) {
    const auto within = std::count_if(kinds.begin(), kinds.end(), [milli](const auto& kind) {
      return static_cast<size_t>(kind.first) <= milli;
    });
    classes_within_[milli] = static_cast<uint8_t>(within);
  }
  std::sort(cpu_steps_.begin(), cpu_steps_.end());
  cpu_steps_.erase(std::unique(cpu_steps_.begin(), cpu_steps_.end()), cpu_steps_.end());
}

void FastFgd::build_weights() {
  const size_t ranks = cpu_steps_.size() + 1;
  weights_.assign(world_.model_count() * ranks * classes_.size(), 0.0);
  double* weight = weights_.data();
  for (size_t model = 0; model < world_.model_count(); ++model) {
    for (size_t rank = 0; rank < ranks; ++rank) {
      for (const Class& kind : classes_) {
        for (const TypicalPod& pod : typical_.pods) {
          const StaticShape& shape = pod.shape;
          const bool counts = shape.gpu_milli == kind.gpu_milli &&
                              shape.gpu_count == kind.gpu_count &&
                              (shape.model_mask >> model & 1) != 0 && rank > 0 &&
                              shape.cpu_milli <= cpu_steps_[rank - 1];
          if (counts) *weight += pod.weight;
        }
        ++weight;
      }
    }
  }
}

const double* FastFgd::weights_at(int64_t cpu_free_milli, uint8_t model) const {
  const auto fitting = std::upper_bound(cpu_steps_.begin(), cpu_steps_.end(), cpu_free_milli);
  const auto rank = static_cast<size_t>(fitting - cpu_steps_.begin());
  return weights_.data() + (model * (cpu_steps_.size() + 1) + rank) * classes_.size();
}

void FastFgd::refresh_view(size_t node) {
  const StaticNode& from = world_.nodes()[node];
  NodeView& view = views_[node];
  view.cpu_free_milli = from.cpu_free_milli;
  view.memory_free_mib = from.memory_free_mib;
  view.weights = weights_at(from.cpu_free_milli, from.model);
  view.whole_free = from.whole_free_count();
  view.model = from.model;
  view.pods_full = from.pod_count >= kStaticPodsPerNodeMax;
  view.gpu_free_milli = from.gpu_free_milli;
  view.largest_free_milli =
      *std::max_element(from.gpu_free_milli.begin(), from.gpu_free_milli.end());
  view.idle = view.largest_free_milli > 0;
  for (size_t kind = 0; kind < classes_.size(); ++kind) {
    int32_t devices = 0;
    int32_t milli = 0;
    for (const int16_t free : from.gpu_free_milli) {
      const bool enough = free >= classes_[kind].gpu_milli;
      devices += enough ? 1 : 0;
      milli += enough ? free : 0;
    }
    rooms_[node * classes_.size() + kind] = {
        static_cast<int16_t>(devices - classes_[kind].gpu_count), static_cast<int16_t>(milli)};
  }
  view.usable_milli = usable_with_weights(node, view.weights);
}

double FastFgd::usable_with_weights(size_t node, const double* weights) const {
  const Room* room = rooms_.data() + node * classes_.size();
  double usable = 0;
  for (size_t kind = 0; kind < classes_.size(); ++kind) {
    usable += weights[kind] * (room[kind].spare_devices >= 0 ? room[kind].milli : 0);
  }
  return usable;
}

double FastFgd::usable_after_share(size_t node, const double* weights, int32_t free_milli,
                                   int32_t taken_milli) const {
  const Room* room = rooms_.data() + node * classes_.size();
  const size_t kept = classes_within_[static_cast<size_t>(free_milli - taken_milli)];
  const size_t lost = classes_within_[static_cast<size_t>(free_milli)];
  double usable = 0;
  size_t kind = 0;
  // For these the device still has enough room, for the next no longer, for the last it never had.
  for (; kind < kept; ++kind) {
    usable += weights[kind] * (room[kind].spare_devices >= 0 ? room[kind].milli - taken_milli : 0);
  }
  for (; kind < lost; ++kind) {
    usable += weights[kind] * (room[kind].spare_devices >= 1 ? room[kind].milli - free_milli : 0);
  }
  for (; kind < classes_.size(); ++kind) {
    usable += weights[kind] * (room[kind].spare_devices >= 0 ? room[kind].milli : 0);
  }
  return usable;
}

double FastFgd::usable_after_whole(size_t node, const double* weights, int32_t count) const {
  const Room* room = rooms_.data() + node * classes_.size();
  const int32_t taken_milli = count * static_cast<int32_t>(kMilliPerGpu);
  double usable = 0;
  for (size_t kind = 0; kind < classes_.size(); ++kind) {
    usable +=
        weights[kind] * (room[kind].spare_devices >= count ? room[kind].milli - taken_milli : 0);
  }
  return usable;
}

int32_t FastFgd::settle(double drop_milli, size_t node, const StaticShape& shape,
                        uint8_t devices) const {
  const int32_t score = drop_scores_.score(drop_milli);
  if (score != DropScores::kUnsure) return score;
  return fragment_score_on(world_.nodes()[node], shape, devices, typical_);
}

FragmentScore FastFgd::score_share(size_t node, const StaticShape& shape,
                                   const double* weights) const {
  const NodeView& view = views_[node];
  const double before = weight_sum_ * shape.gpu_milli - view.usable_milli;
  FragmentScore best{.score = -1};
  int32_t seen_free = -1;
  for (size_t device = 0; device < kStaticDevicesMax; ++device) {
    const int32_t free = view.gpu_free_milli[device];
    // Devices with equal room score alike, and the first of equals wins; runs of them are common.
    if (free < shape.gpu_milli || free == seen_free) continue;
    seen_free = free;
    const auto bit = static_cast<uint8_t>(1U << device);
    const double drop = before + usable_after_share(node, weights, free, shape.gpu_milli);
    const int32_t score = settle(drop, node, shape, bit);
    if (score > best.score) best = {score, bit};
  }
  return best;
}

FragmentScore FastFgd::score_fitting(size_t node, const StaticShape& shape) const {
  const NodeView& view = views_[node];
  const double* weights = weights_at(view.cpu_free_milli - shape.cpu_milli, view.model);
  if (shape.gpu_count == 0) {
    // Nothing that the definition looks at changes: the drop is exactly zero.
    if (weights == view.weights || !view.idle) return {score_of_drop(0), 0};
    return {settle(usable_with_weights(node, weights) - view.usable_milli, node, shape, 0), 0};
  }
  if (shape.is_share()) return score_share(node, shape, weights);
  const uint8_t devices = first_free_devices(world_.nodes()[node], shape.gpu_count);
  const double taken = weight_sum_ * shape.gpu_count * static_cast<double>(kMilliPerGpu);
  const double drop =
      taken - view.usable_milli + usable_after_whole(node, weights, shape.gpu_count);
  return {settle(drop, node, shape, devices), devices};
}

uint8_t FastFgd::value_of(size_t node, const StaticShape& shape) const {
  const NodeView& view = views_[node];
  if (view.cpu_free_milli < shape.cpu_milli || view.memory_free_mib < shape.memory_mib ||
      view.pods_full) {
    return kUnfit;
  }
  if (shape.gpu_count > 0) {
    const bool devices_fit = shape.is_share() ? view.largest_free_milli >= shape.gpu_milli
                                              : view.whole_free >= shape.gpu_count;
    if (!devices_fit || (shape.model_mask >> view.model & 1) == 0) return kUnfit;
  }
  return static_cast<uint8_t>(score_fitting(node, shape).score + 1);
}

void FastFgd::fill(Cache& cache, const StaticShape& shape) const {
  const size_t blocks = (views_.size() + kBlockNodes - 1) / kBlockNodes;
  cache.value.assign(blocks * kBlockNodes, kUnfit);
  cache.block_best.resize(blocks);
  for (size_t node = 0; node < views_.size(); ++node) cache.value[node] = value_of(node, shape);
  for (size_t block = 0; block < blocks; ++block) {
    const auto first = cache.value.begin() + static_cast<std::ptrdiff_t>(block * kBlockNodes);
    cache.block_best[block] = *std::max_element(first, first + kBlockNodes);
  }
  cache.seen_changes = changes_.size();
}

void FastFgd::catch_up(Cache& cache, const StaticShape& shape) const {
  for (size_t change = cache.seen_changes; change < changes_.size(); ++change) {
    const size_t node = changes_[change];
    if (last_change_[node] != change + 1) continue;  // changed again later
    const uint8_t value = value_of(node, shape);
    const uint8_t old = cache.value[node];
    if (value == old) continue;
    cache.value[node] = value;
    uint8_t& best = cache.block_best[node / kBlockNodes];
    if (value >= best) {
      best = value;
    } else if (old == best) {
      const size_t start = node / kBlockNodes * kBlockNodes;
      uint8_t highest = kUnfit;
      for (size_t at = start; at < start + kBlockNodes; ++at) {
        highest = std::max(highest, cache.value[at]);
      }
      best = highest;
    }
  }
  cache.seen_changes = changes_.size();
}

FastFgd::Scores FastFgd::best_of(const Cache& cache) const {
  const auto block = std::max_element(cache.block_best.begin(), cache.block_best.end());
  Scores scores{.value = cache.value.data()};
  if (block == cache.block_best.end() || *block == kUnfit) return scores;
  scores.best = *block;
  const auto start = (block - cache.block_best.begin()) * static_cast<std::ptrdiff_t>(kBlockNodes);
  const auto first = std::find(cache.value.begin() + start, cache.value.end(), scores.best);
  scores.first_of_best = static_cast<int32_t>(first - cache.value.begin());
  return scores;
}

FastFgd::Scores FastFgd::scores_for(uint32_t shape_id, const StaticShape& shape) {
  Cache& kept = caches_[shape_id];
  if (!kept.asked_before) {
    // Most shapes of a list without repetition never come again: nothing is kept for them.
    kept.asked_before = true;
    fill(scratch_, shape);
    return best_of(scratch_);
  }
  if (kept.value.empty()) {
    fill(kept, shape);
  } else {
    catch_up(kept, shape);
  }
  return best_of(kept);
}

uint8_t FastFgd::devices_on(int32_t node, const StaticShape& shape) const {
  return score_fitting(static_cast<size_t>(node), shape).devices;
}

void FastFgd::node_changed(int32_t node) {
  const auto position = static_cast<size_t>(node);
  refresh_view(position);
  changes_.push_back(static_cast<uint32_t>(position));
  last_change_[position] = changes_.size();
}

}  // namespace mainspring::sim
