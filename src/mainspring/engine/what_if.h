// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "mainspring/engine/remedy.h"
#include "mainspring/model/cluster_state.h"
#include "mainspring/model/placer.h"
#include "mainspring/model/trial.h"

// Remedies carried out in a Trial.

namespace mainspring::engine {

inline constexpr int64_t kMiB = int64_t{1} << 20;

// The job as it could be submitted again. O(pods + groups).
model::JobSpec spec_of(const model::ClusterState& state, model::JobIx job);

// Whether the remedy changes the job and not the cluster.
bool changes_the_job(RemedyKind kind);

// The spec with the remedy applied.
model::JobSpec changed(model::JobSpec spec, const Remedy& remedy);

// Carries the remedy out. Returns the job to place: this one, or its changed copy. O(pods of the
// job) or O(targets and amounts).
model::JobIx apply(model::Trial& trial, model::JobIx job, const Remedy& remedy);

// The node that a kNewNode remedy speaks of; without a name.
model::NodeSpec new_node(const Remedy& remedy);

// Every variant of the remedy that is one unit or one target weaker. Weakening the last unit or
// target leaves nothing, which is known not to help, and is not listed.
std::vector<Remedy> weaker(const Remedy& remedy);

}  // namespace mainspring::engine
