// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/name_table.h"
#include "mainspring/model/shapes.h"

// On which nodes are the pods that carry a tag, and on which are those that keep pods with the tag
// apart from themselves. Counted by node and not by domain, so that a node may change its labels.
//
// A change costs O((tags + rules of the shape) × nodes where the tag is).

namespace mainspring::model {

class TagBook {
 public:
  struct Count {
    uint32_t node = 0;  // slot
    int32_t pods = 0;
    int32_t staying = 0;  // of these, not told to stop
    friend bool operator==(const Count&, const Count&) = default;
  };
  // Pods with a rule kApart over the tag.
  struct Bar {
    RuleLevel level;
    std::vector<Count> holders;
    friend bool operator==(const Bar&, const Bar&) = default;
  };

  TagIx intern(std::string_view tag);
  // Some shape has this rule: where pods of the tag come or go, others may get an answer.
  void watch(const ShapeRule& rule);

  void add(const Shape& shape, uint32_t node, int32_t pods, int32_t staying) {
    add(rows_, shape, node, pods, staying);
  }

  [[nodiscard]] const std::string& name(TagIx tag) const { return names_.name(tag.slot); }
  // In order of nodes; none has no pod.
  [[nodiscard]] std::span<const Count> carriers(TagIx tag) const { return rows_[tag.slot].pods; }
  [[nodiscard]] std::span<const Bar> bars(TagIx tag) const { return rows_[tag.slot].bars; }
  // Whether pods of the shape can open a place to others by where they are.
  [[nodiscard]] bool awaited(const Shape& shape) const;

  struct Booked {
    const Shape* shape = nullptr;
    uint32_t node = 0;
    bool staying = true;
  };
  // Recounts and aborts on any difference.
  void check(std::span<const Booked> all) const;

 private:
  struct Row {
    std::vector<Count> pods;
    std::vector<Bar> bars;  // one per level
    bool awaited = false;   // by a rule kNear or kSpread
  };

  static void add(std::vector<Row>& rows, const Shape& shape, uint32_t node, int32_t pods,
                  int32_t staying);
  static void add(std::vector<Count>& counts, uint32_t node, int32_t pods, int32_t staying);

  base::NameTable names_;
  std::vector<Row> rows_;
};

}  // namespace mainspring::model
