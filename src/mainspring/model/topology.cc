// SPDX-License-Identifier: Apache-2.0
// The topology side of Inventory: levels, domains and their sums.
#include <algorithm>

#include "mainspring/model/inventory.h"

namespace mainspring::model {
namespace {

void add(Free& sum, const Free& amount, int64_t sign) {
  for (size_t i = 0; i < kResourceCount; ++i) {
    sum.resources.amounts[i] += sign * amount.resources.amounts[i];
  }
  sum.gpus += sign * amount.gpus;
  sum.gpu_milli += sign * amount.gpu_milli;
}

}  // namespace

LevelIx Inventory::find_level(std::string_view name) const {
  const uint32_t wanted = names_.find(name);
  for (size_t i = 0; i < levels_.size(); ++i) {
    if (wanted != base::NameTable::kNone && levels_[i].name == wanted) {
      return LevelIx{static_cast<uint32_t>(i)};
    }
  }
  return LevelIx{};
}

base::Status Inventory::set_topologies(std::span<const TopologySpec> topologies) {
  for (uint32_t slot = 0; slot < nodes_.size(); ++slot) {
    if (nodes_[slot].alive) leave_domains(slot);
  }
  levels_.resize(1);
  uint32_t number = 0;
  for (const TopologySpec& topology : topologies) {
    LevelIx wider;
    for (const Label& level : topology.levels) {
      levels_.push_back(Level{.name = names_.intern(level.key),
                              .label = names_.intern(level.value),
                              .topology = number,
                              .wider = wider});
      wider = LevelIx{static_cast<uint32_t>(levels_.size() - 1)};
    }
    ++number;
  }
  for (const uint32_t slot : by_rank_) {
    join_domains(slot);
    node_changes_.add(slot);
  }
  ++gains_;
  ++layouts_;
  return {};
}

DomainIx Inventory::domain_for(LevelIx level, DomainIx parent, NameIx value) {
  std::string path = parent.valid() ? domains_[parent.slot].path + "/" : std::string();
  path += names_.name(levels_[level.slot].name) + ":" + names_.name(value);
  const uint32_t known = domain_by_path_.find(path);
  if (known != base::IdMap::kNone) return DomainIx{known};
  uint32_t slot = static_cast<uint32_t>(domains_.size());
  if (free_domain_slots_.empty()) {
    domains_.emplace_back();
  } else {
    slot = free_domain_slots_.back();
    free_domain_slots_.pop_back();
  }
  domain_by_path_.insert(path, slot);
  domains_[slot] = Domain{.level = level,
                          .parent = parent,
                          .value = value,
                          .path = std::move(path),
                          .alive = true,
                          .nodes = {},
                          .free = {}};
  return DomainIx{slot};
}

void Inventory::join_domains(uint32_t slot) {
  Node& node = nodes_[slot];
  node.domains.assign(levels_.size(), DomainIx{});
  for (uint32_t i = 1; i < levels_.size(); ++i) {
    const Level& level = levels_[i];
    const auto label = std::ranges::lower_bound(node.labels, level.label, {}, &NodeLabel::key);
    if (label == node.labels.end() || label->key != level.label) continue;
    const DomainIx parent = level.wider.valid() ? node.domains[level.wider.slot] : DomainIx{};
    const DomainIx domain = domain_for(LevelIx{i}, parent, label->value);
    node.domains[i] = domain;
    std::vector<uint32_t>& members = domains_[domain.slot].nodes;
    const auto place = std::ranges::upper_bound(
        members, node.rank, {}, [this](uint32_t member) { return nodes_[member].rank; });
    members.insert(place, slot);
  }
  add_to_domains(node, node.free, false);
}

void Inventory::leave_domains(uint32_t slot) {
  Node& node = nodes_[slot];
  add_to_domains(node, node.free, true);
  for (size_t i = node.domains.size(); i-- > 0;) {
    const DomainIx domain = node.domains[i];
    if (!domain.valid()) continue;
    std::vector<uint32_t>& members = domains_[domain.slot].nodes;
    members.erase(std::ranges::find(members, slot));
    if (!members.empty()) continue;
    domain_by_path_.erase(domains_[domain.slot].path);
    domains_[domain.slot] = Domain{};
    free_domain_slots_.push_back(domain.slot);
  }
  node.domains.clear();
}

void Inventory::add_to_domains(const Node& node, const Free& amount, bool negative) {
  const int64_t sign = negative ? -1 : 1;
  add(total_free_, amount, sign);
  for (const DomainIx domain : node.domains) {
    if (domain.valid()) add(domains_[domain.slot].free, amount, sign);
  }
}

void Inventory::check_sums() const {
  Free total;
  Resources allocatable;
  std::vector<Free> sums(domains_.size());
  for (const Node& node : nodes_) {
    if (!node.alive) continue;
    MAINSPRING_CHECK(free_of(node) == node.free,
                     "a node's free amounts are not what a recount gives");
    add(total, node.free, 1);
    if (node.listed) allocatable += node.allocatable;
    for (const DomainIx domain : node.domains) {
      if (domain.valid()) add(sums[domain.slot], node.free, 1);
    }
  }
  MAINSPRING_CHECK(total == total_free_, "the free total is not what a recount gives");
  MAINSPRING_CHECK(allocatable == total_allocatable_, "the allocatable total is wrong");
  for (size_t i = 0; i < domains_.size(); ++i) {
    MAINSPRING_CHECK(sums[i] == domains_[i].free, "a domain's sums are not what a recount gives");
  }
}

}  // namespace mainspring::model
