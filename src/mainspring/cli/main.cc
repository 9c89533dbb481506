// SPDX-License-Identifier: Apache-2.0
#include <span>

#include "mainspring/cli/command_line.h"

int main(int argument_count, char** arguments) {
  const std::span<const char* const> all(arguments, static_cast<size_t>(argument_count));
  return mainspring::cli::run_command_line(all);
}
