// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/model/verdict.h"

// What a scenario promises about its own outcome.

namespace mainspring::config {

enum class ExpectationKind : uint8_t {
  kStartsBy,              // `job`: its minimum runs at `at` or earlier
  kStartsAfter,           // `job`: starts, but not before `at`
  kNeverStarts,           // `job`
  kFinishesBy,            // `job`: all its pods have succeeded by `at`
  kWithin,                // `job`: at its first start all pods lie in one domain of `level`
  kDomainsAtMost,         // `job`: at its first start, in at most `count` domains of `level`
  kOnNodes,               // `job`: at its first start, only on `nodes` and on each of them
  kPendingAt,             // `job`: waits at `at`, with `verdict`, `reason`, `sentence` where given
  kHoldingPods,           // `job`: exactly `count` pods hold a place at `at`
  kRunningPods,           // exactly `count` pods run at `at`: of `job`, or of all when it is empty
  kStartedJobs,           // exactly `count` jobs (of the name `job`, or all) have started by `at`
  kReleases,              // `job` (or all): exactly `count` releases of a whole gang by the end
  kRepairs,               // `job` (or all): at least `count` lost pods were placed anew by the end
  kInvariantViolations,   // exactly `count` in the whole run
  kUtilisationAtLeast,    // GPU time held / GPU time that there was, in thousandths: `count`
  kSameHash,              // a second run with the same seed gives the same hash
  kDisplaced,             // `job` (or all): stopped for others exactly `count` times by the end
  kDisplacedAtMost,       // … at most so often
  kDisplacedBy,           // `job`: stopped for the job `other` at least once
  kLostGpuSecondsAtMost,  // `job` (or all): GPU time that displacement cost
  kPromisesEnded,         // exactly `count` promises ended without a start
  kHoldingGpus,           // `queue`: exactly `count` GPUs are held there or promised at `at`
  kQueueHoldsAtLeast,     // … at least so many
};

// As written in scenario files.
std::string_view to_string(ExpectationKind kind);

struct Expectation {
  ExpectationKind kind = ExpectationKind::kInvariantViolations;
  std::string job;  // an id, or the name that copies share: then it holds for each of them (for
                    // counts: for all together)
  base::Instant at = base::Instant::never();  // never: at the end
  std::string level;
  std::string other;  // kDisplacedBy
  std::string queue;  // kHoldingGpus, kQueueHoldsAtLeast
  std::vector<std::string> nodes;
  int64_t count = 0;
  std::optional<model::VerdictKind> verdict;
  std::optional<model::ReasonCode> reason;
  std::string sentence;  // a part of the sentence
  int line = 0;          // in the scenario file, for the report
};

}  // namespace mainspring::config
