// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

namespace mainspring::cli {

// The whole program but for `main`: reads the flags, does what they say, returns the exit code.
// `arguments` includes the name of the program.
int run_command_line(std::span<const char* const> arguments);

}  // namespace mainspring::cli
