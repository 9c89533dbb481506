// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

// Files that the build made part of the program (cmake/embedded.cmake).

namespace mainspring::cli {

// scenarios/demo/busy-day.yaml
std::string_view busy_day_scenario();

}  // namespace mainspring::cli
