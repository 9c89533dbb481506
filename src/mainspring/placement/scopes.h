// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "mainspring/model/inventory.h"

// Where a group may be: everywhere, or inside domains of several topologies at once, or on one
// node; and in at most so many domains of a level. Scopes nest as groups do: each is a link to the
// wider one. Grows and shrinks like a stack, as the search goes forth and back.

namespace mainspring::placement {

class Scopes {
 public:
  static constexpr uint32_t kEverywhere = 0;
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kAnyNumber = UINT32_MAX;

  struct Mark {
    uint32_t scopes = 1;
    uint32_t opened = 0;
  };

  void begin(const model::Inventory& inventory);

  uint32_t in_domain(uint32_t scope, uint32_t domain_slot);
  uint32_t on_node(uint32_t scope, uint32_t node_slot);
  // At most `most` domains of the level. kAnyNumber: no bound, but those in use come first.
  uint32_t in_few(uint32_t scope, model::LevelIx level, uint32_t most);
  // Either of the first two, as the level says.
  uint32_t in_one(uint32_t scope, model::LevelIx level, uint32_t domain_or_node_slot);

  [[nodiscard]] bool contains(uint32_t scope, uint32_t node_slot) const;
  // Whether the bounds on the number of domains let a pod onto this node.
  [[nodiscard]] bool allows(uint32_t scope, uint32_t node_slot) const;
  // A pod goes there: its domains count as in use from now on.
  void open(uint32_t scope, uint32_t node_slot);
  void ignore_bounds(bool ignore) { ignore_bounds_ = ignore; }

  [[nodiscard]] Mark mark() const {
    return {static_cast<uint32_t>(scopes_.size()), static_cast<uint32_t>(opened_.size())};
  }
  void undo(Mark mark);

  [[nodiscard]] bool everywhere(uint32_t scope) const { return scope == kEverywhere; }
  // The nearest scope around (or this one) that counts domains, or kNone.
  [[nodiscard]] uint32_t counting(uint32_t scope) const;
  // The next one around that.
  [[nodiscard]] uint32_t counting_beyond(uint32_t scope) const {
    return counting(scopes_[scope].wider);
  }
  [[nodiscard]] model::LevelIx level(uint32_t scope) const {
    return model::LevelIx{scopes_[scope].value};
  }
  [[nodiscard]] bool in_use(uint32_t scope, uint32_t domain) const;
  [[nodiscard]] bool counts_nodes(uint32_t scope) const;
  // Whether the scope lies inside one domain of the level already.
  [[nodiscard]] bool inside_one(uint32_t scope, model::LevelIx level) const;

  // Slots in order of rank.
  void nodes(uint32_t scope, std::vector<uint32_t>& out) const;
  // Domains of the level (for the level "node": nodes) that can have nodes in the scope.
  void domains(uint32_t scope, model::LevelIx level, std::vector<uint32_t>& out);

  // The domain (for the level "node": the node itself), or kNone where the label is lacking.
  [[nodiscard]] uint32_t domain_of(model::LevelIx level, uint32_t node_slot) const;
  // For ties between domains: the rank of the first node.
  [[nodiscard]] uint32_t rank_of(model::LevelIx level, uint32_t domain_or_node_slot) const;

  [[nodiscard]] uint64_t hash(uint32_t scope) const { return scopes_[scope].hash; }
  [[nodiscard]] uint64_t opened_hash() const { return opened_hash_; }

 private:
  enum class Kind : uint8_t { kEverywhere, kDomain, kNode, kFew };
  struct Scope {
    Kind kind = Kind::kEverywhere;
    uint32_t value = 0;  // slot of the domain or node, or number of the level
    uint32_t wider = kNone;
    uint32_t most = 0;
    uint32_t opened_last = kNone;
    uint32_t opened_count = 0;
    uint64_t hash = 0;
  };
  struct Opened {
    uint32_t scope = 0;
    uint32_t domain = 0;
    uint32_t before = kNone;
  };

  uint32_t add(Scope scope);
  // Whether a domain and the scope can overlap, as far as their topology tells.
  [[nodiscard]] bool may_overlap(uint32_t scope, uint32_t domain_slot) const;
  // Whether the domain's line of parents ends below the widest level.
  [[nodiscard]] bool torn(uint32_t domain_slot) const;
  [[nodiscard]] bool below(uint32_t domain_slot, uint32_t ancestor_slot) const;

  const model::Inventory* inventory_ = nullptr;
  std::vector<Scope> scopes_;
  std::vector<Opened> opened_;
  uint64_t opened_hash_ = 0;
  bool ignore_bounds_ = false;
  bool listed_ = false;
  std::vector<std::vector<uint32_t>> of_level_;  // by level: domain slots in order of rank
};

}  // namespace mainspring::placement
