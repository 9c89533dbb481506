// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "mainspring/cli/exit_code.h"

namespace CLI {
class App;
}

// Every subcommand declares its flags here and says what to do when it was chosen. A source each.

namespace mainspring::cli {

// Set by the subcommand that was chosen, while the flags are read; run afterwards.
using Action = std::function<ExitCode()>;

void add_simulate(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_audit(CLI::App& app, Action& action);
void add_shares(CLI::App& app, Action& action);
void add_priority(CLI::App& app, Action& action);
void add_scheduler(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_demo(CLI::App& app, Action& action);
void add_version(CLI::App& app, Action& action);
void add_completion(CLI::App& app, Action& action);

}  // namespace mainspring::cli
