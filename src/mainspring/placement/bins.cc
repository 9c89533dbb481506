// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/bins.h"

#include <algorithm>

#include "mainspring/base/check.h"
#include "mainspring/placement/mixing.h"
#include "mainspring/placement/node_fit.h"

namespace mainspring::placement {

using model::DomainIx;
using model::Free;
using model::Gpu;
using model::Node;
using model::Resources;
using model::Shape;

void Bins::begin(const model::Inventory& inventory, const Watched& watched) {
  inventory_ = &inventory;
  watched_ = watched;
  name_key_ = inventory.names().find(model::kNodeNameKey);
  ++epoch_;
  hash_ = 0;
  bins_.clear();
  gpus_.clear();
  others_.clear();
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

std::span<const model::OtherResource> Bins::others(uint32_t node_slot) const {
  if (!watched_.besides) return {};
  const Bin* bin = find(node_slot);
  if (bin == nullptr) return inventory_->nodes()[node_slot].others;
  return std::span(others_).subspan(bin->first_other, bin->other_count);
}

int64_t Bins::fit(const Shape& shape, uint32_t node_slot, int64_t limit) const {
  const int64_t most = fit_count(shape, free(node_slot).resources, gpus(node_slot), limit);
  if (most == 0 || (shape.others.empty() && shape.attachments.empty())) return most;
  return volumes_fit(shape, node_slot) ? model::others_fit(shape, others(node_slot), most) : 0;
}

// Volumes are few, and so are the steps of a search that has any.
bool Bins::volumes_fit(const Shape& shape, uint32_t node_slot) const {
  const Node& node = inventory_->nodes()[node_slot];
  const Bin* bin = find(node_slot);
  if (shape.attachments.empty() || node.attachments_max.empty()) return true;
  if (bin == nullptr) return model::volumes_fit(shape, node);
  Node there{.attachments_max = node.attachments_max, .volumes = node.volumes};
  for (const Step& step : log_) {
    if (&bins_[step.bin] != bin || step.device != kNoDevice) continue;
    for (const model::AttachedVolume& one : step.shape->attachments) {
      const auto at = std::ranges::lower_bound(there.volumes, one, {}, &model::VolumeInUse::which);
      if (at == there.volumes.end() || at->which != one) there.volumes.insert(at, {one, 1});
    }
  }
  return model::volumes_fit(shape, there);
}

const Free& Bins::domain_free(DomainIx domain) const {
  const DomainRow& row = domains_[domain.slot];
  return row.epoch == epoch_ ? row.free : inventory_->domain(domain).free;
}

uint64_t Bins::key(uint32_t node_slot) const {
  const Bin* bin = find(node_slot);
  if (bin != nullptr) return bin->key;
  const Node& node = inventory_->nodes()[node_slot];
  return full_key(mix(fixed_key(node_slot, {}), uint64_t{0}), node.free.resources, node.gpus,
                  others(node_slot));
}

uint64_t Bins::key_without(uint32_t node_slot, model::LevelIx level) const {
  const Bin* bin = find(node_slot);
  const uint64_t guests = bin == nullptr ? 0 : bin->guests;
  return full_key(mix(fixed_key(node_slot, level), guests), free(node_slot).resources,
                  gpus(node_slot), others(node_slot));
}

uint64_t Bins::fixed_key(uint32_t node_slot, model::LevelIx without) const {
  const Node& node = inventory_->nodes()[node_slot];
  uint64_t key = node.usable() ? 1 : 0;
  // What is attached to a node is a set of its own.
  const bool own = watched_.besides && !node.attachments_max.empty();
  if (own || std::ranges::binary_search(watched_.named, node_slot)) {
    key = mix(key, uint64_t{node_slot} + 2);
  }
  if (watched_.rules != nullptr) key = mix(key, watched_.rules->likeness(node_slot));
  for (const model::LevelIx level : watched_.levels) {
    if (level == without || level.slot >= node.domains.size()) continue;
    key = mix(key, node.domains[level.slot].slot);
  }
  for (const model::NameIx name : watched_.label_keys) {
    if (name == name_key_) key = mix(key, uint64_t{node_slot});
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
uint64_t Bins::full_key(uint64_t fixed, const Resources& free, std::span<const Gpu> gpus,
                        std::span<const model::OtherResource> others) {
  uint64_t key = fixed;
  for (const model::OtherResource& other : others) key = mix(mix(key, other.name), other.free());
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
  gpus_.insert(gpus_.end(), node.gpus.begin(), node.gpus.end());
  if (watched_.besides) {
    bin.first_other = static_cast<uint32_t>(others_.size());
    bin.other_count = static_cast<uint32_t>(node.others.size());
    others_.insert(others_.end(), node.others.begin(), node.others.end());
  }
  bin.key = key_of(bin);
  bins_.push_back(bin);
  return bins_.back();
}

uint64_t Bins::key_of(const Bin& bin) const {
  return full_key(mix(bin.fixed_key, bin.guests), bin.free.resources,
                  std::span(gpus_).subspan(bin.first_gpu, bin.gpu_count),
                  std::span(others_).subspan(bin.first_other, bin.other_count));
}

void Bins::book_guests(Bin& bin, const Shape& shape, int64_t pods) const {
  if (watched_.rules == nullptr) return;
  const auto number = static_cast<uint64_t>(&shape - inventory_->shapes().data());
  bin.guests += mix(number) * static_cast<uint64_t>(pods);
}

void Bins::book_others(const Bin& bin, const Shape& shape, int64_t pods) {
  const auto own = std::span(others_).subspan(bin.first_other, bin.other_count);
  for (const model::ShapeAmount& need : shape.others) {
    const auto at = std::ranges::lower_bound(own, need.name, {}, &model::OtherResource::name);
    at->used += need.amount * pods;
    MAINSPRING_CHECK(at->used >= 0 && (pods < 0 || at->used <= at->total),
                     "a search over-committed a resource of a node");
  }
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
  book_others(bin, shape, pods);
  book_guests(bin, shape, pods);
  set_free(bin, free);
  hash_ -= mix(bin.key);
  bin.key = key_of(bin);
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
  bin.key = key_of(bin);
  hash_ += mix(bin.key);
}

void Bins::undo(Mark mark) {
  while (log_.size() > mark) {
    const Step& step = log_.back();
    Bin& bin = bins_[step.bin];
    if (step.device != kNoDevice) {
      apply(bin, step, -1);
    } else {
      book_others(bin, *step.shape, -step.times);
      book_guests(bin, *step.shape, -step.times);
    }
    set_free(bin, step.free_before);
    hash_ -= mix(bin.key);
    bin.key = step.key_before;
    hash_ += mix(bin.key);
    log_.pop_back();
  }
}

}  // namespace mainspring::placement
