// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/static_replay.h"

#include <algorithm>

#include "mainspring/base/check.h"
#include "mainspring/base/hash.h"
#include "mainspring/base/rng.h"
#include "mainspring/sim/baseline_fgd.h"
#include "mainspring/sim/baseline_scores.h"
#include "mainspring/sim/fragmentation.h"
#include "mainspring/sim/static_world.h"
#include "mainspring/sim/typical_pods.h"

namespace mainspring::sim {
namespace {

// The shapes of a list, each once, and the number of each pod's shape.
struct ShapeTable {
  std::vector<StaticShape> shapes;
  std::vector<uint32_t> of_pod;
};

ShapeTable make_shapes(const StaticWorld& world, const std::vector<OpenbPod>& pods) {
  ShapeTable table;
  std::vector<StaticShape> all;
  all.reserve(pods.size());
  for (const OpenbPod& pod : pods) all.push_back(world.shape_of(pod));
  table.shapes = all;
  std::sort(table.shapes.begin(), table.shapes.end());
  table.shapes.erase(std::unique(table.shapes.begin(), table.shapes.end()), table.shapes.end());
  table.of_pod.reserve(pods.size());
  for (const StaticShape& shape : all) {
    const auto at = std::lower_bound(table.shapes.begin(), table.shapes.end(), shape);
    table.of_pod.push_back(static_cast<uint32_t>(at - table.shapes.begin()));
  }
  return table;
}

// Everything that one run's choices may look at.
struct Run {
  StaticWorld& world;
  TieBreak tie_break;
  base::Rng rng;
  std::vector<int32_t> candidates = {};  // reused

  // One of the candidates, which are in visiting order.
  int32_t pick_candidate() {
    if (candidates.size() == 1 || tie_break == TieBreak::kFirst) return candidates.front();
    return candidates[rng.below(candidates.size())];
  }
};

// The node of the highest score; `score(node)` is called for the nodes that fit.
template <class Score>
int32_t best_node(Run& run, const StaticShape& shape, Score score) {
  run.candidates.clear();
  int32_t best = 0;
  const auto& nodes = run.world.nodes();
  for (size_t position = 0; position < nodes.size(); ++position) {
    if (!nodes[position].fits(shape)) continue;
    const int32_t value = score(nodes[position]);
    if (run.candidates.empty() || value > best) {
      best = value;
      run.candidates.clear();
    }
    if (value == best) run.candidates.push_back(static_cast<int32_t>(position));
  }
  return run.candidates.empty() ? StaticPlacement::kNoNode : run.pick_candidate();
}

const StaticNode& node_at(const Run& run, int32_t node) {
  return run.world.nodes()[static_cast<size_t>(node)];
}

// The choice of the score-based baselines: the best node, the smallest sufficient device on it.
template <class Score>
auto choose_by(Score score) {
  return [score](Run& run, uint32_t, const StaticShape& shape) {
    StaticPlacement placement;
    placement.node =
        best_node(run, shape, [&](const StaticNode& node) { return score(node, shape); });
    if (placement.node != StaticPlacement::kNoNode) {
      placement.devices = smallest_sufficient_devices(node_at(run, placement.node), shape);
    }
    return placement;
  };
}

StaticPlacement choose_first_fit(Run& run, const StaticShape& shape) {
  const auto& nodes = run.world.nodes();
  for (size_t position = 0; position < nodes.size(); ++position) {
    if (!nodes[position].fits(shape)) continue;
    return {static_cast<int32_t>(position), smallest_sufficient_devices(nodes[position], shape)};
  }
  return {};
}

// A random node that fits; a random device among the sufficient ones for a share.
StaticPlacement choose_random(Run& run, const StaticShape& shape) {
  run.candidates.clear();
  const auto& nodes = run.world.nodes();
  for (size_t position = 0; position < nodes.size(); ++position) {
    if (nodes[position].fits(shape)) run.candidates.push_back(static_cast<int32_t>(position));
  }
  if (run.candidates.empty()) return {};
  StaticPlacement placement;
  placement.node = run.candidates[run.rng.below(run.candidates.size())];
  const StaticNode& node = node_at(run, placement.node);
  if (!shape.is_share()) {
    placement.devices = first_free_devices(node, shape.gpu_count);
    return placement;
  }
  run.candidates.clear();
  for (size_t device = 0; device < kStaticDevicesMax; ++device) {
    if (node.gpu_free_milli[device] >= shape.gpu_milli) {
      run.candidates.push_back(static_cast<int32_t>(device));
    }
  }
  const int32_t device = run.candidates[run.rng.below(run.candidates.size())];
  placement.devices = static_cast<uint8_t>(1U << device);
  return placement;
}

StaticPlacement choose_fgd_naive(Run& run, const StaticShape& shape, const TypicalPods& typical) {
  StaticPlacement placement;
  placement.node = best_node(run, shape, [&](const StaticNode& node) {
    return fragment_score(node, shape, typical).score;
  });
  if (placement.node != StaticPlacement::kNoNode) {
    placement.devices = fragment_score(node_at(run, placement.node), shape, typical).devices;
  }
  return placement;
}

StaticPlacement choose_fgd(Run& run, uint32_t shape_id, const StaticShape& shape, FastFgd& fgd) {
  const FastFgd::Scores scores = fgd.scores_for(shape_id, shape);
  if (scores.best == FastFgd::kUnfit) return {};
  StaticPlacement placement;
  placement.node = scores.first_of_best;
  if (run.tie_break == TieBreak::kRandom) {
    run.candidates.clear();
    for (size_t node = 0; node < run.world.nodes().size(); ++node) {
      if (scores.value[node] == scores.best) run.candidates.push_back(static_cast<int32_t>(node));
    }
    placement.node = run.pick_candidate();
  }
  placement.devices = fgd.devices_on(placement.node, shape);
  return placement;
}

// The arrival loop. `choose(run, shape_id, shape)` decides, `placed(node)` hears of it.
template <class Choose, class Placed>
OpenbResult replay(const OpenbInputs& inputs, const ShapeTable& table, Run& run, Choose choose,
                   Placed placed) {
  OpenbResult result{.curve = AllocationCurve(run.world.capacity_milli()),
                     .capacity_milli = run.world.capacity_milli()};
  base::RunHash hash;
  for (const uint32_t pod : inputs.order.pods) {
    MAINSPRING_CHECK(pod < table.of_pod.size(), "the order names pods of the list");
    const uint32_t shape_id = table.of_pod[pod];
    const StaticShape& shape = table.shapes[shape_id];
    const StaticPlacement placement = choose(run, shape_id, shape);
    int64_t node_row = -1;
    if (placement.node != StaticPlacement::kNoNode) {
      run.world.place(shape, placement);
      placed(placement.node);
      ++result.placed_pods;
      node_row = inputs.nodes[inputs.order.nodes[static_cast<size_t>(placement.node)]].row;
    }
    hash.add(node_row);
    hash.add(placement.devices);
    result.curve.arrived(int64_t{shape.gpu_count} * shape.gpu_milli, run.world.allocated_milli());
  }
  result.arrived_pods = static_cast<int64_t>(inputs.order.pods.size());
  result.allocated_milli = run.world.allocated_milli();
  result.run_hash = hash.value();
  return result;
}

constexpr auto kNobodyListens = [](int32_t) {};

OpenbResult replay_fgd(const OpenbInputs& inputs, const ShapeTable& table, Run& run, bool naive) {
  const TypicalPods typical = typical_pods(inputs.expected_mix, run.world);
  if (naive) {
    return replay(
        inputs, table, run,
        [&](Run& now, uint32_t, const StaticShape& shape) {
          return choose_fgd_naive(now, shape, typical);
        },
        kNobodyListens);
  }
  FastFgd fgd(run.world, typical, table.shapes.size());
  return replay(
      inputs, table, run,
      [&](Run& now, uint32_t shape_id, const StaticShape& shape) {
        return choose_fgd(now, shape_id, shape, fgd);
      },
      [&](int32_t node) { fgd.node_changed(node); });
}

}  // namespace

std::string_view baseline_name(BaselineKind kind) {
  switch (kind) {
    case BaselineKind::kRandom:
      return "random";
    case BaselineKind::kDotProduct:
      return "dot-product";
    case BaselineKind::kGpuClustering:
      return "gpu-clustering";
    case BaselineKind::kGpuPacking:
      return "gpu-packing";
    case BaselineKind::kBestFit:
      return "best-fit";
    case BaselineKind::kFirstFit:
      return "first-fit";
    case BaselineKind::kFgdNaive:
      return "fgd-naive";
    case BaselineKind::kFgd:
      return "fgd";
  }
  MAINSPRING_CHECK(false, "every baseline has a name");
  return {};
}

std::optional<BaselineKind> baseline_of_name(std::string_view name) {
  for (const BaselineKind kind : kBaselineKinds) {
    if (baseline_name(kind) == name) return kind;
  }
  return std::nullopt;
}

base::Result<OpenbResult> run_openb(const OpenbInputs& inputs, BaselineKind kind, uint64_t seed,
                                    TieBreak tie_break) {
  auto world = StaticWorld::make(inputs.nodes, inputs.order.nodes);
  if (!world) return tl::unexpected(world.error());
  const ShapeTable table = make_shapes(*world, inputs.pods);
  Run run{.world = *world, .tie_break = tie_break, .rng = base::Rng(seed)};
  const auto by_score = [&](auto score) {
    return replay(inputs, table, run, choose_by(score), kNobodyListens);
  };
  switch (kind) {
    case BaselineKind::kDotProduct:
      return by_score(dot_product_score);
    case BaselineKind::kGpuClustering:
      return by_score(gpu_clustering_score);
    case BaselineKind::kGpuPacking:
      return by_score(gpu_packing_score);
    case BaselineKind::kBestFit:
      return by_score(best_fit_score);
    case BaselineKind::kFirstFit:
      return replay(
          inputs, table, run,
          [](Run& now, uint32_t, const StaticShape& shape) { return choose_first_fit(now, shape); },
          kNobodyListens);
    case BaselineKind::kRandom:
      return replay(
          inputs, table, run,
          [](Run& now, uint32_t, const StaticShape& shape) { return choose_random(now, shape); },
          kNobodyListens);
    case BaselineKind::kFgdNaive:
      return replay_fgd(inputs, table, run, true);
    case BaselineKind::kFgd:
      return replay_fgd(inputs, table, run, false);
  }
  MAINSPRING_CHECK(false, "every baseline runs");
  return base::invalid("unknown baseline");
}

}  // namespace mainspring::sim
