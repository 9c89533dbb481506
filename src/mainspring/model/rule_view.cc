// SPDX-License-Identifier: Apache-2.0
#include "mainspring/model/rule_view.h"

#include <algorithm>

#include "mainspring/base/hash.h"

namespace mainspring::model {
namespace {

bool has_bars(const TagBook& tags, const Shape& shape) {
  return std::ranges::any_of(shape.tags, [&](TagIx tag) {
    return std::ranges::any_of(tags.bars(tag),
                               [](const TagBook::Bar& bar) { return !bar.holders.empty(); });
  });
}

}  // namespace

void RuleView::begin(const Inventory& inventory, std::span<const ShapeIx> shapes) {
  inventory_ = &inventory;
  any_ = false;
  subjects_.clear();
  filters_.clear();
  tallies_.clear();
  for (const ShapeIx index : shapes) {
    const Shape& shape = inventory.shape(index);
    any_ = any_ || !shape.rules.empty() || has_bars(inventory.tags(), shape);
  }
  if (!any_) return;
  for (const ShapeIx shape : shapes) {
    if (find(shape) == nullptr) add_subject(shape);
  }
}

const RuleView::Subject* RuleView::find(ShapeIx shape) const {
  const auto at = std::ranges::lower_bound(subjects_, shape, {}, &Subject::shape);
  return at != subjects_.end() && at->shape == shape ? &*at : nullptr;
}

bool RuleView::ruled(ShapeIx shape) const {
  const Subject* subject = find(shape);
  return subject != nullptr && !subject->checks.empty();
}

void RuleView::add_subject(ShapeIx index) {
  const Shape& shape = inventory_->shape(index);
  Subject subject{.shape = index, .checks = {}};
  for (const ShapeRule& rule : shape.rules) {
    const bool spread = rule.kind == PodRuleKind::kSpread;
    const uint32_t filter =
        spread ? filter_for({index, rule.honor_requirements, rule.honor_taints}) : kNone;
    subject.checks.push_back({.kind = rule.kind,
                              .tally = tally_for(spread ? Source::kStaying : Source::kPods,
                                                 rule.tag, rule.level, filter),
                              .self = shape.carries(rule.tag),
                              .max_skew = rule.max_skew,
                              .min_domains = rule.min_domains});
  }
  // Known for every rule that any shape has: pods of this search may be its holders.
  for (const TagIx tag : shape.tags) {
    for (const TagBook::Bar& bar : inventory_->tags().bars(tag)) {
      subject.checks.push_back({.kind = PodRuleKind::kApart,
                                .tally = tally_for(Source::kHolders, tag, bar.level, kNone)});
    }
  }
  const auto at = std::ranges::lower_bound(subjects_, index, {}, &Subject::shape);
  subjects_.insert(at, std::move(subject));
}

uint32_t RuleView::filter_for(const Filter& filter) {
  const auto at = std::ranges::find(filters_, filter);
  if (at != filters_.end()) return static_cast<uint32_t>(at - filters_.begin());
  filters_.push_back(filter);
  return static_cast<uint32_t>(filters_.size() - 1);
}

uint32_t RuleView::tally_for(Source source, TagIx tag, const RuleLevel& level, uint32_t filter) {
  for (uint32_t i = 0; i < tallies_.size(); ++i) {
    const Tally& known = tallies_[i];
    if (known.source == source && known.tag == tag && known.level == level &&
        known.filter == filter) {
      return i;
    }
  }
  tallies_.push_back(
      {.source = source, .tag = tag, .level = level, .filter = filter, .domains = {}});
  count(tallies_.back());
  return static_cast<uint32_t>(tallies_.size() - 1);
}

void RuleView::count(Tally& tally) const {
  const std::span<const Node> nodes = inventory_->nodes();
  if (tally.filter != kNone) {
    // Domains without a pod count as well.
    for (const uint32_t slot : inventory_->nodes_by_rank()) {
      if (!counted(tally.filter, slot)) continue;
      const uint32_t domain = rule_domain(tally.level, nodes[slot], slot);
      if (tally.domains.empty() || tally.domains.back().first != domain) {
        tally.domains.emplace_back(domain, 0);
      }
    }
    std::ranges::sort(tally.domains);
    tally.domains.erase(std::unique(tally.domains.begin(), tally.domains.end()),
                        tally.domains.end());
  }
  const TagBook& tags = inventory_->tags();
  std::span<const TagBook::Count> counts = tags.carriers(tally.tag);
  if (tally.source == Source::kHolders) {
    const auto bar = std::ranges::find(tags.bars(tally.tag), tally.level, &TagBook::Bar::level);
    counts = bar->holders;
  }
  for (const TagBook::Count& one : counts) {
    if (tally.filter != kNone && !counted(tally.filter, one.node)) continue;
    const uint32_t domain = rule_domain(tally.level, nodes[one.node], one.node);
    if (domain == kNowhere) continue;
    adjust(tally, domain, tally.source == Source::kStaying ? one.staying : one.pods);
  }
}

bool RuleView::counted(uint32_t filter, uint32_t slot) const {
  const Filter& row = filters_[filter];
  const Shape& shape = inventory_->shape(row.shape);
  const Node& node = inventory_->nodes()[slot];
  if (!node.listed) return false;
  for (const ShapeRule& rule : shape.rules) {
    if (rule.kind != PodRuleKind::kSpread) continue;
    if (rule_domain(rule.level, node, slot) == kNowhere) return false;
  }
  if (row.requirements && shape.asks_labels() && !labels_match(shape, node, inventory_->names())) {
    return false;
  }
  return !row.taints || taints_tolerated(shape, node);
}

int32_t RuleView::adds(const Tally& tally, const Shape& shape) const {
  if (tally.source != Source::kHolders) return shape.carries(tally.tag) ? 1 : 0;
  const auto holds = [&](const ShapeRule& rule) {
    return rule.kind == PodRuleKind::kApart && rule.tag == tally.tag && rule.level == tally.level;
  };
  return std::ranges::any_of(shape.rules, holds) ? 1 : 0;
}

int32_t RuleView::count_in(const Tally& tally, uint32_t domain) {
  const auto at =
      std::ranges::lower_bound(tally.domains, domain, {}, &std::pair<uint32_t, int32_t>::first);
  return at != tally.domains.end() && at->first == domain ? at->second : 0;
}

void RuleView::adjust(Tally& tally, uint32_t domain, int32_t pods) {
  auto at =
      std::ranges::lower_bound(tally.domains, domain, {}, &std::pair<uint32_t, int32_t>::first);
  if (at == tally.domains.end() || at->first != domain) {
    at = tally.domains.insert(at, {domain, 0});
  }
  at->second += pods;
  tally.total += pods;
  tally.fewest_known = false;
}

int32_t RuleView::fewest_of(const Tally& tally, int32_t min_domains) {
  if (tally.domains.size() < static_cast<size_t>(min_domains)) return 0;
  if (!tally.fewest_known) {
    tally.fewest = INT32_MAX;
    for (const auto& [domain, pods] : tally.domains) tally.fewest = std::min(tally.fewest, pods);
    tally.fewest_known = true;
  }
  return tally.fewest;
}

std::optional<RuleView::Refusal> RuleView::refuses(ShapeIx shape, uint32_t slot) const {
  const Subject* subject = find(shape);
  if (subject == nullptr) return std::nullopt;
  const Node& node = inventory_->nodes()[slot];
  std::optional<Refusal> far;
  bool first_of_its_kind = true;
  for (const Check& check : subject->checks) {
    const Tally& tally = tallies_[check.tally];
    const uint32_t domain = rule_domain(tally.level, node, slot);
    const Refusal refusal{check.kind, tally.tag};
    switch (check.kind) {
      case PodRuleKind::kNear:
        if (domain == kNowhere) return refusal;
        if (count_in(tally, domain) == 0) far = refusal;
        first_of_its_kind = first_of_its_kind && check.self && tally.total == 0;
        break;
      case PodRuleKind::kApart:
        if (domain != kNowhere && count_in(tally, domain) > 0) return refusal;
        break;
      case PodRuleKind::kSpread: {
        if (domain == kNowhere) return refusal;
        const int64_t there = count_in(tally, domain) + (check.self ? 1 : 0);
        if (there - fewest_of(tally, check.min_domains) > check.max_skew) return refusal;
        break;
      }
    }
  }
  return far && !first_of_its_kind ? far : std::nullopt;
}

void RuleView::add(ShapeIx index, uint32_t slot, int32_t pods) {
  const Shape& shape = inventory_->shape(index);
  const Node& node = inventory_->nodes()[slot];
  for (Tally& tally : tallies_) {
    if (adds(tally, shape) == 0) continue;
    if (tally.filter != kNone && !counted(tally.filter, slot)) continue;
    const uint32_t domain = rule_domain(tally.level, node, slot);
    if (domain != kNowhere) adjust(tally, domain, pods);
  }
}

bool RuleView::add_all(std::vector<Place> places) {
  for (size_t before = places.size() + 1; !places.empty() && places.size() < before;) {
    before = places.size();
    std::erase_if(places, [this](const Place& place) {
      if (!admits(place.shape, place.node)) return false;
      add(place.shape, place.node, 1);
      return true;
    });
  }
  return places.empty();
}

uint64_t RuleView::likeness(uint32_t slot) const {
  base::RunHash hash;
  const Node& node = inventory_->nodes()[slot];
  const TagBook& tags = inventory_->tags();
  const auto pods_here = [slot](std::span<const TagBook::Count> counts) {
    const auto at = std::ranges::lower_bound(counts, slot, {}, &TagBook::Count::node);
    return at != counts.end() && at->node == slot ? *at : TagBook::Count{};
  };
  for (const Tally& tally : tallies_) {
    if (tally.filter != kNone) hash.add(counted(tally.filter, slot));
    if (tally.level.kind == RuleLevel::Kind::kLabel) {
      hash.add(rule_domain(tally.level, node, slot));
    }
    if (tally.level.kind != RuleLevel::Kind::kNode) continue;
    if (tally.source == Source::kHolders) {
      const auto bar = std::ranges::find(tags.bars(tally.tag), tally.level, &TagBook::Bar::level);
      hash.add(pods_here(bar->holders).pods);
    } else {
      const TagBook::Count here = pods_here(tags.carriers(tally.tag));
      hash.add(tally.source == Source::kPods ? here.pods : here.staying);
    }
  }
  return hash.value();
}

}  // namespace mainspring::model
