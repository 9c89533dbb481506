// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mainspring/base/id_map.h"
#include "mainspring/base/ids.h"
#include "mainspring/base/instant.h"
#include "mainspring/base/result.h"
#include "mainspring/model/queue_spec.h"
#include "mainspring/model/spec.h"

// The ownership tree with its books: who uses how much now, and who used how much.
//
// A name that a job uses has a row, whether a queue of that name was declared or not. Before any
// queue is declared there is no tree, and every name is an open root.
//
// Invariant: what a queue counts is the sum over its own jobs and its children.

namespace mainspring::model {

using QueueIx = base::Symbol<struct QueueTag>;

// Resources of the tree, by number: GPUs of any model, CPU, memory, then one per GPU model in the
// order of Inventory::gpu_models. Thousandths of devices and cores, and bytes.
inline constexpr size_t kGpuDimension = 0;
inline constexpr size_t kCpuDimension = 1;
inline constexpr size_t kMemoryDimension = 2;
inline constexpr size_t kModelDimension = 3;

// What one pod takes of a queue. Made for every booking, so it stays off the heap.
struct PodCharge {
  struct OfModel {
    uint32_t dimension;
    int64_t amount;
  };
  std::array<int64_t, kModelDimension> base{};
  uint32_t model_count = 0;
  std::array<OfModel, kGpusPerNodeMax> models;  // the first `model_count`

  void add_model(uint32_t dimension, int64_t amount) {
    if (model_count == 0 || models[model_count - 1].dimension != dimension) {
      models[model_count++] = {dimension, 0};
    }
    models[model_count - 1].amount += amount;
  }
};

enum class QueueBook : uint8_t {
  kDemand,    // asked for by pods that are not done yet, wherever they are
  kHeld,      // held by pods that were not asked to stop, or promised
  kStopping,  // still held by pods that were asked to stop
  kFirm,      // of what is held, by jobs that cannot be displaced
};
inline constexpr size_t kQueueBookCount = 4;

struct PastUse {
  int64_t seconds = 0;  // unit × seconds; of memory, MiB × seconds
  int64_t millis = 0;   // and thousandths of that, 0..999
  friend auto operator<=>(const PastUse&, const PastUse&) = default;
};

// Amounts by dimension; what lies behind the end is zero.
using Amounts = std::vector<int64_t>;
inline int64_t amount_at(const Amounts& amounts, size_t dimension) {
  return dimension < amounts.size() ? amounts[dimension] : 0;
}

struct Queue {
  QueueSpec spec;  // only the name where it is not declared
  bool declared = false;
  bool rooted = false;  // declared, like every queue above it
  QueueIx parent;
  std::vector<QueueIx> children;  // by name
  uint32_t depth = 0;             // 0: a root
  std::array<Amounts, kQueueBookCount> own;
  std::array<Amounts, kQueueBookCount> total;  // with all below
  std::vector<PastUse> past;                   // of what was held, with all below
  base::Instant past_at;

  [[nodiscard]] int64_t count(QueueBook book, size_t dimension) const {
    return amount_at(total[static_cast<size_t>(book)], dimension);
  }
  [[nodiscard]] int64_t held(size_t dimension) const { return count(QueueBook::kHeld, dimension); }
  // What the queue says of a resource; the defaults where it says nothing.
  [[nodiscard]] const QueueResource& resource(std::string_view name) const;
};

class Queues {
 public:
  // --- Reading ---
  [[nodiscard]] std::span<const Queue> rows() const { return rows_; }
  [[nodiscard]] const Queue& row(QueueIx index) const { return rows_[index.slot]; }
  [[nodiscard]] QueueIx find(std::string_view name) const;
  [[nodiscard]] bool declared() const { return declared_ > 0; }
  [[nodiscard]] std::span<const QueueIx> roots() const { return roots_; }  // by name
  // Grows whenever the tree or the demand of any queue changes.
  [[nodiscard]] uint64_t demands() const { return demands_; }
  // What is left of past use at that time, halved with every half-life; counted up to the last
  // 64th of one, so that it stands still between. O(64ths since it was last counted).
  [[nodiscard]] std::vector<PastUse> past_use(QueueIx index, base::Instant now) const;
  // The same up to the moment, which must not lie before what was counted last.
  [[nodiscard]] std::vector<PastUse> past_until(QueueIx index, base::Instant now) const;
  // What is asked for in all queues together.
  [[nodiscard]] int64_t asked(size_t dimension) const { return asked_[dimension]; }
  [[nodiscard]] base::Duration half_life() const { return half_life_; }

  // --- Writing (ClusterState only) ---
  QueueIx intern(std::string_view name);
  base::Status put(const QueueSpec& spec);
  void remove(QueueIx index);
  void charge(QueueIx index, QueueBook book, const PodCharge& charge, int64_t sign);
  // Time passes; what is charged from now on counts from then on.
  void advance(base::Instant now) { now_ = now; }
  void set_half_life(base::Duration half_life);
  void restore_past(QueueIx index, base::Instant at, std::vector<PastUse> past);

  // Recounts the sums and aborts on any difference. O(queues × depth): tests and checkers.
  void check_sums() const;

 private:
  void rebuild();
  void accrue(Queue& queue, base::Instant now) const;
  [[nodiscard]] bool makes_circle(const QueueSpec& spec) const;
  [[nodiscard]] base::Status check_siblings(const QueueSpec& spec) const;

  std::vector<Queue> rows_;
  base::IdMap by_name_;
  std::vector<QueueIx> roots_;
  size_t declared_ = 0;
  uint64_t demands_ = 0;
  std::array<int64_t, kModelDimension> asked_{};
  base::Duration half_life_;
  base::Instant now_;
};

}  // namespace mainspring::model
