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

using Decision = std::variant<Bind, Release>;

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
