// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/model/resources.h"

// The answer to "may this job start?": yes, not now because …, or never because ….

namespace mainspring::model {

enum class VerdictKind : uint8_t { kNow, kNotNow, kNever };

// Why a job does not start. Documented for users in docs/reference/reason-codes.md.
enum class ReasonCode : uint8_t {
  kFits,                // it starts now
  kBackingOff,          // it failed to start lately and waits before it is tried again
  kNoNodes,             // the cluster has no node
  kUnknownLevel,        // it names a topology level that no configuration has
  kUnknownGpuResource,  // it names a GPU resource that no configuration has
  kNodeRequirements,    // no node has the labels that it requires
  kTaints,              // every node that could take it has a taint that it does not tolerate
  kGpuModel,            // no node has a GPU of the model or memory that it requires
  kRequestTooLarge,     // one pod asks for more than any node has, even empty
  kDomainTooSmall,      // a group asks for more than any domain of its required level has
  kClusterTooSmall,     // the gang asks for more than the whole cluster has
  kNotEnoughFree,       // enough exists, but not enough is free
  kFragmented,          // enough is free in sum, but not where one pod or one group needs it
  kNodesUnavailable,    // the nodes that could take it are cordoned or not ready
  kSearchCutShort,      // the search ended at its bound of steps before it could say no
  kUnknownQueue,        // it names a queue that is not there, or whose parent is not
  kQueueNotLeaf,        // it names a queue that only holds other queues
  kQueueForbidden,      // its tenant may not use the queue
  kQueueLimit,          // with it the queue, or one above it, would exceed its limit
  kQueueQuota,          // it cannot be displaced, and would exceed the quota of its queue
  kPromised,            // its place is being made free
  kPodsMissing,         // fewer of its pods exist than must run together
  kVolumeLimit,         // the nodes with room for it have as many volumes attached as they may
  kPodRules,            // the rules among pods let it onto no node that has room for it
};
std::string_view to_string(ReasonCode code);
std::string_view to_string(VerdictKind kind);

// The tests that a node has to pass, in the order in which they are made; a node counts for the
// first that it fails.
enum class NodeTest : uint8_t {
  kUnavailable,
  kNodeRequirements,
  kTaints,
  kGpuModel,  // no device of the model or memory that is asked for
  kGpuCount,  // too few devices, even if empty
  kCapacity,  // too little CPU, memory, storage or pods, even if empty
  kFreeGpus,
  kFreeCpu,
  kFreeMemory,
  kFreeEphemeral,
  kFreePods,
  kFreeOther,      // too little of another counted resource
  kVolumes,        // no more volumes can be attached
  kNear,           // no pod that it must be near to is there
  kApart,          // a pod that it must be apart from is too close
  kSpread,         // the pods that it must be spread with would be too uneven
  kOutsideDomain,  // would fit, but lies in no domain that can take the whole group
};
inline constexpr size_t kNodeTestCount = 17;
std::string_view to_string(NodeTest test);

using NodeTestCounts = std::array<int64_t, kNodeTestCount>;

// How far the best candidate is from taking the job.
struct Shortage {
  // An amount: "gpu" (devices), "gpu-milli", "gpu-memory" (bytes), "cpu" (milli), "memory" and
  // "ephemeral-storage" (bytes), "pods" (slots of the node), "places" (pods of a group that find no
  // room), or the name of another counted resource. Or a fact, with amount 1: "label:KEY",
  // "toleration:KEY", "gpu-model", "level:NAME", "volumes", "ready", "schedulable",
  // and, of a rule among pods, "near:TAG", "apart:TAG" or "spread:TAG".
  std::string what;
  int64_t amount = 0;
  friend auto operator<=>(const Shortage&, const Shortage&) = default;
};

struct NearestMiss {
  std::string domain;  // a node's name, or "level:value" of a domain, or "cluster"
  std::vector<Shortage> short_of;
  friend auto operator<=>(const NearestMiss&, const NearestMiss&) = default;
};

struct Verdict {
  VerdictKind kind = VerdictKind::kNow;
  ReasonCode code = ReasonCode::kFits;
  NodeTestCounts failed_nodes{};
  NearestMiss nearest_miss;
  // One pod or group that cannot be placed, for the sentence; empty when it is the only one.
  std::string culprit;
  friend auto operator<=>(const Verdict&, const Verdict&) = default;
};

}  // namespace mainspring::model
