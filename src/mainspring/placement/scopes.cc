// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/scopes.h"

#include <algorithm>

#include "mainspring/placement/mixing.h"

namespace mainspring::placement {

using model::Domain;
using model::DomainIx;
using model::LevelIx;

void Scopes::begin(const model::Inventory& inventory) {
  inventory_ = &inventory;
  scopes_.assign(1, Scope{});
  opened_.clear();
  opened_hash_ = 0;
  ignore_bounds_ = false;
  listed_ = false;
}

uint32_t Scopes::add(Scope scope) {
  scope.hash =
      mix(mix(mix(mix(scopes_[scope.wider].hash, static_cast<uint32_t>(scope.kind)), scope.value)),
          scope.most);
  scopes_.push_back(scope);
  return static_cast<uint32_t>(scopes_.size() - 1);
}

uint32_t Scopes::in_domain(uint32_t scope, uint32_t domain_slot) {
  return add({.kind = Kind::kDomain, .value = domain_slot, .wider = scope});
}

uint32_t Scopes::on_node(uint32_t scope, uint32_t node_slot) {
  return add({.kind = Kind::kNode, .value = node_slot, .wider = scope});
}

uint32_t Scopes::in_few(uint32_t scope, LevelIx level, uint32_t most) {
  return add({.kind = Kind::kFew, .value = level.slot, .wider = scope, .most = most});
}

uint32_t Scopes::in_one(uint32_t scope, LevelIx level, uint32_t domain_or_node_slot) {
  return level == inventory_->node_level() ? on_node(scope, domain_or_node_slot)
                                           : in_domain(scope, domain_or_node_slot);
}

uint32_t Scopes::domain_of(LevelIx level, uint32_t node_slot) const {
  if (level == inventory_->node_level()) return node_slot;
  const DomainIx domain = inventory_->nodes()[node_slot].domains[level.slot];
  return domain.valid() ? domain.slot : kNone;
}

uint32_t Scopes::rank_of(LevelIx level, uint32_t slot) const {
  const bool is_node = level == inventory_->node_level();
  return inventory_->nodes()[is_node ? slot : inventory_->domains()[slot].nodes.front()].rank;
}

bool Scopes::contains(uint32_t scope, uint32_t node_slot) const {
  for (uint32_t at = scope; at != kEverywhere; at = scopes_[at].wider) {
    const Scope& row = scopes_[at];
    if (row.kind == Kind::kNode && row.value != node_slot) return false;
    if (row.kind == Kind::kDomain) {
      const LevelIx level = inventory_->domains()[row.value].level;
      if (domain_of(level, node_slot) != row.value) return false;
    }
  }
  return true;
}

bool Scopes::in_use(uint32_t scope, uint32_t domain) const {
  for (uint32_t at = scopes_[scope].opened_last; at != kNone; at = opened_[at].before) {
    if (opened_[at].domain == domain) return true;
  }
  return false;
}

bool Scopes::allows(uint32_t scope, uint32_t node_slot) const {
  if (ignore_bounds_) return true;
  for (uint32_t at = scope; at != kEverywhere; at = scopes_[at].wider) {
    const Scope& row = scopes_[at];
    if (row.kind != Kind::kFew || row.most == kAnyNumber) continue;
    const uint32_t domain = domain_of(LevelIx{row.value}, node_slot);
    if (domain == kNone) return false;
    if (row.opened_count >= row.most && !in_use(at, domain)) return false;
  }
  return true;
}

void Scopes::open(uint32_t scope, uint32_t node_slot) {
  for (uint32_t at = scope; at != kEverywhere; at = scopes_[at].wider) {
    Scope& row = scopes_[at];
    if (row.kind != Kind::kFew) continue;
    const uint32_t domain = domain_of(LevelIx{row.value}, node_slot);
    if (domain == kNone || in_use(at, domain)) continue;
    opened_.push_back({at, domain, row.opened_last});
    row.opened_last = static_cast<uint32_t>(opened_.size() - 1);
    ++row.opened_count;
    opened_hash_ += mix(row.hash, domain);
  }
}

void Scopes::undo(Mark mark) {
  while (opened_.size() > mark.opened) {
    const Opened& last = opened_.back();
    Scope& row = scopes_[last.scope];
    opened_hash_ -= mix(row.hash, last.domain);
    row.opened_last = last.before;
    --row.opened_count;
    opened_.pop_back();
  }
  scopes_.resize(mark.scopes);
}

uint32_t Scopes::counting(uint32_t scope) const {
  for (uint32_t at = scope; at != kEverywhere; at = scopes_[at].wider) {
    if (scopes_[at].kind == Kind::kFew) return at;
  }
  return kNone;
}

bool Scopes::counts_nodes(uint32_t scope) const {
  for (uint32_t at = scope; at != kEverywhere; at = scopes_[at].wider) {
    const Scope& row = scopes_[at];
    if (row.kind == Kind::kFew && row.value == inventory_->node_level().slot) return true;
  }
  return false;
}

bool Scopes::below(uint32_t domain_slot, uint32_t ancestor_slot) const {
  DomainIx at{domain_slot};
  while (at.valid() && at.slot != ancestor_slot) at = inventory_->domain(at).parent;
  return at.valid();
}

bool Scopes::torn(uint32_t domain_slot) const {
  const Domain* at = &inventory_->domains()[domain_slot];
  while (at->parent.valid()) at = &inventory_->domain(at->parent);
  return inventory_->levels()[at->level.slot].wider.valid();
}

bool Scopes::inside_one(uint32_t scope, LevelIx level) const {
  for (uint32_t at = scope; at != kEverywhere; at = scopes_[at].wider) {
    const Scope& row = scopes_[at];
    if (row.kind == Kind::kNode) return true;
    if (row.kind != Kind::kDomain || level == inventory_->node_level()) continue;
    DomainIx domain{row.value};
    while (domain.valid() && inventory_->domain(domain).level != level) {
      domain = inventory_->domain(domain).parent;
    }
    if (domain.valid()) return true;
  }
  return false;
}

bool Scopes::may_overlap(uint32_t scope, uint32_t domain_slot) const {
  const std::span<const model::Level> levels = inventory_->levels();
  const uint32_t topology = levels[inventory_->domains()[domain_slot].level.slot].topology;
  for (uint32_t at = scope; at != kEverywhere; at = scopes_[at].wider) {
    const Scope& row = scopes_[at];
    if (row.kind == Kind::kNode) {
      const LevelIx level = inventory_->domains()[domain_slot].level;
      if (domain_of(level, row.value) != domain_slot) return false;
    }
    if (row.kind != Kind::kDomain) continue;
    const Domain& other = inventory_->domains()[row.value];
    if (levels[other.level.slot].topology != topology) continue;
    // Where a node lacks the label between two levels, the tree does not tell.
    if (torn(domain_slot) || torn(row.value)) continue;
    if (!below(domain_slot, row.value) && !below(row.value, domain_slot)) return false;
  }
  return true;
}

void Scopes::nodes(uint32_t scope, std::vector<uint32_t>& out) const {
  out.clear();
  uint32_t narrowest = kNone;
  size_t fewest = SIZE_MAX;
  for (uint32_t at = scope; at != kEverywhere; at = scopes_[at].wider) {
    const Scope& row = scopes_[at];
    if (row.kind == Kind::kNode) {
      if (contains(scope, row.value)) out.push_back(row.value);
      return;
    }
    if (row.kind != Kind::kDomain) continue;
    const size_t count = inventory_->domains()[row.value].nodes.size();
    if (count < fewest) fewest = count, narrowest = row.value;
  }
  const std::span<const uint32_t> pool =
      narrowest == kNone ? inventory_->nodes_by_rank()
                         : std::span<const uint32_t>(inventory_->domains()[narrowest].nodes);
  for (const uint32_t slot : pool) {
    if (contains(scope, slot)) out.push_back(slot);
  }
}

void Scopes::domains(uint32_t scope, LevelIx level, std::vector<uint32_t>& out) {
  if (level == inventory_->node_level()) {
    nodes(scope, out);
    return;
  }
  if (!listed_) {
    listed_ = true;
    of_level_.resize(inventory_->levels().size());
    for (auto& list : of_level_) list.clear();
    for (uint32_t slot = 0; slot < inventory_->domains().size(); ++slot) {
      const Domain& domain = inventory_->domains()[slot];
      if (domain.alive) of_level_[domain.level.slot].push_back(slot);
    }
    for (uint32_t i = 0; i < of_level_.size(); ++i) {
      std::ranges::sort(of_level_[i], {}, [&](uint32_t slot) { return rank_of(LevelIx{i}, slot); });
    }
  }
  out.clear();
  for (const uint32_t slot : of_level_[level.slot]) {
    if (may_overlap(scope, slot)) out.push_back(slot);
  }
}

}  // namespace mainspring::placement
