// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/model/cluster_state.h"

// What could be displaced at all, whoever asks: preemptible jobs that hold places, cut into the
// parts in which they can be taken, with their price.

namespace mainspring::policy {

// A pod above its job's minimum, or a whole job.
struct VictimUnit {
  model::JobIx job;
  uint32_t first_pod = 0;  // in VictimPool::pods
  uint32_t pod_count = 0;
  bool whole = true;
  int64_t gpu_milli = 0;    // held
  int64_t weight = 0;       // see weight_of
  int64_t lost_gpu_ms = 0;  // see lost_gpu_ms
};

class VictimPool {
 public:
  // O(pods that hold + units × log units).
  VictimPool(const model::ClusterState& state, base::Instant now);

  // The cheapest first: pods above a minimum, then low priority, then little work lost per device,
  // then what has run for the shortest time.
  [[nodiscard]] std::span<const VictimUnit> units() const { return units_; }
  [[nodiscard]] std::span<const model::PodIx> pods(const VictimUnit& unit) const {
    return std::span(pods_).subspan(unit.first_pod, unit.pod_count);
  }
  // Pods that were asked to stop and are expected to be gone soon: their places need nobody else to
  // go. Kept up by `add_stopping`.
  [[nodiscard]] std::span<const model::PodIx> stopping() const { return stopping_; }
  void add_stopping(std::span<const model::PodIx> pods) {
    stopping_.insert(stopping_.end(), pods.begin(), pods.end());
  }
  // Numbers of the units with pods on the node, the cheapest first.
  [[nodiscard]] std::span<const uint32_t> on_node(uint32_t node_slot) const;

 private:
  void add_job(const model::ClusterState& state, uint32_t slot, base::Instant now);
  void add_unit(const model::ClusterState& state, model::JobIx job, bool whole,
                std::span<const model::PodIx> pods, base::Instant now);

  std::vector<VictimUnit> units_;
  std::vector<model::PodIx> pods_;
  std::vector<model::PodIx> stopping_;
  std::vector<uint32_t> node_first_;  // by node slot, one more at the end
  std::vector<uint32_t> node_units_;
};

}  // namespace mainspring::policy
