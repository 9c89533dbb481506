// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "mainspring/model/cluster_state.h"

// What a job still needs, in the form that the search works on: identical pods of one group are one
// run, identical untouched child groups are one class, and each group knows how many of its runs'
// pods and classes' members it still needs.

namespace mainspring::placement {

// A lower bound of what something takes, to compare with sums over domains.
struct Demand {
  model::Resources resources;
  int64_t gpus = 0;       // whole devices
  int64_t gpu_milli = 0;  // whole devices included; shares by memory count nothing

  [[nodiscard]] bool within(const model::Free& free) const {
    return gpus <= free.gpus && gpu_milli <= free.gpu_milli && resources.within(free.resources);
  }
  // Smallest first: GPUs before CPU before memory.
  [[nodiscard]] bool lighter_than(const Demand& other) const;
};

// Pending pods of one group and one shape.
struct Run {
  uint32_t group = 0;
  model::ShapeIx shape;
  uint32_t first = 0;  // in JobDemand::pods
  uint32_t count = 0;
};

// Child groups that are interchangeable: alike, and nothing of them is placed yet. A group of which
// something is placed is alone in its class.
struct GroupClass {
  uint32_t first = 0;  // in JobDemand::members
  uint32_t count = 0;
};

// What a group may choose from: `available` pods of a run or groups of a class.
struct Item {
  bool is_run = false;
  uint32_t index = 0;  // in runs or classes
  uint32_t available = 0;
  uint32_t available_after = 0;  // over the items behind this one
  uint32_t order = 0;            // of the first pod or group, for ties
  // It needs pods of other shapes near to it: those are placed first.
  bool follows = false;
  Demand each;
  Demand each_full;  // with everything above the minimum
};

struct GroupDemand {
  uint32_t need = 0;  // children beyond those that are satisfied already
  uint32_t first_item = 0;
  uint32_t item_count = 0;  // lightest first
  uint32_t items_available = 0;
  model::LevelIx required;
  model::LevelIx preferred;
  Demand full;              // of all its children
  Demand least;             // of the cheapest choice of children, component by component
  uint32_t pods_least = 0;  // pods in the smallest choice
  bool in_every_solution = false;
  bool follows = false;   // some run of it or below it does
  bool touched = false;   // some pod of it holds a place or is done
  model::NodeIx anchor;   // where one of its pods is
  uint64_t likeness = 0;  // equal for untouched groups that are alike
};

class JobDemand {
 public:
  // O(pods + groups × log). Buffers are kept between jobs.
  void compile(const model::ClusterState& state, const model::Job& job);

  [[nodiscard]] std::span<const GroupDemand> groups() const { return groups_; }
  [[nodiscard]] const GroupDemand& group(uint32_t index) const { return groups_[index]; }
  [[nodiscard]] uint32_t parent(uint32_t index) const { return parents_[index]; }
  [[nodiscard]] const Run& run(uint32_t index) const { return runs_[index]; }
  [[nodiscard]] std::span<const Run> runs() const { return runs_; }
  [[nodiscard]] const GroupClass& group_class(uint32_t index) const { return classes_[index]; }
  [[nodiscard]] uint32_t member(uint32_t index) const { return members_[index]; }
  [[nodiscard]] std::span<const Item> items(const GroupDemand& group) const {
    return std::span(items_).subspan(group.first_item, group.item_count);
  }
  [[nodiscard]] model::PodIx pod(uint32_t index) const { return pods_[index]; }
  // Where pods of the group, or of groups below it, are already.
  void held_nodes(uint32_t group, std::vector<uint32_t>& node_slots) const;
  // Levels that some group names; label keys that some shape looks at.
  [[nodiscard]] std::span<const model::LevelIx> levels() const { return levels_; }
  [[nodiscard]] std::span<const model::NameIx> label_keys() const { return label_keys_; }
  // Some shape asks for other resources, or for volumes.
  [[nodiscard]] bool asks_besides() const { return asks_besides_; }
  // A group names a required level that no topology has.
  [[nodiscard]] bool unknown_level() const { return unknown_level_; }

 private:
  void read_pods(const model::ClusterState& state, const model::Job& job, uint32_t group);
  void read_children(const model::Job& job, uint32_t group);
  void finish_group(uint32_t group);
  void collect_names(const model::Inventory& inventory);

  std::vector<GroupDemand> groups_;
  std::vector<Run> runs_;
  std::vector<GroupClass> classes_;
  std::vector<uint32_t> members_;
  std::vector<Item> items_;
  std::vector<model::PodIx> pods_;
  std::vector<uint32_t> parents_;                    // by group; the root's is itself
  std::vector<std::pair<uint32_t, uint32_t>> held_;  // group, node slot
  std::vector<model::LevelIx> levels_;
  std::vector<model::NameIx> label_keys_;
  std::vector<uint32_t> run_of_shape_;  // while one group is read: its run of each shape
  std::vector<uint32_t> run_of_pod_;
  std::vector<uint32_t> order_;
  bool unknown_level_ = false;
  bool asks_besides_ = false;
};

}  // namespace mainspring::placement
