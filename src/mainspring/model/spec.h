// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/base/result.h"
#include "mainspring/model/pod_shape.h"
#include "mainspring/model/resources.h"

// What the outside says, by stable names: the payloads of events and files. Plain data; `validate`
// refuses, by field name, what no later step could use. Unknown level or queue names are no error
// here: a job may arrive before its topology does, and is then explained.

namespace mainspring::model {

// A node's devices are held as a bit mask.
inline constexpr size_t kGpusPerNodeMax = 64;

struct Label {
  std::string key;
  std::string value;
  friend auto operator<=>(const Label&, const Label&) = default;
};

struct Taint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::kNoSchedule;
  friend auto operator<=>(const Taint&, const Taint&) = default;
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
  // By driver, sorted: how many different volumes may be attached.
  std::vector<NamedAmount> attachments_max;
  std::vector<GpuSpec> gpus;
  friend auto operator<=>(const NodeSpec&, const NodeSpec&) = default;
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
