// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/model/queue_spec.h"
#include "mainspring/model/spec.h"

// Everything that ClusterState ever learns arrives as one of these. Things are named by stable ids.
// Events may come late, twice or out of order; what no longer applies is ignored and counted.

namespace mainspring::model {

struct NodeChanged {
  NodeSpec node;
};
struct NodeGone {
  std::string name;
};
// What a device reports of itself.
struct GpuSampled {
  std::string node;
  std::string gpu;
  bool healthy = true;
  int64_t foreign_memory_bytes = 0;  // used by processes that Mainspring did not start
};
struct JobChanged {
  JobSpec job;
};
struct JobGone {
  std::string job;
};
// A job saved its work.
struct JobCheckpointed {
  std::string job;
};
struct QueueChanged {
  QueueSpec queue;
};
// Refused while it has children or jobs that hold something.
struct QueueGone {
  std::string name;
};

// `incarnation` counts the lives of a pod: it grows by one each time that the pod has to be placed
// anew.
struct PodBound {
  std::string pod;
  uint32_t incarnation = 0;
};
struct PodStarted {
  std::string pod;
  uint32_t incarnation = 0;
};
// The pod was asked to stop; it still holds everything until PodGone.
struct PodStopping {
  std::string pod;
  uint32_t incarnation = 0;
};
enum class PodEnd : uint8_t {
  kSucceeded,  // its work is done
  kRemoved,    // its owner took it away; no other comes
  kLost,       // it failed, was evicted, or its node died: it has to be placed anew
};
struct PodGone {
  std::string pod;
  uint32_t incarnation = 0;
  PodEnd end = PodEnd::kSucceeded;
};
// The outside refused to bind the pod where the plan said: the pod waits again.
struct BindRefused {
  std::string pod;
  uint32_t incarnation = 0;
  std::string why;
};
// A pod found in its place, as a snapshot or a restart tells it.
struct PodFound {
  std::string pod;
  uint32_t incarnation = 0;
  std::string node;
  std::vector<std::string> gpus;
  uint8_t phase = 0;  // PodPhase
  base::Instant from;
  base::Instant until = base::Instant::never();
  bool confirmed = true;  // its place was seen back from the outside
};
struct ConfigChanged {
  CoreConfig config;
};
// Every GPU model ever seen, in order of first sight, as a snapshot tells it: their numbers break
// ties.
struct GpuModelsRestored {
  std::vector<std::string> models;
};
// What a job has been through, as a snapshot tells it.
struct JobRestored {
  std::string job;
  uint32_t failed_starts = 0;
  base::Instant backoff_until;
  base::Instant start_deadline = base::Instant::never();
  bool releasing = false;
  bool removed = false;
  base::Instant running_since = base::Instant::never();
  base::Instant checkpointed_at = base::Instant::never();
  std::vector<base::Instant> displaced_at;
  bool goes_first = false;
  base::Instant move_retry_at;
  base::Instant protected_until;
  friend bool operator==(const JobRestored&, const JobRestored&) = default;
};
// Places that are promised to a job, as a snapshot tells it.
struct PromisedPlace {
  std::string pod;
  std::string node;
  std::vector<std::string> gpus;
};
struct PromiseRestored {
  std::string job;
  base::Instant until;
  bool broken = false;
  std::vector<PromisedPlace> places;
  std::vector<std::string> displaced;  // jobs that stop for it
};
// What a queue used in the past, as a snapshot tells it: by resource as in QueueResource, in its
// unit (of memory, MiB) times seconds, and thousandths of that.
struct UsageRestored {
  struct Amount {
    std::string resource;
    int64_t seconds = 0;
    int64_t millis = 0;
  };
  std::string queue;
  base::Instant at;
  std::vector<Amount> amounts;
};
// How often each shape has been asked for, as a snapshot tells it.
struct DemandRestored {
  PodShape shape;
  int64_t arrivals = 0;
  int64_t arrivals_priced = 0;
};
struct Tick {};

using EventBody =
    std::variant<NodeChanged, NodeGone, GpuSampled, JobChanged, JobGone, PodBound, PodStarted,
                 PodStopping, PodGone, BindRefused, PodFound, ConfigChanged, GpuModelsRestored,
                 JobRestored, DemandRestored, Tick, JobCheckpointed, QueueChanged, QueueGone,
                 PromiseRestored, UsageRestored>;

struct Event {
  uint64_t sequence = 0;
  base::Instant at;
  EventBody body;
};

}  // namespace mainspring::model
