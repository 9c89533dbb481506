// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "mainspring/sim/fragmentation.h"
#include "mainspring/sim/static_world.h"
#include "mainspring/sim/typical_pods.h"

namespace mainspring::sim {

// Turns a drop of the fragment into its integer score by table. The drop may be off by kMargin: a
// drop so close to the edge of a score that this could matter is left to the definition.
class DropScores {
 public:
  static constexpr double kMargin = 1e-6;  // milli-GPU; true rounding differences are below 1e-9
  static constexpr int32_t kUnsure = -1;

  DropScores();
  // The score, or kUnsure.
  [[nodiscard]] int32_t score(double drop_milli) const {
    const int32_t low = below(drop_milli - kMargin);
    return low == below(drop_milli + kMargin) ? low : kUnsure;
  }

 private:
  static constexpr int32_t kCellMilli = 32;  // less than the least distance of two edges
  static constexpr int32_t kRangeMilli = 8192;

  [[nodiscard]] int32_t below(double drop_milli) const {
    const double shifted = (drop_milli + kRangeMilli) / kCellMilli;
    const auto cell = static_cast<size_t>(shifted < 0 ? 0.0 : shifted);
    const int32_t base = base_[cell < base_.size() ? cell : base_.size() - 1];
    return base + (drop_milli >= edges_[static_cast<size_t>(base) + 1] ? 1 : 0);
  }

  std::array<double, 101> edges_{};  // the least drop of each score
  std::array<int32_t, 2 * kRangeMilli / kCellMilli> base_{};
};

// Fragmentation gradient descent, fast, with exactly the decisions of its definition.
//
// Three things make it fast:
// - What matters of a node's fragment is what typical pods can use. Typical pods that ask for the
// same
//   devices form a class; the weight of a class that a node's CPU and model admit is looked up in a
//   table, so a fragment costs one multiplication per class instead of a walk over pods and
//   devices.
// - This sums in another order than the definition, so it may differ in the last bits. The score is
// a
//   whole number: where the drop is not clearly inside one score's range, the definition is
//   computed.
// - Shapes that come again keep the score of every node, and bring it up to date from the list of
//   nodes that have changed since. A shape seen once costs no more than a scan.
class FastFgd {
 public:
  // Both must outlive this.
  FastFgd(const StaticWorld& world, const TypicalPods& typical, size_t shape_count);

  // Per node the score plus one; kUnfit where the pod does not fit. Valid until the next call.
  static constexpr uint8_t kUnfit = 0;
  struct Scores {
    const uint8_t* value = nullptr;
    uint8_t best = kUnfit;
    int32_t first_of_best = StaticPlacement::kNoNode;
  };
  // `shape_id` is below `shape_count`, one for each shape.
  Scores scores_for(uint32_t shape_id, const StaticShape& shape);

  // The devices that the definition picks on a node that fits.
  [[nodiscard]] uint8_t devices_on(int32_t node, const StaticShape& shape) const;

  // Must follow every placement.
  void node_changed(int32_t node);

 private:
  static constexpr size_t kBlockNodes = 64;

  // Typical pods with the same share and count of GPUs.
  struct Class {
    int32_t gpu_milli = 0;
    int32_t gpu_count = 0;
  };
  // Of one node and one class: how many devices it has above the class's count that have enough
  // room, and the free milli-GPU on all devices with enough room.
  struct Room {
    int16_t spare_devices = 0;
    int16_t milli = 0;
  };
  // What the fast formula needs of a node, besides its rooms.
  struct NodeView {
    int64_t cpu_free_milli = 0;
    int64_t memory_free_mib = 0;
    const double* weights = nullptr;  // of the classes, for this node's CPU and model
    double usable_milli = 0;          // weighted over the classes
    int32_t whole_free = 0;
    int16_t largest_free_milli = 0;
    uint8_t model = 0;
    bool pods_full = false;
    bool idle = false;  // some milli-GPU is free
    std::array<int16_t, kStaticDevicesMax> gpu_free_milli{};
  };
  struct Cache {
    std::vector<uint8_t> value;       // padded to whole blocks
    std::vector<uint8_t> block_best;  // the highest value of each block
    size_t seen_changes = 0;
    bool asked_before = false;
  };

  void build_classes();
  void build_weights();
  void refresh_view(size_t node);
  [[nodiscard]] const double* weights_at(int64_t cpu_free_milli, uint8_t model) const;
  [[nodiscard]] double usable_with_weights(size_t node, const double* weights) const;
  [[nodiscard]] double usable_after_share(size_t node, const double* weights, int32_t free_milli,
                                          int32_t taken_milli) const;
  [[nodiscard]] double usable_after_whole(size_t node, const double* weights, int32_t count) const;

  [[nodiscard]] uint8_t value_of(size_t node, const StaticShape& shape) const;
  [[nodiscard]] FragmentScore score_fitting(size_t node, const StaticShape& shape) const;
  [[nodiscard]] FragmentScore score_share(size_t node, const StaticShape& shape,
                                          const double* weights) const;
  [[nodiscard]] int32_t settle(double drop_milli, size_t node, const StaticShape& shape,
                               uint8_t devices) const;
  void fill(Cache& cache, const StaticShape& shape) const;
  void catch_up(Cache& cache, const StaticShape& shape) const;
  [[nodiscard]] Scores best_of(const Cache& cache) const;

  const StaticWorld& world_;
  const TypicalPods& typical_;
  DropScores drop_scores_;
  double weight_sum_ = 0;
  std::vector<Class> classes_;                              // ascending by share
  std::array<uint8_t, kMilliPerGpu + 1> classes_within_{};  // how many ask for at most so much
  std::vector<int64_t> cpu_steps_;  // ascending CPU requests of the typical pods
  std::vector<double> weights_;     // [model][CPU steps that fit][class]
  std::vector<NodeView> views_;
  std::vector<Room> rooms_;          // [node][class]
  std::vector<uint32_t> changes_;    // nodes, in the order of their changes
  std::vector<size_t> last_change_;  // per node: the end of changes_ after its last entry
  std::vector<Cache> caches_;        // per shape
  Cache scratch_;
};

}  // namespace mainspring::sim
