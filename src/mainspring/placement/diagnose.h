// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "mainspring/model/cluster_state.h"
#include "mainspring/model/placer.h"
#include "mainspring/model/verdict.h"

// WHY NOT: turns the search's bare "no" into a Verdict with a reason code, the nodes counted by the
// first test that they fail, the nearest miss, and "never" where that is true.
//
// "Never" means: the nodes that there are could not run the job if all of them were empty, ready,
// schedulable and sound. For single pods that is one look at every node. For gangs lower bounds
// come first, per shape and per domain; what they leave open is asked of the Placer on the emptied
// cluster, in a Trial that is rolled back.

namespace mainspring::placement {

struct DiagnoseOptions {
  // The cluster is not emptied for the exact answer when more pods than this hold a place; the
  // verdict is then `not_now`.
  uint32_t emptied_pods_max = 32'768;
};

// `coarse` is what the Placer answered for this job in this state. No Trial may be open. The state
// is the same afterwards. O(nodes × classes of the job), plus one emptied Trial for gangs whose
// answer the bounds leave open.
model::Verdict diagnose(model::ClusterState& state, model::Placer& placer, model::JobIx job,
                        const model::Verdict& coarse, const DiagnoseOptions& options = {});

// Makes the cluster in the Trial as empty and sound as it can be: no pods, every node available,
// every device healthy and without strangers. O(pods + nodes × devices).
void empty_cluster(model::Trial& trial);

}  // namespace mainspring::placement
