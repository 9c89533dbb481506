// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/model/cluster_state.h"

// What each queue is due: the capacity of the cluster handed down the tree, level by level, by the
// rules of fair_share.h.
//
// Only resources that some queue names are shared out ("gpu" where none does). A queue asks for
// what its pods ask for, those that run included, so that a share does not change because a job
// starts or is displaced. Past use shifts the weights at fixed times only. An inner queue that says
// nothing of a resource is promised what its children are promised together.
//
// Derived data. `refresh` costs O(1) while nothing that bears on shares has changed, otherwise
// O(queues × resources × log queues).

namespace mainspring::policy {

class QueueShares {
 public:
  void refresh(const model::ClusterState& state, base::Instant now);

  // Resources that are shared out, in order of their numbers; none before there is a tree.
  [[nodiscard]] std::span<const size_t> dimensions() const { return dimensions_; }
  // Of a queue in the tree. `quota` and `limit` may be model::kUnlimited.
  [[nodiscard]] int64_t share(model::QueueIx queue, size_t dimension) const {
    return at(queue, dimension).share;
  }
  [[nodiscard]] int64_t quota(model::QueueIx queue, size_t dimension) const {
    return at(queue, dimension).quota;
  }
  [[nodiscard]] int64_t limit(model::QueueIx queue, size_t dimension) const {
    return at(queue, dimension).limit;
  }
  // Asked for, as far as limits allow.
  [[nodiscard]] int64_t demand(model::QueueIx queue, size_t dimension) const {
    return at(queue, dimension).demand;
  }
  // Weight as past use has shifted it, in thousandths.
  [[nodiscard]] int64_t weight_milli(model::QueueIx queue, size_t dimension) const {
    return at(queue, dimension).weight_milli;
  }
  [[nodiscard]] int64_t capacity(size_t dimension) const {
    return model::amount_at(capacity_, dimension);
  }
  // Grows with every refresh that found something to do.
  [[nodiscard]] uint64_t version() const { return version_; }

 private:
  struct Due {
    int64_t quota = 0;
    int64_t limit = model::kUnlimited;
    int64_t weight = 1;
    int64_t weight_milli = 1000;
    int64_t demand = 0;
    int64_t share = 0;
  };

  [[nodiscard]] const Due& at(model::QueueIx queue, size_t dimension) const;
  void find_dimensions(const model::ClusterState& state);
  void count_capacity(const model::Inventory& inventory);
  void read_settings(const model::ClusterState& state, size_t column);
  void read_below(const model::ClusterState& state, model::QueueIx queue, size_t column);
  void hand_down(const model::ClusterState& state, std::span<const model::QueueIx> children,
                 int64_t amount, size_t column, base::Instant now);

  std::vector<size_t> dimensions_;
  std::vector<size_t> column_of_;  // by dimension
  model::Amounts capacity_;
  std::vector<std::vector<Due>> due_;  // by column, by queue
  bool known_ = false;
  uint64_t demands_ = 0;
  uint64_t layouts_ = 0;
  int64_t turn_ = 0;  // of past use
  uint64_t version_ = 0;
};

// The claim on its share that a queue has used up: held / share of the resource of which it uses
// most. Compared without division.
struct Dominant {
  int64_t held = 0;
  int64_t share = 0;
};
Dominant dominant(const model::ClusterState& state, const QueueShares& shares,
                  model::QueueIx queue);
// Whether the left one has used less of its share than the right one.
bool used_less(const Dominant& left, const Dominant& right);

}  // namespace mainspring::policy
