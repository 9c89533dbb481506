// SPDX-License-Identifier: Apache-2.0
#include "mainspring/model/verdict.h"

namespace mainspring::model {

std::string_view to_string(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kNow:
      return "now";
    case VerdictKind::kNotNow:
      return "not_now";
    case VerdictKind::kNever:
      return "never";
  }
  return "unknown";
}

std::string_view to_string(ReasonCode code) {
  switch (code) {
    case ReasonCode::kFits:
      return "fits";
    case ReasonCode::kBackingOff:
      return "backing_off";
    case ReasonCode::kNoNodes:
      return "no_nodes";
    case ReasonCode::kUnknownLevel:
      return "unknown_level";
    case ReasonCode::kUnknownGpuResource:
      return "unknown_gpu_resource";
    case ReasonCode::kNodeRequirements:
      return "node_requirements";
    case ReasonCode::kTaints:
      return "taints";
    case ReasonCode::kGpuModel:
      return "gpu_model";
    case ReasonCode::kRequestTooLarge:
      return "request_too_large";
    case ReasonCode::kDomainTooSmall:
      return "domain_too_small";
    case ReasonCode::kClusterTooSmall:
      return "cluster_too_small";
    case ReasonCode::kNotEnoughFree:
      return "not_enough_free";
    case ReasonCode::kFragmented:
      return "fragmented";
    case ReasonCode::kNodesUnavailable:
      return "nodes_unavailable";
    case ReasonCode::kSearchCutShort:
      return "search_cut_short";
    case ReasonCode::kUnknownQueue:
      return "unknown_queue";
    case ReasonCode::kQueueNotLeaf:
      return "queue_not_leaf";
    case ReasonCode::kQueueForbidden:
      return "queue_forbidden";
    case ReasonCode::kQueueLimit:
      return "queue_limit";
    case ReasonCode::kQueueQuota:
      return "queue_quota";
    case ReasonCode::kVolumeLimit:
      return "volume_limit";
    case ReasonCode::kPodRules:
      return "pod_rules";
    case ReasonCode::kPromised:
      return "promised";
    case ReasonCode::kPodsMissing:
      return "pods_missing";
  }
  return "unknown";
}

std::string_view to_string(NodeTest test) {
  switch (test) {
    case NodeTest::kUnavailable:
      return "unavailable";
    case NodeTest::kNodeRequirements:
      return "node_requirements";
    case NodeTest::kTaints:
      return "taints";
    case NodeTest::kGpuModel:
      return "gpu_model";
    case NodeTest::kGpuCount:
      return "gpu_count";
    case NodeTest::kCapacity:
      return "capacity";
    case NodeTest::kFreeGpus:
      return "free_gpus";
    case NodeTest::kFreeCpu:
      return "free_cpu";
    case NodeTest::kFreeMemory:
      return "free_memory";
    case NodeTest::kFreeEphemeral:
      return "free_ephemeral";
    case NodeTest::kFreePods:
      return "free_pods";
    case NodeTest::kFreeOther:
      return "free_other";
    case NodeTest::kVolumes:
      return "volumes";
    case NodeTest::kNear:
      return "near";
    case NodeTest::kApart:
      return "apart";
    case NodeTest::kSpread:
      return "spread";
    case NodeTest::kOutsideDomain:
      return "outside_domain";
  }
  return "unknown";
}

}  // namespace mainspring::model
