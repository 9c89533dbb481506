// SPDX-License-Identifier: Apache-2.0
#include "mainspring/model/inventory.h"

#include <algorithm>

namespace mainspring::model {
namespace {

bool grew(const Free& before, const Free& after) {
  return !after.resources.within(before.resources) || after.gpus > before.gpus ||
         after.gpu_milli > before.gpu_milli;
}

OtherResource& other_of(Node& node, NameIx name) {
  auto at = std::ranges::lower_bound(node.others, name, {}, &OtherResource::name);
  if (at == node.others.end() || at->name != name) at = node.others.insert(at, {.name = name});
  return *at;
}

constexpr size_t kGpuModelsMax = 64;  // shapes hold them as a bit mask

// Everything that can be refused, before anything is changed.
base::Status check_gpus(const Inventory& inventory, const Node& node, const NodeSpec& spec) {
  const auto resources = inventory.gpu_resources();
  const auto seen = inventory.gpu_models();
  std::vector<std::string_view> models(seen.begin(), seen.end());
  size_t devices = std::ranges::any_of(node.gpus, &Gpu::holders) ? node.gpus.size() : 0;
  const bool keeps = devices > 0;
  for (const GpuSpec& gpu : spec.gpus) {
    if (std::ranges::find(resources, gpu.resource) == resources.end()) {
      return base::invalid("node " + spec.name + ": " + gpu.resource +
                           " is not in gpu_resources of the configuration");
    }
    if (std::ranges::find(models, gpu.model) == models.end()) models.push_back(gpu.model);
    const uint32_t id = inventory.names().find(gpu.id);
    const bool known = keeps && std::ranges::find(node.gpus, id, &Gpu::id) != node.gpus.end();
    devices += known ? 0 : 1;
  }
  if (models.size() > kGpuModelsMax) {
    return base::invalid("node " + spec.name + ": more than 64 GPU models in one cluster");
  }
  if (devices > kGpusPerNodeMax) {
    return base::invalid("node " + spec.name + ": more than 64 GPUs, held ones that left included");
  }
  return {};
}

}  // namespace

Inventory::Inventory() {
  levels_.push_back(
      Level{.name = names_.intern(kNodeLevel), .label = 0, .topology = 0, .wider = {}});
}

const Node& Inventory::node(NodeIx index) const {
  MAINSPRING_CHECK(index.slot < nodes_.size(), "a node index is out of range");
  const Node& node = nodes_[index.slot];
  MAINSPRING_CHECK(node.generation == index.generation && node.alive, "a node index is stale");
  return node;
}

Node& Inventory::mutable_node(NodeIx index) { return const_cast<Node&>(node(index)); }

NodeIx Inventory::find_node(std::string_view name) const {
  const uint32_t slot = node_by_name_.find(name);
  return slot == base::IdMap::kNone ? NodeIx{} : index_of(slot);
}

size_t Inventory::find_dimension(std::string_view resource) const {
  if (resource == "gpu") return kGpuDimension;
  if (resource == "cpu") return kCpuDimension;
  if (resource == "memory") return kMemoryDimension;
  if (!resource.starts_with("gpu:")) return kNoDimension;
  const auto found = std::ranges::find(gpu_models_, resource.substr(4));
  if (found == gpu_models_.end()) return kNoDimension;
  return kModelDimension + static_cast<size_t>(found - gpu_models_.begin());
}

std::string Inventory::dimension_name(size_t dimension) const {
  if (dimension == kGpuDimension) return "gpu";
  if (dimension == kCpuDimension) return "cpu";
  if (dimension == kMemoryDimension) return "memory";
  return "gpu:" + gpu_models_[dimension - kModelDimension];
}

base::Result<uint8_t> Inventory::gpu_model_number(const std::string& name) {
  const auto found = std::ranges::find(gpu_models_, name);
  if (found != gpu_models_.end()) return static_cast<uint8_t>(found - gpu_models_.begin());
  if (gpu_models_.size() == kGpuModelsMax)
    return base::invalid("more than 64 GPU models in one cluster");
  gpu_models_.push_back(name);
  for (Shape& shape : shapes_) compile_models(shape);
  return static_cast<uint8_t>(gpu_models_.size() - 1);
}

base::Status Inventory::number_gpu_models(std::span<const std::string> names) {
  for (const std::string& name : names) {
    if (const auto number = gpu_model_number(name); !number) {
      return base::invalid(number.error().message);
    }
  }
  return {};
}

base::Status Inventory::set_gpu_resources(std::span<const std::string> names) {
  // Numbers stay what they are, since devices carry them.
  for (const std::string& name : names) {
    if (std::ranges::find(gpu_resources_, name) != gpu_resources_.end()) continue;
    if (gpu_resources_.size() == Shape::kNoGpuResource) {
      return base::invalid("more than 255 GPU resource names");
    }
    gpu_resources_.push_back(name);
  }
  for (Shape& shape : shapes_) compile_models(shape);
  return {};
}

base::Status Inventory::merge_gpus(Node& node, const NodeSpec& spec) {
  if (auto ok = check_gpus(*this, node, spec); !ok) return ok;
  std::vector<Gpu> reported;
  for (const GpuSpec& gpu : spec.gpus) {
    const auto resource = std::ranges::find(gpu_resources_, gpu.resource);
    const auto model = gpu_model_number(gpu.model);
    MAINSPRING_CHECK(model.has_value(), "a checked GPU model was refused");
    reported.push_back(Gpu{.memory_bytes = gpu.memory_bytes,
                           .id = names_.intern(gpu.id),
                           .model = *model,
                           .resource = static_cast<uint8_t>(resource - gpu_resources_.begin()),
                           .healthy = gpu.healthy});
  }
  // Positions are what pods hold, so they stay while any device of the node is held.
  if (!std::ranges::any_of(node.gpus, &Gpu::holders)) {
    for (Gpu& gpu : reported) {
      const auto old = std::ranges::find(node.gpus, gpu.id, &Gpu::id);
      if (old != node.gpus.end()) gpu.foreign_memory_bytes = old->foreign_memory_bytes;
    }
    node.gpus = std::move(reported);
    return {};
  }
  for (Gpu& gpu : node.gpus) gpu.present = false;
  for (const Gpu& gpu : reported) {
    const auto old = std::ranges::find(node.gpus, gpu.id, &Gpu::id);
    if (old == node.gpus.end()) {
      node.gpus.push_back(gpu);
      continue;
    }
    old->present = true;
    old->healthy = gpu.healthy;
    if (old->holders == 0) {  // a held device keeps the memory that its shares were computed from
      old->memory_bytes = gpu.memory_bytes;
      old->model = gpu.model;
      old->resource = gpu.resource;
    }
  }
  return {};
}

void Inventory::merge_besides(Node& node, const NodeSpec& spec) {
  for (OtherResource& other : node.others) other.total = 0;
  for (const NamedAmount& one : spec.others)
    other_of(node, names_.intern(one.name)).total = one.amount;
  std::erase_if(node.others,
                [](const OtherResource& other) { return other.total == 0 && other.used == 0; });
  node.attachments_max.clear();
  for (const NamedAmount& one : spec.attachments_max) {
    node.attachments_max.push_back({names_.intern(one.name), one.amount});
  }
}

base::Result<NodeIx> Inventory::put_node(const NodeSpec& spec) {
  if (auto ok = validate(spec); !ok) return base::invalid(ok.error().message);
  const uint32_t known = node_by_name_.find(spec.name);
  const Resources old = known == base::IdMap::kNone || !nodes_[known].listed
                            ? Resources{}
                            : nodes_[known].allocatable;
  const Resources total = total_allocatable_ - old + spec.allocatable;
  for (const int64_t amount : total.amounts) {
    if (amount > kTotalMax) {
      return base::invalid("node " + spec.name + ": the cluster's total would be above 2^61");
    }
  }
  Node merged = known == base::IdMap::kNone ? Node{} : nodes_[known];
  if (auto ok = merge_gpus(merged, spec); !ok) return base::invalid(ok.error().message);
  merged.alive = merged.listed = true;
  merged.schedulable = spec.schedulable;
  merged.ready = spec.ready;
  merged.allocatable = spec.allocatable;
  merged.labels.clear();
  for (const Label& label : spec.labels) {
    merged.labels.push_back({names_.intern(label.key), names_.intern(label.value)});
  }
  std::ranges::sort(merged.labels);
  merged.taints.clear();
  for (const Taint& taint : spec.taints) {
    merged.taints.push_back({names_.intern(taint.key), names_.intern(taint.value), taint.effect});
  }
  merge_besides(merged, spec);
  uint32_t slot = known;
  if (known == base::IdMap::kNone) {
    if (free_slots_.empty()) {
      slot = static_cast<uint32_t>(nodes_.size());
      nodes_.emplace_back();
    } else {
      slot = free_slots_.back();
      free_slots_.pop_back();
    }
    merged.name = spec.name;
    merged.generation = nodes_[slot].generation + 1;
    merged.rank = rank_next_++;
    node_by_name_.insert(spec.name, slot);
    by_rank_.push_back(slot);
    ++node_count_;
  } else {
    leave_domains(slot);
  }
  total_allocatable_ = total;
  nodes_[slot] = std::move(merged);
  join_domains(slot);
  refresh_free(slot);
  ++gains_;  // labels, taints or readiness may have changed for the better
  ++layouts_;
  return index_of(slot);
}

void Inventory::unlist_node(NodeIx index) {
  Node& node = mutable_node(index);
  if (!node.listed) return;
  node.listed = false;
  total_allocatable_ -= node.allocatable;
  ++layouts_;
  refresh_free(index.slot);
}

void Inventory::drop_node(NodeIx index) {
  Node& node = mutable_node(index);
  MAINSPRING_CHECK(!node.listed && node.pod_count == 0, "a node in use was dropped");
  leave_domains(index.slot);
  node_by_name_.erase(node.name);
  by_rank_.erase(std::ranges::find(by_rank_, index.slot));
  const uint32_t generation = node.generation;
  node = Node{};
  node.generation = generation;
  free_slots_.push_back(index.slot);
  --node_count_;
  node_changes_.add(index.slot);
}

void Inventory::forget_absent_gpus(NodeIx index) {
  std::vector<Gpu>& gpus = mutable_node(index).gpus;
  if (std::ranges::any_of(gpus, [](const Gpu& gpu) { return gpu.holders > 0; })) return;
  if (std::erase_if(gpus, [](const Gpu& gpu) { return !gpu.present; }) > 0) {
    refresh_free(index.slot);
  }
}

void Inventory::sample_gpu(NodeIx index, size_t device, bool healthy,
                           int64_t foreign_memory_bytes) {
  Gpu& gpu = mutable_node(index).gpus[device];
  gpu.healthy = healthy;
  gpu.foreign_memory_bytes = foreign_memory_bytes;
  ++layouts_;
  refresh_free(index.slot);
}

void Inventory::take(NodeIx index, ShapeIx shape_index, DeviceMask devices) {
  Node& node = mutable_node(index);
  const Shape& shape = shapes_[shape_index.slot];
  node.used += shape.request;
  for (DeviceMask rest = devices; rest != 0; rest &= rest - 1) {
    Gpu& gpu = node.gpus[static_cast<size_t>(__builtin_ctzll(rest))];
    const GpuTake amount = gpu_take(shape, gpu);
    gpu.used_milli += amount.milli;
    gpu.memory_used_bytes += amount.memory_bytes;
    ++gpu.holders;
  }
  book_besides(node, shape, 1);
  tags_.add(shape, index.slot, 1, 1);
  if (tags_.awaited(shape)) ++gains_;
  refresh_free(index.slot);
}

void Inventory::give_back(NodeIx index, ShapeIx shape_index, DeviceMask devices) {
  Node& node = mutable_node(index);
  const Shape& shape = shapes_[shape_index.slot];
  node.used -= shape.request;
  for (DeviceMask rest = devices; rest != 0; rest &= rest - 1) {
    Gpu& gpu = node.gpus[static_cast<size_t>(__builtin_ctzll(rest))];
    const GpuTake amount = gpu_take(shape, gpu);
    gpu.used_milli -= amount.milli;
    gpu.memory_used_bytes -= amount.memory_bytes;
    --gpu.holders;
    MAINSPRING_CHECK(gpu.used_milli >= 0 && gpu.memory_used_bytes >= 0,
                     "more was given back to a device than was taken");
  }
  book_besides(node, shape, -1);
  tags_.add(shape, index.slot, -1, -1);
  // What is free as a sum does not tell of these.
  if (shape.takes_besides()) ++gains_;
  refresh_free(index.slot);
}

void Inventory::book_besides(Node& node, const Shape& shape, int32_t sign) {
  for (const ShapeAmount& need : shape.others) {
    OtherResource& other = other_of(node, need.name);
    other.used += sign * need.amount;
    MAINSPRING_CHECK(other.used >= 0, "more of a resource was given back than was taken");
  }
  if (sign < 0 && !shape.others.empty()) {
    std::erase_if(node.others,
                  [](const OtherResource& other) { return other.total == 0 && other.used == 0; });
  }
  for (const AttachedVolume& one : shape.attachments) {
    auto at = std::ranges::lower_bound(node.volumes, one, {}, &VolumeInUse::which);
    if (at == node.volumes.end() || at->which != one) {
      at = node.volumes.insert(at, {.which = one});
    }
    at->pods += static_cast<uint32_t>(sign);
    if (at->pods == 0) node.volumes.erase(at);
  }
}

void Inventory::set_stopping(NodeIx index, ShapeIx shape_index, bool stopping) {
  const Shape& shape = shapes_[shape_index.slot];
  tags_.add(shape, index.slot, 0, stopping ? -1 : 1);
  if (tags_.awaited(shape)) ++gains_;
}

void Inventory::retag(NodeIx index, ShapeIx from, ShapeIx to, bool stopping) {
  tags_.add(shapes_[from.slot], index.slot, -1, stopping ? 0 : -1);
  tags_.add(shapes_[to.slot], index.slot, 1, stopping ? 0 : 1);
  node_changes_.add(index.slot);
  ++gains_;
}

void Inventory::grow(NodeIx index, const Resources& amount) {
  Node& node = mutable_node(index);
  node.allocatable += amount;
  if (node.listed) total_allocatable_ += amount;
  refresh_free(index.slot);
}

void Inventory::set_usable(NodeIx index, bool schedulable, bool ready) {
  Node& node = mutable_node(index);
  node.schedulable = schedulable;
  node.ready = ready;
  refresh_free(index.slot);
}

void Inventory::add_gpus(NodeIx index, size_t like, uint32_t count) {
  std::vector<Gpu>& gpus = mutable_node(index).gpus;
  MAINSPRING_CHECK(like < gpus.size() && gpus.size() + count <= kGpusPerNodeMax,
                   "a what-if gave a node more devices than it can have");
  Gpu gpu{.memory_bytes = gpus[like].memory_bytes,
          .model = gpus[like].model,
          .resource = gpus[like].resource};
  for (uint32_t i = 0; i < count; ++i) {
    gpu.id = names_.intern("what-if-" + std::to_string(gpus.size()));
    gpus.push_back(gpu);
  }
  refresh_free(index.slot);
}

void Inventory::remove_gpus(NodeIx index, uint32_t count) {
  std::vector<Gpu>& gpus = mutable_node(index).gpus;
  for (uint32_t i = 0; i < count; ++i) {
    MAINSPRING_CHECK(gpus.back().holders == 0, "a device in use was taken away");
    gpus.pop_back();
  }
  refresh_free(index.slot);
}

Free Inventory::free_of(const Node& node) const {
  Free free;
  if (!node.usable()) return free;
  for (size_t i = 0; i < kResourceCount; ++i) {
    free.resources.amounts[i] =
        std::max<int64_t>(0, node.allocatable.amounts[i] - node.used.amounts[i]);
  }
  for (const Gpu& gpu : node.gpus) {
    free.gpus += gpu.wholly_free() ? 1 : 0;
    free.gpu_milli += gpu.free_milli();
  }
  return free;
}

void Inventory::refresh_free(uint32_t slot) {
  Node& node = nodes_[slot];
  const Free after = free_of(node);
  node_changes_.add(slot);
  if (after == node.free) return;
  if (grew(node.free, after)) ++gains_;
  add_to_domains(node, node.free, true);
  node.free = after;
  add_to_domains(node, after, false);
}

}  // namespace mainspring::model
