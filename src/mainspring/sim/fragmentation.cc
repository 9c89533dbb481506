// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/fragmentation.h"

#include <cmath>

#include "mainspring/base/check.h"

namespace mainspring::sim {

namespace {

// For each share: how many devices have room for it, and what is free on the others.
struct Sufficiency {
  std::array<int16_t, TypicalPods::kSharesMax> devices;
  std::array<int16_t, TypicalPods::kSharesMax> too_small_milli;
};

void look_at_devices(const StaticNode& node, const std::vector<int16_t>& shares,
                     Sufficiency& result) {
  // Groups of fixed length and 16-bit amounts, so that a compiler can use vector instructions.
  for (size_t group = 0; group < shares.size(); group += TypicalPods::kLanes) {
    for (size_t lane = group; lane < group + TypicalPods::kLanes; ++lane) {
      int16_t devices = 0;
      int16_t too_small_milli = 0;
      for (const int16_t free : node.gpu_free_milli) {
        const bool enough = free >= shares[lane];
        devices = static_cast<int16_t>(devices + (enough ? 1 : 0));
        too_small_milli = static_cast<int16_t>(too_small_milli + (enough ? 0 : free));
      }
      result.devices[lane] = devices;
      result.too_small_milli[lane] = too_small_milli;
    }
  }
}

}  // namespace

// The sums below are formed in the order of the artifact: one sum per kind of fragment, then the
// sum of these. Scores are truncated to whole numbers, so another order could decide otherwise.
double fragment_milli(const StaticNode& node, const TypicalPods& typical) {
  double lacks_both = 0;
  double lacks_gpu = 0;
  double lacks_cpu = 0;
  double cpu_only_fits = 0;
  double cpu_only_lacks = 0;
  double wrong_model = 0;
  const int32_t idle_milli = node.gpu_free_milli_total();
  if (idle_milli == 0) return 0;
  Sufficiency enough;
  look_at_devices(node, typical.shares, enough);
  for (const TypicalPod& pod : typical.pods) {
    const StaticShape& shape = pod.shape;
    const bool has_cpu = node.cpu_free_milli >= shape.cpu_milli;
    const double all_idle = pod.weight * static_cast<double>(idle_milli);
    if (shape.gpu_milli == 0) {
      (has_cpu ? cpu_only_fits : cpu_only_lacks) += all_idle;
    } else if ((shape.model_mask >> node.model & 1) == 0) {
      wrong_model += all_idle;
    } else if (enough.devices[pod.share] < shape.gpu_count) {
      (has_cpu ? lacks_gpu : lacks_both) += all_idle;
    } else if (!has_cpu) {
      lacks_cpu += all_idle;
    } else {
      lacks_gpu += pod.weight * static_cast<double>(enough.too_small_milli[pod.share]);
    }
  }
  return lacks_both + lacks_gpu + lacks_cpu + cpu_only_fits + cpu_only_lacks + wrong_model;
}

int32_t score_of_drop(double drop_milli) {
  return static_cast<int32_t>(1.0 / (1.0 + std::exp(-(drop_milli / 1000.0))) * 100.0);
}

int32_t fragment_score_on(const StaticNode& node, const StaticShape& shape, uint8_t devices,
                          const TypicalPods& typical) {
  StaticNode after = node;
  after.cpu_free_milli -= shape.cpu_milli;
  for (size_t device = 0; device < kStaticDevicesMax; ++device) {
    if ((devices >> device & 1) == 0) continue;
    const int32_t left = after.gpu_free_milli[device] - shape.gpu_milli;
    after.gpu_free_milli[device] = static_cast<int16_t>(left);
  }
  return score_of_drop(fragment_milli(node, typical) - fragment_milli(after, typical));
}

FragmentScore fragment_score(const StaticNode& node, const StaticShape& shape,
                             const TypicalPods& typical) {
  const double before = fragment_milli(node, typical);
  StaticNode after = node;
  after.cpu_free_milli -= shape.cpu_milli;
  if (!shape.is_share()) {
    const uint8_t devices = first_free_devices(node, shape.gpu_count);
    for (size_t device = 0; device < kStaticDevicesMax; ++device) {
      if ((devices >> device & 1) != 0) after.gpu_free_milli[device] = 0;
    }
    return {score_of_drop(before - fragment_milli(after, typical)), devices};
  }
  FragmentScore best{.score = -1};
  for (size_t device = 0; device < kStaticDevicesMax; ++device) {
    const int16_t free = node.gpu_free_milli[device];
    if (free < shape.gpu_milli) continue;
    after.gpu_free_milli[device] = static_cast<int16_t>(free - shape.gpu_milli);
    const int32_t score = score_of_drop(before - fragment_milli(after, typical));
    after.gpu_free_milli[device] = free;
    if (score > best.score) best = {score, static_cast<uint8_t>(1U << device)};
  }
  MAINSPRING_CHECK(best.score >= 0, "a node that is scored fits the pod");
  return best;
}

}  // namespace mainspring::sim
