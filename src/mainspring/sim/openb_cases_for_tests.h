// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "mainspring/base/rng.h"
#include "mainspring/sim/openb_orders.h"
#include "mainspring/sim/static_replay.h"

// Small random openb inputs for the tests of this room.

namespace mainspring::sim {

struct SmallCase {
  std::vector<OpenbNode> nodes;
  std::vector<OpenbPod> pods;
  OpenbOrder order;

  [[nodiscard]] OpenbInputs inputs() const { return {nodes, pods, pods, order}; }
};

// Nodes of several sizes and models, pods of every kind, more asked for than there is. With `kinds`
// of zero all pods differ.
inline SmallCase random_case(uint64_t seed, size_t node_count, size_t pod_count, size_t kinds) {
  base::Rng rng(seed);
  const std::vector<std::string> models = {"A", "B", "C"};
  const std::vector<int64_t> sizes = {1, 2, 4, 8};
  SmallCase made;
  for (uint32_t row = 0; row < node_count; ++row) {
    const int64_t gpus = sizes[rng.below(sizes.size())];
    made.nodes.push_back({.row = row,
                          .name = "n" + std::to_string(row),
                          .cpu_milli = gpus * rng.between(6, 12) * 1000,
                          .memory_mib = gpus * 1000,
                          .gpu_count = gpus,
                          .gpu_model = models[rng.below(models.size())]});
  }
  std::vector<OpenbPod> mix;
  for (size_t kind = 0; kind < std::max<size_t>(kinds, 20); ++kind) {
    OpenbPod pod{.cpu_milli = rng.between(1, 12) * 1000, .memory_mib = rng.between(0, 400)};
    const uint64_t form = rng.below(8);
    if (form > 0) pod.gpu_count = form < 6 ? 1 : sizes[rng.below(4)];
    if (form > 0) pod.gpu_milli = form < 4 ? rng.between(1, 99) * 10 : 1000;
    if (form > 0 && rng.chance(1, 4)) {
      pod.gpu_spec = models[rng.below(3)] + "|" + models[rng.below(3)];
    }
    mix.push_back(pod);
  }
  if (kinds == 0) {
    made.pods = generate_distinct_pods(mix, pod_count, rng);
  } else {
    while (made.pods.size() < pod_count) made.pods.push_back(mix[rng.below(mix.size())]);
  }
  made.order = generate_openb_order(made.nodes, made.pods, 1300, seed, rng);
  return made;
}

}  // namespace mainspring::sim
