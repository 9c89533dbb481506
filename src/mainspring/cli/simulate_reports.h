// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mainspring/cli/static_comparison.h"
#include "mainspring/config/scenario.h"

// What `simulate` prints: a table for people, or the schema mainspring.simulate/1.

namespace mainspring::cli {

void print_static_report(const config::Scenario& scenario, const StaticComparison& comparison,
                         bool json);

}  // namespace mainspring::cli
