// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "mainspring/model/cluster_state.h"
#include "mainspring/model/event.h"

// The whole of a ClusterState as events: applied in order to a fresh one they rebuild an equal
// state (equal by `hash`), and later events then lead both to the same decisions.
//
// All carry the time and sequence number of the state. No Trial may be open. O(everything). What
// was ignored and counted as stale is not part of it, nor are names that nothing uses any more.

namespace mainspring::model {

[[nodiscard]] std::vector<Event> take_snapshot(const ClusterState& state);

// An equal state without the names, shapes and signatures that nothing uses any more. They are
// numbered for good, so that tables can be indexed by them; whoever makes up new ones without end
// would otherwise make the tables grow without end. What was derived from the old state (an Engine)
// is void. No Trial may be open. O(everything).
[[nodiscard]] ClusterState without_unused_names(const ClusterState& state);
// How often a shape was asked for is a fact of the state (prices are made of it), so that the shape
// is in use. These events, applied before, let go of those that no pod has. O(pods + shapes).
[[nodiscard]] std::vector<DemandRestored> end_of_unused_demand(const ClusterState& state);

}  // namespace mainspring::model
