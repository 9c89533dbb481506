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

}  // namespace mainspring::model
