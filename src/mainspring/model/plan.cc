// SPDX-License-Identifier: Apache-2.0
#include "mainspring/model/plan.h"

namespace mainspring::model {

std::string_view to_string(ReleaseReason reason) {
  switch (reason) {
    case ReleaseReason::kStartTimeout:
      return "start_timeout";
    case ReleaseReason::kBelowMinimum:
      return "below_minimum";
  }
  return "unknown";
}

std::string_view to_string(DisplaceRule rule) {
  switch (rule) {
    case DisplaceRule::kPreempt:
      return "preempt";
    case DisplaceRule::kReclaim:
      return "reclaim";
    case DisplaceRule::kConsolidate:
      return "consolidate";
    case DisplaceRule::kHold:
      return "hold";
  }
  return "unknown";
}

std::string_view to_string(PromiseEnd end) {
  switch (end) {
    case PromiseEnd::kLate:
      return "late";
    case PromiseEnd::kBroken:
      return "broken";
  }
  return "unknown";
}

}  // namespace mainspring::model
