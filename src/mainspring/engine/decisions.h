// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mainspring/base/instant.h"
#include "mainspring/model/cluster_state.h"
#include "mainspring/model/plan.h"
#include "mainspring/policy/make_room.h"

// Decisions put into words that can be executed and recorded.

namespace mainspring::engine {

model::PodBinding binding_of(const model::ClusterState& state, model::PodIx pod, model::NodeIx node,
                             model::DeviceMask devices);
// Of a pod that holds its place.
model::PodBinding binding_of(const model::ClusterState& state, model::PodIx pod);

// Books the displacement in the state (who stops, who is promised what) and says what is to be
// done. `room` was found in this state.
model::Displace carry_out(model::ClusterState& state, const policy::Room& room, model::JobIx winner,
                          base::Instant now);

}  // namespace mainspring::engine
