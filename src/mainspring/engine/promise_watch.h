// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "mainspring/model/cluster_state.h"

// Which promises are worth asking whether their places are clear by now.
//
// To ask costs a look at every pod on the promised nodes, and with thousands of promises in flight
// a cycle must not do that for all of them. One that was found blocked stays so until one of its
// nodes, or the job itself, changes. Derived data: a watch that is new to a state asks once.

namespace mainspring::engine {

class PromiseWatch {
 public:
  // Takes note of what changed since the last call. O(changes).
  void catch_up(const model::ClusterState& state);
  // O(promises of the job).
  [[nodiscard]] bool worth_asking(const model::ClusterState& state, model::JobIx job) const;
  // The job was asked for just now, and some of its places are not clear.
  void found_blocked(model::JobIx job);

 private:
  // The calls of `catch_up` are numbered from 1.
  uint64_t round_ = 0;
  uint64_t node_cursor_ = 0;
  uint64_t job_cursor_ = 0;
  uint64_t everything_at_ = 1;        // the last round in which anything may have changed
  std::vector<uint64_t> node_at_;     // by node slot: the round in which a change was noted
  std::vector<uint64_t> job_at_;      // by job slot
  std::vector<uint64_t> blocked_at_;  // by job slot; 0: never
};

}  // namespace mainspring::engine
