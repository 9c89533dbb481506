// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mainspring/base/instant.h"
#include "mainspring/model/trial.h"
#include "mainspring/model/verdict.h"

// WHERE, as the other rooms see it. Implemented in placement/, handed down by engine/; used for
// starting jobs, for repairing gangs, and later by the victim search and the planner.

namespace mainspring::model {

struct PlaceRequest {
  JobIx job;
  // The time for which the place is wanted.
  base::Interval when;
  // Also place pods above the minimum where there is room.
  bool grow = true;
};

class Placer {
 public:
  virtual ~Placer() = default;

  // Places the job's pending pods so that, with those that hold a place already, every group has
  // its minimum. Pods that hold a place stay, and bind their groups' domains. On `kNow` the Trial
  // holds the proposed placement; otherwise it is as it was.
  virtual Verdict place(Trial& trial, const PlaceRequest& request) = 0;
};

}  // namespace mainspring::model
