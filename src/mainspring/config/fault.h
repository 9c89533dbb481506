// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mainspring/base/instant.h"

// What goes wrong in a scenario: at a given time, or drawn from the seed.

namespace mainspring::config {

enum class FaultKind : uint8_t {
  kNodeLost,        // the node vanishes with all its pods
  kNodeBack,        // it returns as it was
  kNodeCordoned,    // takes no new pods; the others go on
  kNodeUncordoned,  //
  kNodeGpus,        // the node reports only its first `count` GPUs from now on
  kGpuLost,         // a device turns unhealthy; the pods on it fail
  kGpuBack,         //
  kGpuTaken,        // a process of somebody else uses `memory_bytes` of the device
  kGpuFreed,        // that process ends
  kBindRefused,     // the next `count` binds of the job's pods are refused
  kPodNeverStarts,  // the next `count` pods of the job that are bound never come up
  kPodFailed,       // `count` running pods of the job fail at once
  kJobRemoved,      // its owner deletes the job
  kEvictionStuck,   // the next `count` pods of the job that are asked to stop do not go
  kEvictionFreed,   // those go now
  kEvictionDone,    // the next `count` pods of the job that are asked to stop end their work first
  kJobSaved,        // the job saves its work, and says so
};

// One per value of FaultKind, as written in scenario files.
std::string_view to_string(FaultKind kind);

struct TimedFault {
  FaultKind kind = FaultKind::kNodeLost;
  base::Instant at;
  std::string node;   // node and GPU faults
  std::string gpu;    // GPU faults: the device's id on that node
  std::string job;    // job faults: an id, or the name that copies share (then the first that
                      // it applies to)
  int64_t count = 1;  // see FaultKind
  int64_t memory_bytes = 0;  // kGpuTaken
};

// Drawn faults. A mean distance of zero, or a probability of zero: never.
struct FaultChances {
  base::Duration node_lost_every;  // mean time between losses, over the whole cluster
  base::Duration node_back_after = base::seconds(20 * 60);
  base::Duration gpu_lost_every;
  base::Duration gpu_back_after = base::seconds(30 * 60);
  base::Duration gpu_taken_every;  // a stranger takes all memory of one device …
  base::Duration gpu_taken_for = base::seconds(10 * 60);  // … for so long
  int32_t bind_refused_ppm = 0;                           // of a million pods that are bound
  int32_t pod_never_starts_ppm = 0;                       // of a million pods that are bound
  int32_t pod_failed_ppm = 0;  // of a million pods that start: fails half-way
  int32_t event_late_ppm = 0;  // of a million events that report something
  int32_t event_repeated_ppm = 0;
  int32_t event_reordered_ppm = 0;                  // swaps places with the next one
  base::Duration event_late_by = base::seconds(5);  // at most

  [[nodiscard]] bool any() const {
    return node_lost_every.ms > 0 || gpu_lost_every.ms > 0 || gpu_taken_every.ms > 0 ||
           bind_refused_ppm > 0 || pod_never_starts_ppm > 0 || pod_failed_ppm > 0 ||
           event_late_ppm > 0 || event_repeated_ppm > 0 || event_reordered_ppm > 0;
  }
};

}  // namespace mainspring::config
