// SPDX-License-Identifier: Apache-2.0
#include "mainspring/model/tag_book.h"

#include <algorithm>

#include "mainspring/base/check.h"

namespace mainspring::model {

TagIx TagBook::intern(std::string_view tag) {
  const uint32_t number = names_.intern(tag);
  if (number == rows_.size()) rows_.emplace_back();
  return TagIx{number};
}

void TagBook::watch(const ShapeRule& rule) {
  Row& row = rows_[rule.tag.slot];
  if (rule.kind != PodRuleKind::kApart) {
    row.awaited = true;
  } else if (std::ranges::find(row.bars, rule.level, &Bar::level) == row.bars.end()) {
    row.bars.push_back({.level = rule.level, .holders = {}});
  }
}

bool TagBook::awaited(const Shape& shape) const {
  return std::ranges::any_of(shape.tags, [this](TagIx tag) { return rows_[tag.slot].awaited; });
}

void TagBook::add(std::vector<Count>& counts, uint32_t node, int32_t pods, int32_t staying) {
  auto at = std::ranges::lower_bound(counts, node, {}, &Count::node);
  if (at == counts.end() || at->node != node) at = counts.insert(at, {.node = node});
  at->pods += pods;
  at->staying += staying;
  MAINSPRING_CHECK(at->staying >= 0 && at->staying <= at->pods, "pods of a tag were miscounted");
  if (at->pods == 0) counts.erase(at);
}

void TagBook::add(std::vector<Row>& rows, const Shape& shape, uint32_t node, int32_t pods,
                  int32_t staying) {
  for (const TagIx tag : shape.tags) add(rows[tag.slot].pods, node, pods, staying);
  for (const ShapeRule& rule : shape.rules) {
    if (rule.kind != PodRuleKind::kApart) continue;
    const auto bar = std::ranges::find(rows[rule.tag.slot].bars, rule.level, &Bar::level);
    add(bar->holders, node, pods, staying);
  }
}

void TagBook::check(std::span<const Booked> all) const {
  std::vector<Row> counted = rows_;
  for (Row& row : counted) {
    row.pods.clear();
    for (Bar& bar : row.bars) bar.holders.clear();
  }
  for (const Booked& one : all) add(counted, *one.shape, one.node, 1, one.staying ? 1 : 0);
  for (size_t i = 0; i < rows_.size(); ++i) {
    MAINSPRING_CHECK(counted[i].pods == rows_[i].pods && counted[i].bars == rows_[i].bars,
                     "the pods of a tag are not what a recount gives");
  }
}

}  // namespace mainspring::model
