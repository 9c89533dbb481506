// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mainspring/base/result.h"
#include "mainspring/model/resources.h"

// What one pod demands: of a node and its devices, of volumes, and of the pods around it. Plain
// data of events and files, as spec.h, which validates it.

namespace mainspring::model {

inline constexpr int32_t kWholeGpuMilli = 1000;

enum class TaintEffect : uint8_t { kNoSchedule, kPreferNoSchedule, kNoExecute };

// Kubernetes' rules: an empty key with `exists` tolerates everything; no effect tolerates every
// effect.
struct Toleration {
  std::string key;
  std::string value;
  bool exists = false;     // any value of the key
  bool any_effect = true;  // `effect` is not looked at
  TaintEffect effect = TaintEffect::kNoSchedule;
  friend auto operator<=>(const Toleration&, const Toleration&) = default;
};

enum class SelectorOp : uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };

struct NodeRequirement {
  std::string key;
  SelectorOp op = SelectorOp::kIn;
  std::vector<std::string> values;
  friend auto operator<=>(const NodeRequirement&, const NodeRequirement&) = default;
};

// The key of a requirement on the node's own name; no label has such a key.
inline constexpr const char* kNodeNameKey = "@name";

// A node meets it when it meets every requirement of at least one of the terms. Without terms no
// node does.
struct NodeChoice {
  std::vector<std::vector<NodeRequirement>> terms;
  friend auto operator<=>(const NodeChoice&, const NodeChoice&) = default;
};

// A counted resource that the model knows by name only, such as "rdma/hca".
struct NamedAmount {
  std::string name;
  int64_t amount = 0;
  friend auto operator<=>(const NamedAmount&, const NamedAmount&) = default;
};

// What one pod asks of the GPUs of a node. Exactly one form:
//   count = 0                      no GPU
//   count ≥ 1, whole               `count` devices, each for this pod alone
//   count ≥ 1, milli in 1..999     that share of each of `count` devices
//   count ≥ 1, memory_bytes > 0    that much memory of each of `count` devices
struct GpuRequest {
  std::string resource = "nvidia.com/gpu";
  uint32_t count = 0;
  int32_t milli = kWholeGpuMilli;
  int64_t memory_bytes = 0;
  int64_t device_memory_bytes_min = 0;  // the device itself must have at least this much
  std::vector<std::string> models;      // any of these; empty: any model
  friend auto operator<=>(const GpuRequest&, const GpuRequest&) = default;

  [[nodiscard]] bool whole() const {
    return count > 0 && memory_bytes == 0 && milli == kWholeGpuMilli;
  }
};

// What a pod demands of the pods around it. The rule speaks of pods by a tag that they carry
// (PodShape::tags); `level` is a node label whose equal values make nodes neighbours, kNodeLevel
// for each node by itself, or kClusterLevel for all nodes together.
enum class PodRuleKind : uint8_t {
  // A pod with the tag runs in the same domain; or none runs anywhere, and the pod carries the tag
  // itself.
  kNear,
  // No pod with the tag is in the same domain; it holds for those that come later as well.
  kApart,
  // In its domain run at most `max_skew` more of the tag, itself included, than in the domain with
  // the fewest. Only nodes count that have the label of every such rule of the pod.
  kSpread,
};
inline constexpr const char* kNodeLevel = "node";
inline constexpr const char* kClusterLevel = "";

struct PodRule {
  PodRuleKind kind = PodRuleKind::kApart;
  std::string tag;
  std::string level;
  // Of kSpread only:
  int32_t max_skew = 1;
  int32_t min_domains = 1;         // with fewer domains the fewest counts as none
  bool honor_requirements = true;  // only nodes count that meet the pod's own demands on nodes
  bool honor_taints = false;       // only nodes count whose taints it tolerates
  friend auto operator<=>(const PodRule&, const PodRule&) = default;
};

// A volume that is attached to the node through a driver that may have a limit; pods that share it
// count once.
struct Attachment {
  std::string driver;
  std::string volume;
  friend auto operator<=>(const Attachment&, const Attachment&) = default;
};

// A shape is what makes pods interchangeable for placement. Lists are sorted and without doubles.
struct PodShape {
  Resources request;  // `pods` is 1
  std::vector<NamedAmount> others;
  GpuRequest gpu;
  std::vector<NodeRequirement> node_requirements;
  std::vector<NodeChoice> node_choices;  // each of them must be met
  std::vector<Toleration> tolerations;
  std::vector<std::string> tags;  // by which the rules of pods speak of it
  std::vector<PodRule> rules;
  std::vector<Attachment> attachments;
  friend auto operator<=>(const PodShape&, const PodShape&) = default;
};

// Refuses, by field name, what no later step could use.
base::Status validate(const PodShape& shape);

}  // namespace mainspring::model
