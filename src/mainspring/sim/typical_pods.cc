// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/typical_pods.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace mainspring::sim {
namespace {

void number_shares(TypicalPods& typical) {
  for (TypicalPod& pod : typical.pods) {
    const auto milli = static_cast<int16_t>(pod.shape.gpu_milli);
    const auto known = std::find(typical.shares.begin(), typical.shares.end(), milli);
    pod.share = static_cast<size_t>(known - typical.shares.begin());
    if (known == typical.shares.end()) typical.shares.push_back(milli);
  }
  while (typical.shares.size() % TypicalPods::kLanes != 0) {
    typical.shares.push_back(kMilliPerGpu + 1);
  }
}

}  // namespace

TypicalPods typical_pods(const std::vector<OpenbPod>& pods, const StaticWorld& world) {
  using Kind = std::tuple<int64_t, int64_t, int64_t, std::string_view>;
  struct Counted {
    int64_t count = 0;
    const OpenbPod* example = nullptr;
  };
  std::map<Kind, Counted> kinds;
  for (const OpenbPod& pod : pods) {
    Counted& kind = kinds[Kind(pod.cpu_milli, pod.gpu_milli, pod.gpu_count, pod.gpu_spec)];
    ++kind.count;
    kind.example = &pod;
  }
  // Descending by count, then by kind: the reverse of the map's order is a total order.
  std::vector<Counted> sorted;
  for (auto kind = kinds.rbegin(); kind != kinds.rend(); ++kind) sorted.push_back(kind->second);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Counted& left, const Counted& right) {
    return left.count > right.count;
  });

  // The steps of the artifact, in its order of floating-point operations: scores are truncated, so
  // the last bit of a weight can decide.
  const auto total = static_cast<double>(pods.size());
  const double wanted = 95.0 * total / 100.0;
  double covered = 0;
  TypicalPods typical;
  for (const Counted& kind : sorted) {
    if (covered >= wanted) break;
    const auto count = static_cast<double>(kind.count);
    covered += count;
    TypicalPod pod{.shape = world.shape_of(*kind.example), .weight = count / total};
    pod.shape.memory_mib = 0;
    typical.pods.push_back(pod);
  }
  if (typical.pods.size() < sorted.size()) {
    for (TypicalPod& pod : typical.pods) pod.weight /= covered / total;
  }
  number_shares(typical);
  return typical;
}

}  // namespace mainspring::sim
