// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

// Worlds small enough to try everything: a few nodes with a few GPUs and one gang, for the test
// that compares the search with brute force. They are listed up to symmetry: nodes inside a rack,
// racks, pods of one group, and child groups of the root come as multisets.

namespace mainspring::placement {

enum class SmallLevel : uint8_t { kNone, kRow, kRack, kNode };

struct SmallNode {
  int rack = 0;
  int row = 0;    // of a second topology, apart from the racks
  int whole = 0;  // wholly free GPUs
  int half = 0;   // GPUs of which one half is free
  int cpus = 0;
};

struct SmallShape {
  int whole = 0;      // GPUs, or
  bool half = false;  // one half of a GPU; each pod takes one CPU
  friend auto operator<=>(const SmallShape&, const SmallShape&) = default;
};

struct SmallPod {
  int group = 0;
  SmallShape shape;
};

struct SmallGroup {
  int parent = -1;
  int min = 0;
  SmallLevel required = SmallLevel::kNone;
  SmallLevel preferred = SmallLevel::kNone;
};

struct SmallGang {
  std::vector<SmallGroup> groups;
  std::vector<SmallPod> pods;  // by group, equal ones side by side
};

using SmallNodes = std::vector<SmallNode>;

// Every multiset of `size` items out of `kinds`, as sorted lists.
inline void each_multiset(int kinds, int size, std::vector<int>& chosen, const auto& visit) {
  if (static_cast<int>(chosen.size()) == size) {
    visit(chosen);
    return;
  }
  for (int kind = chosen.empty() ? 0 : chosen.back(); kind < kinds; ++kind) {
    chosen.push_back(kind);
    each_multiset(kinds, size, chosen, visit);
    chosen.pop_back();
  }
}

// One to four nodes of six kinds in any number of racks: every multiset of racks, each of which is
// a multiset of nodes.
class SmallClusters {
 public:
  static std::vector<SmallNodes> all() {
    SmallClusters list;
    std::vector<int> chosen;
    for (int size = 1; size <= kNodesMax; ++size) {
      each_multiset(static_cast<int>(kKinds.size()), size, chosen,
                    [&](const std::vector<int>& rack) { list.racks_.push_back(rack); });
    }
    list.add_racks(0, 0);
    return list.clusters_;
  }

 private:
  static constexpr int kNodesMax = 4;
  static constexpr std::array<SmallNode, 6> kKinds = {{
      {.whole = 1, .cpus = 99},
      {.whole = 2, .cpus = 99},
      {.whole = 3, .cpus = 99},
      {.whole = 4, .cpus = 99},
      {.whole = 4, .cpus = 2},
      {.whole = 1, .half = 1, .cpus = 99},
  }};

  void add_racks(size_t first, int number) {
    if (!nodes_.empty()) clusters_.push_back(nodes_);
    for (size_t rack = first; rack < racks_.size(); ++rack) {
      if (nodes_.size() + racks_[rack].size() > kNodesMax) continue;
      for (const int kind : racks_[rack]) {
        nodes_.push_back(kKinds[static_cast<size_t>(kind)]);
        nodes_.back().rack = number;
      }
      add_racks(rack, number + 1);
      nodes_.resize(nodes_.size() - racks_[rack].size());
    }
  }

  std::vector<std::vector<int>> racks_;
  SmallNodes nodes_;
  std::vector<SmallNodes> clusters_;
};

// Up to six pods of four shapes: flat gangs of mixed sizes, gangs of two or three child groups, and
// child groups beside loose pods; with every minimum and required level that tells them apart.
class SmallGangs {
 public:
  static std::vector<SmallGang> all() {
    SmallGangs list;
    list.add_flat();
    list.list_children();
    list.add_nested(2);
    list.add_nested(3);
    list.add_mixed();
    return list.gangs_;
  }

 private:
  static constexpr int kPodsMax = 6;
  static constexpr std::array<SmallShape, 4> kShapes = {
      {{.whole = 1}, {.whole = 2}, {.whole = 3}, {.half = true}}};
  static constexpr std::array<SmallLevel, 3> kLevels = {SmallLevel::kNone, SmallLevel::kRack,
                                                        SmallLevel::kNode};
  struct Child {
    int shape = 0;
    int pods = 0;
    int min = 0;
    SmallLevel required = SmallLevel::kNone;
  };

  static void add_pods(SmallGang& gang, int group, int shape, int count) {
    for (int i = 0; i < count; ++i) {
      gang.pods.push_back({group, kShapes[static_cast<size_t>(shape)]});
    }
  }

  static void add_child(SmallGang& gang, const Child& child) {
    gang.groups.push_back({.parent = 0, .min = child.min, .required = child.required});
    add_pods(gang, static_cast<int>(gang.groups.size()) - 1, child.shape, child.pods);
  }

  void add_flat() {
    std::vector<int> chosen;
    for (int size = 1; size <= kPodsMax; ++size) {
      each_multiset(static_cast<int>(kShapes.size()), size, chosen, [&](const auto& shapes) {
        for (const SmallLevel required : kLevels) {
          for (int min = 1; min <= size; ++min) {
            SmallGang gang{.groups = {{.min = min, .required = required}}, .pods = {}};
            for (const int shape : shapes) add_pods(gang, 0, shape, 1);
            gangs_.push_back(gang);
          }
        }
      });
    }
  }

  void list_children() {
    for (int shape = 0; shape < static_cast<int>(kShapes.size()); ++shape) {
      children_.push_back({shape, 1, 1, SmallLevel::kNone});
      for (int pods = 2; pods <= 3; ++pods) {
        for (int min = 1; min <= pods; ++min) {
          for (const SmallLevel required : kLevels)
            children_.push_back({shape, pods, min, required});
        }
      }
    }
  }

  void add_nested(int groups) {
    std::vector<int> chosen;
    each_multiset(static_cast<int>(children_.size()), groups, chosen, [&](const auto& picked) {
      int pods = 0;
      for (const int child : picked) pods += children_[static_cast<size_t>(child)].pods;
      if (pods > kPodsMax) return;
      for (const SmallLevel required : {SmallLevel::kNone, SmallLevel::kRack}) {
        for (int min = groups - 1; min <= groups; ++min) {
          SmallGang gang{.groups = {{.min = min, .required = required}}, .pods = {}};
          for (const int child : picked) add_child(gang, children_[static_cast<size_t>(child)]);
          gangs_.push_back(gang);
        }
      }
    });
  }

  void add_mixed() {
    std::vector<int> chosen;
    for (const Child& child : children_) {
      if (child.pods == 1) continue;
      for (int loose = 1; loose <= 3; ++loose) {
        each_multiset(static_cast<int>(kShapes.size()), loose, chosen, [&](const auto& shapes) {
          for (const SmallLevel required : {SmallLevel::kNone, SmallLevel::kRack}) {
            for (int min = loose; min <= loose + 1; ++min) {
              SmallGang gang{.groups = {{.min = min, .required = required}}, .pods = {}};
              for (const int shape : shapes) add_pods(gang, 0, shape, 1);
              add_child(gang, child);
              gangs_.push_back(gang);
            }
          }
        });
      }
    }
  }

  std::vector<Child> children_;
  std::vector<SmallGang> gangs_;
};

// World number i is cluster i / gangs with gang i mod gangs.
struct SmallWorlds {
  std::vector<SmallNodes> clusters = SmallClusters::all();
  std::vector<SmallGang> gangs = SmallGangs::all();

  [[nodiscard]] uint64_t count() const { return uint64_t{clusters.size()} * gangs.size(); }
  [[nodiscard]] const SmallNodes& nodes(uint64_t index) const {
    return clusters[index / gangs.size()];
  }
  [[nodiscard]] const SmallGang& gang(uint64_t index) const { return gangs[index % gangs.size()]; }
};

}  // namespace mainspring::placement
