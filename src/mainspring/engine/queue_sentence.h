// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "mainspring/model/cluster_state.h"
#include "mainspring/model/verdict.h"

namespace mainspring::engine {

// Verdicts about queues and promises in words; empty for all others. O(queues × resources).
std::string queue_sentence(const model::Verdict& verdict, const model::ClusterState& state,
                           const model::Job& job);

}  // namespace mainspring::engine
