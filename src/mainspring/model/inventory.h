// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/id_map.h"
#include "mainspring/base/name_table.h"
#include "mainspring/base/result.h"
#include "mainspring/model/change_log.h"
#include "mainspring/model/shapes.h"
#include "mainspring/model/tables.h"
#include "mainspring/model/tag_book.h"

// What there is and how much of it is free: nodes, devices, topology domains with their sums,
// shapes.
//
// Invariants: `Node::free` and `Domain::free` equal what a recount gives; a domain exists as long
// as a node lies in it; slots of dead nodes are reused with a new generation and rank.

namespace mainspring::model {

struct Level {
  NameIx name = 0;
  NameIx label = 0;  // the node label that carries the domain
  uint32_t topology = 0;
  LevelIx wider;  // invalid for the widest level of a topology
};

class Inventory {
 public:
  Inventory();

  // --- Reading ---
  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
  [[nodiscard]] const Node& node(NodeIx index) const;
  [[nodiscard]] NodeIx find_node(std::string_view name) const;
  [[nodiscard]] NodeIx index_of(uint32_t slot) const { return {slot, nodes_[slot].generation}; }
  [[nodiscard]] std::span<const Domain> domains() const { return domains_; }
  [[nodiscard]] const Domain& domain(DomainIx index) const { return domains_[index.slot]; }
  [[nodiscard]] std::span<const Level> levels() const { return levels_; }
  // Invalid when no topology has a level of this name; the built-in "node" is node_level().
  [[nodiscard]] LevelIx find_level(std::string_view name) const;
  [[nodiscard]] LevelIx node_level() const { return LevelIx{kNodeLevelSlot}; }
  [[nodiscard]] std::span<const Shape> shapes() const { return shapes_; }
  [[nodiscard]] const Shape& shape(ShapeIx index) const { return shapes_[index.slot]; }
  [[nodiscard]] const TagBook& tags() const { return tags_; }
  [[nodiscard]] const base::NameTable& names() const { return names_; }
  [[nodiscard]] const std::string& name(NameIx index) const { return names_.name(index); }
  [[nodiscard]] std::span<const std::string> gpu_models() const { return gpu_models_; }
  [[nodiscard]] std::span<const std::string> gpu_resources() const { return gpu_resources_; }
  // The number of a resource of the ownership tree ("gpu", "cpu", "memory", "gpu:MODEL"), or
  // kNoDimension for a model that was never seen.
  static constexpr size_t kNoDimension = ~size_t{0};
  [[nodiscard]] size_t find_dimension(std::string_view resource) const;
  [[nodiscard]] std::string dimension_name(size_t dimension) const;
  // Everything together: free in sum, and allocatable in sum.
  [[nodiscard]] const Free& total_free() const { return total_free_; }
  [[nodiscard]] const Resources& total_allocatable() const { return total_allocatable_; }
  [[nodiscard]] size_t node_count() const { return node_count_; }
  // Node slots in order of rank.
  [[nodiscard]] std::span<const uint32_t> nodes_by_rank() const { return by_rank_; }

  // Grows whenever capacity appears or comes free: what could not be placed may be tried again.
  [[nodiscard]] uint64_t gains() const { return gains_; }
  // Grows whenever nodes, devices or topologies come, go or change: what could never start perhaps
  // can.
  [[nodiscard]] uint64_t layouts() const { return layouts_; }
  // Every node whose state changed in any way.
  [[nodiscard]] const ChangeLog& node_changes() const { return node_changes_; }

  // --- Writing (ClusterState and Trial only) ---
  NameIx intern(std::string_view name) { return names_.intern(name); }
  ShapeIx intern_shape(const PodShape& spec);
  Shape& mutable_shape(ShapeIx index) { return shapes_[index.slot]; }
  base::Result<NodeIx> put_node(const NodeSpec& spec);
  void unlist_node(NodeIx index);
  void sample_gpu(NodeIx node, size_t device, bool healthy, int64_t foreign_memory_bytes);
  base::Status set_topologies(std::span<const TopologySpec> topologies);
  base::Status set_gpu_resources(std::span<const std::string> names);
  // Gives those that are new their numbers, in this order.
  base::Status number_gpu_models(std::span<const std::string> names);

  // Something else than capacity changed for the better.
  void reconsider() { ++gains_; }
  // Books `shape` on the node and devices; the caller keeps the pod's row.
  void take(NodeIx node, ShapeIx shape, DeviceMask devices);
  // The exact inverse.
  void give_back(NodeIx node, ShapeIx shape, DeviceMask devices);
  // A pod that is booked was told to stop, or was not after all.
  void set_stopping(NodeIx node, ShapeIx shape, bool stopping);
  // A pod that is booked has other tags or rules from now on, and nothing else.
  void retag(NodeIx node, ShapeIx from, ShapeIx to, bool stopping);
  // What-if: more allocatable on a node (negative: less).
  void grow(NodeIx node, const Resources& amount);
  void set_usable(NodeIx node, bool schedulable, bool ready);
  // What-if: more idle devices like the one at `like`; and the last ones, all idle, away again.
  void add_gpus(NodeIx node, size_t like, uint32_t count);
  void remove_gpus(NodeIx node, uint32_t count);
  // The pods that hold something on the node, as an intrusive list whose rows the caller owns.
  Node& mutable_node(NodeIx index);
  // What a Trial took back was never gained.
  struct Counters {
    uint64_t gains = 0;
    uint64_t layouts = 0;
  };
  [[nodiscard]] Counters counters() const { return {gains_, layouts_}; }
  void restore(Counters counters) {
    gains_ = counters.gains;
    layouts_ = counters.layouts;
  }
  // Devices that were reported gone keep their position while any device of the node is held, but
  // no longer.
  void forget_absent_gpus(NodeIx index);
  // Frees the slot of an unlisted node without pods.
  void drop_node(NodeIx index);

  // Recounts everything and aborts on any difference. O(everything): tests and checkers.
  void check_sums() const;

 private:
  static constexpr uint32_t kNodeLevelSlot = 0;

  void refresh_free(uint32_t slot);
  void add_to_domains(const Node& node, const Free& amount, bool negative);
  void join_domains(uint32_t slot);
  void leave_domains(uint32_t slot);
  DomainIx domain_for(LevelIx level, DomainIx parent, NameIx value);
  base::Status merge_gpus(Node& node, const NodeSpec& spec);
  base::Result<uint8_t> gpu_model_number(const std::string& name);
  void merge_besides(Node& node, const NodeSpec& spec);
  void compile_models(Shape& shape) const;
  ShapeTerm compile_term(std::span<const NodeRequirement> needs);
  void compile_rules(Shape& shape);
  void book_besides(Node& node, const Shape& shape, int32_t sign);
  [[nodiscard]] Free free_of(const Node& node) const;

  base::NameTable names_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> free_slots_;
  base::IdMap node_by_name_;
  std::vector<uint32_t> by_rank_;
  std::vector<Level> levels_;
  std::vector<Domain> domains_;
  std::vector<uint32_t> free_domain_slots_;
  base::IdMap domain_by_path_;
  std::vector<Shape> shapes_;
  base::NameTable shape_keys_;
  TagBook tags_;
  std::vector<std::string> gpu_models_;
  std::vector<std::string> gpu_resources_;
  Free total_free_;
  Resources total_allocatable_;
  size_t node_count_ = 0;
  uint32_t rank_next_ = 0;
  uint64_t gains_ = 0;
  uint64_t layouts_ = 0;
  ChangeLog node_changes_;
};

}  // namespace mainspring::model
