// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mainspring/base/ids.h"
#include "mainspring/base/instant.h"
#include "mainspring/model/queues.h"
#include "mainspring/model/resources.h"
#include "mainspring/model/spec.h"

// The rows of ClusterState. Read anywhere; written by ClusterState and Trial only. Names that come
// and go are strings; those that repeat (labels, levels, queues) are numbers of the state's name
// table.

namespace mainspring::model {

using NodeIx = base::Index<struct NodeTag>;
using PodIx = base::Index<struct PodTag>;
using JobIx = base::Index<struct JobTag>;
using DomainIx = base::Symbol<struct DomainTag>;
using LevelIx = base::Symbol<struct LevelTag>;
using ShapeIx = base::Symbol<struct ShapeTag>;
using NameIx = uint32_t;
// Bit i is the i-th device of the node.
using DeviceMask = uint64_t;

struct Gpu {
  int64_t memory_bytes = 0;
  int64_t memory_used_bytes = 0;     // by pods of ours, what shares by milli imply included
  int64_t foreign_memory_bytes = 0;  // by processes of others
  NameIx id = 0;
  int32_t used_milli = 0;
  uint16_t holders = 0;  // pods that hold it or a share of it
  uint8_t model = 0;     // number in Inventory::gpu_models
  uint8_t resource = 0;  // number in Inventory::gpu_resources
  bool healthy = true;
  bool present = true;  // false: reported gone while a pod held it

  [[nodiscard]] bool usable() const { return healthy && present; }
  // Nobody uses any of it.
  [[nodiscard]] bool wholly_free() const {
    return usable() && holders == 0 && foreign_memory_bytes == 0;
  }
  // What a share may still take. A stranger's memory is not to be had.
  [[nodiscard]] int32_t free_milli() const {
    return usable() && used_milli < kWholeGpuMilli ? kWholeGpuMilli - used_milli : 0;
  }
  [[nodiscard]] int64_t free_memory_bytes() const {
    if (!usable()) return 0;
    const int64_t free = memory_bytes - memory_used_bytes - foreign_memory_bytes;
    return free > 0 ? free : 0;
  }
};

struct NodeLabel {
  NameIx key = 0;
  NameIx value = 0;
  friend auto operator<=>(const NodeLabel&, const NodeLabel&) = default;
};

struct NodeTaint {
  NameIx key = 0;
  NameIx value = 0;
  TaintEffect effect = TaintEffect::kNoSchedule;
};

// A counted resource besides those of Resources. One that is no longer reported has total 0 until
// nobody uses it.
struct OtherResource {
  NameIx name = 0;
  int64_t total = 0;
  int64_t used = 0;

  [[nodiscard]] int64_t free() const { return total > used ? total - used : 0; }
};

// How many different volumes may be attached through a driver.
struct AttachmentLimit {
  NameIx driver = 0;
  int64_t most = 0;
};

struct AttachedVolume {
  NameIx driver = 0;
  NameIx volume = 0;
  friend auto operator<=>(const AttachedVolume&, const AttachedVolume&) = default;
};

// A volume that pods of a node use, and how many of them do.
struct VolumeInUse {
  AttachedVolume which;
  uint32_t pods = 0;
};

// What is free on one node, or in one domain in sum. A node that is not usable contributes nothing.
struct Free {
  Resources resources;
  int64_t gpus = 0;       // wholly free devices
  int64_t gpu_milli = 0;  // free milli-GPU over all usable devices, the wholly free ones included
  friend auto operator<=>(const Free&, const Free&) = default;
};

// What is promised to somebody is booked as used, also while others still hold it: then `used`
// and the counters of devices exceed what there is.
struct Node {
  std::string name;
  uint32_t generation = 0;
  // Grows with every node that is added: the order of ties, which outlives the reuse of slots.
  uint32_t rank = 0;
  bool alive = false;   // the slot is in use
  bool listed = false;  // the outside still reports it; false: kept until its last pod is gone
  bool schedulable = true;
  bool ready = true;
  Resources allocatable;
  Resources used;
  Free free;                      // this node's contribution to its domains
  std::vector<NodeLabel> labels;  // sorted by key
  std::vector<NodeTaint> taints;
  std::vector<OtherResource> others;  // sorted by name
  std::vector<AttachmentLimit> attachments_max;
  std::vector<VolumeInUse> volumes;  // sorted
  std::vector<Gpu> gpus;
  std::vector<DomainIx> domains;  // by level; invalid where the node lacks the label
  PodIx first_pod;
  uint32_t pod_count = 0;

  [[nodiscard]] bool usable() const { return alive && listed && schedulable && ready; }
};

enum class PodPhase : uint8_t {
  kPending,
  kClaimed,   // planned and being bound
  kStarting,  // bound, its containers are not up yet
  kRunning,
  kCheckpointing,
  kStopping,  // asked to stop; still holds everything, and is expected to be gone by `until`
  kGone,      // for good
};

enum class HoldingState : uint8_t {
  kNone,
  kProposed,   // in an uncommitted Trial
  kClaimed,    // decided; the outside may not have seen it yet
  kConfirmed,  // seen back from the outside
};

struct Pod {
  std::string id;
  uint32_t generation = 0;
  JobIx job;
  uint32_t group = 0;  // in Job::groups
  ShapeIx shape;
  uint32_t incarnation = 0;
  PodPhase phase = PodPhase::kPending;
  HoldingState holding = HoldingState::kNone;
  bool alive = false;      // the slot is in use
  bool withdrawn = false;  // its owner no longer wants it; it waits for PodGone
  bool demanded = false;   // it counts in its queue's demand
  NodeIx node;
  DeviceMask devices = 0;
  base::Interval interval;
  PodIx previous_on_node;
  PodIx next_on_node;

  [[nodiscard]] bool holds() const { return holding != HoldingState::kNone; }
};

struct Group {
  NameIx name = 0;
  int32_t parent = -1;
  uint32_t min_count = 0;  // resolved: at least 1 where there are children
  LevelIx required_level;
  LevelIx preferred_level;
  NameIx required_level_name = 0;
  NameIx preferred_level_name = 0;
  std::vector<uint32_t> children;  // groups, in order
  std::vector<uint32_t> pods;      // in Job::pods, in order
};

// A place that is being made free for a pod. It is booked like a holding.
struct Promise {
  PodIx pod;
  NodeIx node;
  DeviceMask devices = 0;
};

struct Job {
  std::string id;
  uint32_t generation = 0;
  QueueIx queue;
  NameIx tenant = 0;
  // Jobs of one signature get the same answer: same queue, shapes, groups, counts and rights.
  NameIx signature = 0;
  int32_t priority = 0;
  bool alive = false;      // the slot is in use
  bool removed = false;    // deleted by its owner; kept until its last pod is gone
  bool releasing = false;  // every pod was told to go; waits for the last PodGone
  bool preemptible = true;
  bool may_displace = true;
  bool pods_awaited = false;
  bool goes_first = false;  // it was displaced in vain
  base::Instant submitted_at;
  base::Duration expected_run;
  base::Duration checkpoint_interval;
  base::Duration restart_time;
  std::vector<Group> groups;
  std::vector<PodIx> pods;
  uint32_t pods_pending = 0;
  uint32_t pods_holding = 0;
  uint32_t pods_started = 0;    // of those holding: running or further
  uint32_t pods_succeeded = 0;  // gone for good: done, or taken away by their owner
  uint32_t failed_starts = 0;
  base::Instant backoff_until{};
  base::Instant start_deadline = base::Instant::never();
  base::Instant running_since = base::Instant::never();  // its minimum runs
  base::Instant checkpointed_at = base::Instant::never();
  std::vector<base::Instant> displaced_at;  // within the window, oldest first
  std::vector<Promise> promises;            // in order of the pods
  std::vector<std::string> displaced;       // jobs that stop for it
  base::Instant promise_until = base::Instant::never();
  bool promise_broken = false;  // some promised place is lost
  // Others stopped for it: it is not displaced before then.
  base::Instant protected_until;
  base::Instant move_retry_at;  // others were moved for it in vain: not before then again

  [[nodiscard]] bool promised() const { return promise_until != base::Instant::never(); }
};

struct Domain {
  LevelIx level;
  DomainIx parent;
  NameIx value = 0;
  std::string path;  // unique; "rack:r1" or "zone:a/rack:r1"
  bool alive = false;
  std::vector<uint32_t> nodes;  // slots, in order of rank
  Free free;
};

}  // namespace mainspring::model
