// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mainspring/model/cluster_state.h"
#include "mainspring/model/verdict.h"
#include "mainspring/policy/queue_shares.h"

// Whether a job may start at all, wherever it would fit: its queue, its tenant, limits, and the
// quota for work that cannot be displaced.

namespace mainspring::policy {

// Before it is placed: kNow when nothing speaks against it. O(pods + depth).
model::Verdict admit(const model::ClusterState& state, const QueueShares& shares, model::JobIx job);

// After it was placed in a Trial: whether no limit and no quota is exceeded. What pods hold that
// were asked to stop counts towards limits. O(depth × resources).
bool within_limits(const model::ClusterState& state, const QueueShares& shares, model::JobIx job);

}  // namespace mainspring::policy
