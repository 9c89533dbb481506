// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/bins.h"

#include <algorithm>

#include "mainspring/base/check.h"
#include "mainspring/placement/mixing.h"

namespace mainspring::placement {

using model::DomainIx;
using model::Free;
using model::Gpu;
using model::Node;
using model::Resources;
using model::Shape;

void Bins::begin(const model::Inventory& inventory, std::span<const model::LevelIx> levels,
                 std::span<const model::NameIx> label_keys, std::span<const uint32_t> named) {
  inventory_ = &inventory;
  levels_ = levels;
  label_keys_ = label_keys;
  named_ = named;
  ++epoch_;
  hash_ = 0;
  bins_.clear();
  gpus_.clear();
  log_.clear();
  if (bin_of_.size() < inventory.nodes().size()) bin_of_.resize(inventory.nodes().size());
  if (domains_.size() < inventory.domains().size()) domains_.resize(inventory.domains().size());
}

const Bins::Bin* Bins::find(uint32_t node_slot) const {
  const Stamped& stamped = bin_of_[node_slot];
  return stamped.epoch == epoch_ ? &bins_[stamped.bin] : nullptr;
}

const Free& Bins::free(uint32_t node_slot) const {
  const Bin* bin = find(node_slot);
  return bin != nullptr ? bin->free : inventory_->nodes()[node_slot].free;
}

std::span<const Gpu> Bins::gpus(uint32_t node_slot) const {
  const Bin* bin = find(node_slot);
  if (bin == nullptr) return inventory_->nodes()[node_slot].gpus;
  return std::span(gpus_).subspan(bin->first_gpu, bin->gpu_count);
}

const Free& Bins::domain_free(DomainIx domain) const {
  const DomainRow& row = domains_[domain.slot];
  return row.epoch == epoch_ ? row.free : inventory_->domain(domain).free;
}

uint64_t Bins::key(uint32_t node_slot) const {
  const Bin* bin = find(node_slot);
  if (bin != nullptr) return bin->key;
  const Node& node = inventory_->nodes()[node_slot];
  return full_key(fixed_key(node_slot, {}), node.free.resources, node.gpus);
}

uint64_t Bins::key_without(uint32_t node_slot, model::LevelIx level) const {
  return full_key(fixed_key(node_slot, level), free(node_slot).resources, gpus(node_slot));
}

uint64_t Bins::fixed_key(uint32_t node_slot, model::LevelIx without) const {
  const Node& node = inventory_->nodes()[node_slot];
  uint64_t key = node.usable() ? 1 : 0;
  if (std::ranges::binary_search(named_, node_slot)) key = mix(key, uint64_t{node_slot} + 2);
  for (const model::LevelIx level : levels_) {
    if (level == without || level.slot >= node.domains.size()) continue;
    key = mix(key, node.domains[level.slot].slot);
  }
  for (const model::NameIx name : label_keys_) {
    const auto label = std::ranges::lower_bound(node.labels, name, {}, &model::NodeLabel::key);
    const bool there = label != node.labels.end() && label->key == name;
    key = mix(key, there ? uint64_t{label->value} + 1 : 0);
  }
  for (const model::NodeTaint& taint : node.taints) {
    key = mix(mix(mix(key, taint.key), taint.value), static_cast<uint32_t>(taint.effect));
  }
  return key;
}

// Devices count as a multiset: which of two equal ones is taken makes no difference.
uint64_t Bins::full_key(uint64_t fixed, const Resources& free, std::span<const Gpu> gpus) {
  uint64_t key = fixed;
  for (const int64_t amount : free.amounts) key = mix(key, amount);
  uint64_t devices = 0;
  for (const Gpu& gpu : gpus) {
    uint64_t device = mix(static_cast<uint64_t>(gpu.memory_bytes), gpu.memory_used_bytes);
    device = mix(device, gpu.foreign_memory_bytes);
    const uint64_t flags = uint64_t{gpu.model} << 16 | uint64_t{gpu.resource} << 8 |
                           (gpu.usable() ? 2U : 0U) | (gpu.holders > 0 ? 1U : 0U);
    devices += mix(mix(device, flags), static_cast<uint32_t>(gpu.used_milli));
  }
  return mix(key, devices);
}

Bins::Bin& Bins::touch(uint32_t node_slot) {
  Stamped& stamped = bin_of_[node_slot];
  if (stamped.epoch == epoch_) return bins_[stamped.bin];
  const Node& node = inventory_->nodes()[node_slot];
  stamped = {epoch_, static_cast<uint32_t>(bins_.size())};
  Bin bin{.slot = node_slot,
          .first_gpu = static_cast<uint32_t>(gpus_.size()),
          .gpu_count = static_cast<uint32_t>(node.gpus.size()),
          .fixed_key = fixed_key(node_slot, {}),
          .free = node.free};
  bin.key = full_key(bin.fixed_key, node.free.resources, node.gpus);
  gpus_.insert(gpus_.end(), node.gpus.begin(), node.gpus.end());
  bins_.push_back(bin);
  return bins_.back();
}

// Domain sums and the hash follow the node.
void Bins::set_free(Bin& bin, const Free& free) {
  for (const DomainIx domain : inventory_->nodes()[bin.slot].domains) {
    if (!domain.valid()) continue;
    DomainRow& row = domains_[domain.slot];
    if (row.epoch != epoch_) row = {epoch_, inventory_->domain(domain).free};
    row.free.resources += free.resources;
    row.free.resources -= bin.free.resources;
    row.free.gpus += free.gpus - bin.free.gpus;
    row.free.gpu_milli += free.gpu_milli - bin.free.gpu_milli;
  }
  bin.free = free;
}

void Bins::apply(Bin& bin, const Step& step, int64_t sign) {
  Gpu& gpu = gpus_[bin.first_gpu + step.device];
  const model::GpuTake amount = model::gpu_take(*step.shape, gpu);
  const int64_t times = sign * step.times;
  gpu.used_milli += static_cast<int32_t>(amount.milli * times);
  gpu.memory_used_bytes += amount.memory_bytes * times;
  gpu.holders = static_cast<uint16_t>(gpu.holders + times);
}

void Bins::take(uint32_t node_slot, const Shape& shape, int64_t pods) {
  Bin& bin = touch(node_slot);
  log_.push_back({.bin = static_cast<uint32_t>(&bin - bins_.data()),
                  .shape = &shape,
                  .times = pods,
                  .key_before = bin.key,
                  .free_before = bin.free});
  Free free = bin.free;
  for (size_t i = 0; i < model::kResourceCount; ++i) {
    free.resources.amounts[i] -= shape.request.amounts[i] * pods;
    MAINSPRING_CHECK(free.resources.amounts[i] >= 0, "a search over-committed a node");
  }
  set_free(bin, free);
  hash_ -= mix(bin.key);
  bin.key = full_key(bin.fixed_key, free.resources,
                     std::span(gpus_).subspan(bin.first_gpu, bin.gpu_count));
  hash_ += mix(bin.key);
}

void Bins::take_device(uint32_t node_slot, const Shape& shape, size_t device, int64_t units) {
  Bin& bin = touch(node_slot);
  log_.push_back({.bin = static_cast<uint32_t>(&bin - bins_.data()),
                  .shape = &shape,
                  .device = device,
                  .times = units,
                  .key_before = bin.key,
                  .free_before = bin.free});
  const Gpu& gpu = gpus_[bin.first_gpu + device];
  Free free = bin.free;
  free.gpus -= gpu.wholly_free() ? 1 : 0;
  free.gpu_milli -= gpu.free_milli();
  apply(bin, log_.back(), 1);
  MAINSPRING_CHECK(gpu.used_milli <= model::kWholeGpuMilli, "a search over-committed a device");
  free.gpus += gpu.wholly_free() ? 1 : 0;
  free.gpu_milli += gpu.free_milli();
  set_free(bin, free);
  hash_ -= mix(bin.key);
  bin.key = full_key(bin.fixed_key, free.resources,
                     std::span(gpus_).subspan(bin.first_gpu, bin.gpu_count));
  hash_ += mix(bin.key);
}

void Bins::undo(Mark mark) {
  while (log_.size() > mark) {
    const Step& step = log_.back();
    Bin& bin = bins_[step.bin];
    if (step.device != kNoDevice) apply(bin, step, -1);
    set_free(bin, step.free_before);
    hash_ -= mix(bin.key);
    bin.key = step.key_before;
    hash_ += mix(bin.key);
    log_.pop_back();
  }
}

}  // namespace mainspring::placement
