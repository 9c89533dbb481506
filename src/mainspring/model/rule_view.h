// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "mainspring/model/inventory.h"

// What the rules among pods allow while places are tried: the pods that are booked, and those that
// were added to this view since. Kubernetes' meaning of inter-pod affinity, anti-affinity and
// topology spread, rule for rule:
//
//   kNear    A node without the label of such a rule takes no such pod. Where no pod of any of its
//            kNear tags is in any domain and the pod carries them all, any other node does.
//   kApart   Both ways: neither may the pod come to the tag, nor to a pod that keeps its own tag
//            away. A node without the label is in no domain.
//   kSpread  Counted are nodes that have the label of every kSpread rule of the pod, and that the
//            rule honours; pods that were told to stop do not count. The fewest is taken over the
//            domains of such nodes, and is none where there are fewer than `min_domains`.
//
// Pods are judged one after the other, in the order in which they are added.

namespace mainspring::model {

class RuleView {
 public:
  // Why a node may not take a pod.
  struct Refusal {
    PodRuleKind kind = PodRuleKind::kApart;
    TagIx tag;
  };

  // Starts over from what is booked. `shapes` are all that will be asked about or added; those of
  // pods in the way of nobody cost nothing. O(nodes with the tags), and O(nodes) for each kSpread
  // rule.
  void begin(const Inventory& inventory, std::span<const ShapeIx> shapes);

  // Whether any of the shapes has to be asked about.
  [[nodiscard]] bool any() const { return any_; }
  // Whether this one has: pods of the others are welcome wherever there is room.
  [[nodiscard]] bool ruled(ShapeIx shape) const;
  // O(rules of the shape × log domains), and O(domains) after a change.
  [[nodiscard]] std::optional<Refusal> refuses(ShapeIx shape, uint32_t node_slot) const;
  [[nodiscard]] bool admits(ShapeIx shape, uint32_t node_slot) const {
    return !refuses(shape, node_slot);
  }
  // `pods` more pods of the shape are on the node; negative: fewer. O(rules).
  void add(ShapeIx shape, uint32_t node_slot, int32_t pods);

  struct Place {
    ShapeIx shape;
    uint32_t node = 0;  // slot
  };
  // Whether pods can come to these places one after the other, in some order. Those that can are
  // added. O(places) where the order is good, O(places²) otherwise.
  bool add_all(std::vector<Place> places);

  // Equal for nodes that the rules cannot tell apart, as booked; what was added is not looked at.
  [[nodiscard]] uint64_t likeness(uint32_t node_slot) const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  enum class Source : uint8_t { kPods, kStaying, kHolders };
  // Which nodes count for a kSpread rule.
  struct Filter {
    ShapeIx shape;
    bool requirements = true;
    bool taints = false;
    friend bool operator==(const Filter&, const Filter&) = default;
  };
  // How many pods there are by domain.
  struct Tally {
    Source source = Source::kPods;
    TagIx tag;
    RuleLevel level;
    uint32_t filter = kNone;
    std::vector<std::pair<uint32_t, int32_t>> domains;  // number and count, sorted
    int64_t total = 0;
    mutable int32_t fewest = 0;
    mutable bool fewest_known = false;
  };
  struct Check {
    PodRuleKind kind = PodRuleKind::kApart;
    uint32_t tally = 0;
    bool self = false;  // the pod carries the tag
    int32_t max_skew = 1;
    int32_t min_domains = 1;
  };
  struct Subject {
    ShapeIx shape;
    std::vector<Check> checks;
  };

  [[nodiscard]] const Subject* find(ShapeIx shape) const;
  void add_subject(ShapeIx shape);
  [[nodiscard]] uint32_t filter_for(const Filter& filter);
  uint32_t tally_for(Source source, TagIx tag, const RuleLevel& level, uint32_t filter);
  void count(Tally& tally) const;
  [[nodiscard]] bool counted(uint32_t filter, uint32_t node_slot) const;
  [[nodiscard]] int32_t adds(const Tally& tally, const Shape& shape) const;
  static int32_t count_in(const Tally& tally, uint32_t domain);
  static void adjust(Tally& tally, uint32_t domain, int32_t pods);
  static int32_t fewest_of(const Tally& tally, int32_t min_domains);

  const Inventory* inventory_ = nullptr;
  bool any_ = false;
  std::vector<Subject> subjects_;  // sorted by shape
  std::vector<Filter> filters_;
  std::vector<Tally> tallies_;
};

}  // namespace mainspring::model
