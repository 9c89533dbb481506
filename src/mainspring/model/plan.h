// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/model/verdict.h"

// What one cycle decided. Names things by stable ids, so that it can be executed, recorded or only
// looked at. Each decision carries what must still hold when it is executed.

namespace mainspring::model {

struct PodBinding {
  std::string pod;
  uint32_t incarnation = 0;       // precondition: the pod is still in this life
  std::string node;               // precondition: the node is there and ready
  std::vector<std::string> gpus;  // precondition: nobody else uses them
};

// Start these pods of one job together: the first start of a gang, a repair, or its growth.
struct Bind {
  std::string job;
  std::vector<PodBinding> pods;
};

enum class ReleaseReason : uint8_t {
  kStartTimeout,  // not all claimed pods started in time
  kBelowMinimum,  // members were lost and could not be replaced in time
};
std::string_view to_string(ReleaseReason reason);

struct PodRelease {
  std::string pod;
  uint32_t incarnation = 0;  // precondition: the pod is still in this life
};

// Take every pod of the job off its node; the job is tried again from `retry_at` on.
struct Release {
  std::string job;
  ReleaseReason reason = ReleaseReason::kStartTimeout;
  std::vector<PodRelease> pods;
  base::Instant retry_at;
};

// By which right a job is displaced.
enum class DisplaceRule : uint8_t {
  kPreempt,      // inside its queue, by a job of higher priority
  kReclaim,      // it runs beyond its queue's share, and the other queue is below its own
  kConsolidate,  // it is moved: its new place is promised to it
  kHold,         // nobody is: what others leave anyway is promised
};
std::string_view to_string(DisplaceRule rule);

// What is taken from one job.
struct Victim {
  std::string job;
  std::string queue;
  std::string tenant;
  DisplaceRule rule = DisplaceRule::kPreempt;
  std::vector<PodRelease> pods;
  bool whole = true;  // false: only pods above its minimum; it goes on running
  int64_t gpu_milli = 0;
  int64_t lost_gpu_ms = 0;        // device-milliseconds of work that is lost, restart included
  base::Duration checkpoint_age;  // since its work was saved, or since it runs
};

// A way that was looked at and not taken.
struct Alternative {
  std::string where;  // a node, or "level:value" of a domain, or "cluster"
  int64_t victims = 0;
  int64_t lost_gpu_ms = 0;
};

// Stop these pods, so that `job` can start in the places that are promised to it. Of a moved job
// the new places are among `promised` too, each under its pod.
struct Displace {
  std::string job;
  std::string queue;
  DisplaceRule rule = DisplaceRule::kPreempt;  // the strongest that was needed
  std::vector<Victim> victims;
  std::vector<PodBinding> promised;
  base::Instant until;  // the promise ends then
  std::vector<Alternative> alternatives;
};

enum class PromiseEnd : uint8_t {
  kLate,    // what was to be freed was not free in time
  kBroken,  // a promised node went away, or the job is another one now
};
std::string_view to_string(PromiseEnd end);

// The places are nobody's any more; those who were displaced for them go first.
struct PromiseEnded {
  std::string job;
  PromiseEnd why = PromiseEnd::kLate;
  base::Instant retry_at;
};

using Decision = std::variant<Bind, Release, Displace, PromiseEnded>;

struct Explanation {
  std::string job;
  Verdict verdict;
};

struct Plan {
  std::vector<Decision> decisions;
  std::vector<Explanation> explanations;  // of every waiting job whose answer changed
  base::Instant next_wake = base::Instant::never();
};

}  // namespace mainspring::model
