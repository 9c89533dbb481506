// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mainspring/config/section.h"
#include "mainspring/model/spec.h"

// Reading what the core is told, as scenarios and the scheduler's own file write it.

namespace mainspring::config {

// `topologies`.
void read_topologies(const Section& file, model::CoreConfig& config);
// `gpu_resources`, `timeouts` and `sharing`; after the topologies, and checks the whole.
void read_core_settings(const Section& file, model::CoreConfig& config);

}  // namespace mainspring::config
