// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/base/result.h"
#include "mainspring/model/resources.h"

// What the outside says, by stable names: the payloads of events and files. Plain data; `validate`
// refuses, by field name, what no later step could use. Unknown level or queue names are no error
// here: a job may arrive before its topology does, and is then explained.

namespace mainspring::model {

inline constexpr int32_t kWholeGpuMilli = 1000;
// A node's devices are held as a bit mask.
inline constexpr size_t kGpusPerNodeMax = 64;

struct Label {
  std::string key;
  std::string value;
  friend auto operator<=>(const Label&, const Label&) = default;
};

enum class TaintEffect : uint8_t { kNoSchedule, kPreferNoSchedule, kNoExecute };

struct Taint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::kNoSchedule;
  friend auto operator<=>(const Taint&, const Taint&) = default;
};

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

struct GpuSpec {
  std::string id;  // unique on its node; the UUID where one is known
  std::string resource = "nvidia.com/gpu";
  std::string model;
  int64_t memory_bytes = 0;  // 0: not known, then no share by memory fits
  bool healthy = true;
  friend auto operator<=>(const GpuSpec&, const GpuSpec&) = default;
};

struct NodeSpec {
  std::string name;
  std::vector<Label> labels;
  std::vector<Taint> taints;
  bool schedulable = true;  // not cordoned
  bool ready = true;
  Resources allocatable;
  std::vector<NamedAmount> others;  // counted resources besides, sorted by name
  std::vector<NamedAmount>
      attachments_max;  // by driver: how many different volumes may be attached
  std::vector<GpuSpec> gpus;
  friend auto operator<=>(const NodeSpec&, const NodeSpec&) = default;
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

struct PodSpec {
  std::string id;      // unique in the cluster
  uint32_t group = 0;  // index into JobSpec::groups
  uint32_t shape = 0;  // index into JobSpec::shapes
  friend auto operator<=>(const PodSpec&, const PodSpec&) = default;
};

// `min_count` of the children (pods and groups) must run together; more may. kAllChildren: every
// one.
struct GroupSpec {
  static constexpr uint32_t kAllChildren = 0;

  std::string name;
  int32_t parent =
      -1;  // index into JobSpec::groups, smaller than this one's; the first is the root
  uint32_t min_count = kAllChildren;
  std::string required_level;   // all of it inside one domain of this level; empty: anywhere
  std::string preferred_level;  // in as few domains of this level as possible; empty: no wish
  friend auto operator<=>(const GroupSpec&, const GroupSpec&) = default;
};

// Priorities of users; what is above belongs to the system.
inline constexpr int32_t kPriorityMax = 1'000'000'000;

struct JobSpec {
  std::string id;
  std::string queue = "default";
  std::string tenant;  // who submitted it; empty: not known
  int32_t priority = 0;
  bool preemptible = true;   // it may be displaced; false: it may not exceed its queue's quota
  bool may_displace = true;  // others may be displaced for it (preemptionPolicy)
  base::Instant submitted_at;
  base::Duration expected_run;         // 0: not known
  base::Duration checkpoint_interval;  // it saves its work so often; 0: never
  base::Duration restart_time;         // what a displacement costs it besides the work not saved
  // Pods come and go one by one, as controllers make them: groups may have fewer children than
  // their minimum, and the job is over only when its owner says so.
  bool pods_awaited = false;
  std::vector<GroupSpec> groups;
  std::vector<PodShape> shapes;
  std::vector<PodSpec> pods;
  friend auto operator<=>(const JobSpec&, const JobSpec&) = default;
};

// Levels from the widest to the narrowest, each read from a node label. The level "node" exists by
// itself and is the narrowest of every topology.
struct TopologySpec {
  std::string name;
  std::vector<Label>
      levels;  // key: the level's name; value: the node label that carries the domain
  friend auto operator<=>(const TopologySpec&, const TopologySpec&) = default;
};

inline constexpr const char* kNodeLevel = "node";

// What the operator configures for the core; files are read in config/.
struct CoreConfig {
  std::vector<TopologySpec> topologies;
  std::vector<std::string> gpu_resources = {"nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915",
                                            "gpu.intel.com/xe"};
  base::Duration gang_start_timeout = base::seconds(60);
  base::Duration retry_backoff_first = base::seconds(10);
  base::Duration retry_backoff_max = base::seconds(600);
  // Past use loses half of its weight in so long; 0: past use does not count.
  base::Duration usage_half_life;
  // What is made free for a job is held for it so long, beginning with the displacement. And so
  // long a job that was displaced displaces nobody itself, and one for which others stopped is not
  // displaced.
  base::Duration promise_timeout = base::seconds(300);
  // Within `displacements_window`, a job is displaced at most so often by work beyond its quota.
  int32_t displacements_max = 2;
  base::Duration displacements_window = base::seconds(12 * 3600);
  // Jobs are moved to make a hole when that costs at most so much lost work for each GPU of the job
  // that waits; 0: never.
  base::Duration consolidate_lost_max = base::seconds(900);
  friend auto operator<=>(const CoreConfig&, const CoreConfig&) = default;
};

// How long a job waits after it failed to start for the n-th time in a row, `failed` = 0 first:
// twice as long each time, up to a bound.
base::Duration retry_backoff(const CoreConfig& config, uint32_t failed);

base::Status validate(const NodeSpec& node);
base::Status validate(const JobSpec& job);
base::Status validate(const CoreConfig& config);

}  // namespace mainspring::model
