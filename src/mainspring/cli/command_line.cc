// SPDX-License-Identifier: Apache-2.0
#include "mainspring/cli/command_line.h"

#include <algorithm>
#include <exception>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/core.h>

#include "mainspring/cli/subcommands.h"
#include "mainspring/config/field.h"

namespace mainspring::cli {
namespace {

constexpr const char* kAbout =
    "Mainspring, a scheduler for GPU clusters: who runs, where, when, and why not yet.";

constexpr const char* kFooter = R"(
Begin with:
  mainspring demo                                   a busy day on 512 nodes x 8 GPUs
  mainspring simulate scenarios/gangs/elastic.yaml  one scenario, as a table
  mainspring explain SCENARIO JOB --at 10m          why a job is waiting
  mainspring COMMAND --help                         flags and examples of a command

Exit codes: 0 done, 1 something that was checked failed, 2 wrong input, 3 the environment failed.)";

// The flag or command that was probably meant.
std::string suggestion(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  if (word.starts_with("-")) {
    for (const CLI::Option* option : app.get_options()) names.push_back(option->get_name());
  } else {
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(command->get_name());
    }
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string flag = word.substr(0, word.find('='));
  const std::string_view near = config::nearest_word(flag, views);
  return near.empty() ? std::string() : fmt::format("; did you mean '{}'?", near);
}

// The innermost command that was chosen.
const CLI::App& chosen(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? app : *commands.front();
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  return text;
}

int refuse(const CLI::App& app, const std::string& message) {
  const CLI::App& command = chosen(app);
  const std::string name = &command == &app ? "mainspring" : "mainspring " + command.get_name();
  fmt::print(stderr, "mainspring: {} (see '{} --help')\n", one_line(message), name);
  return static_cast<int>(ExitCode::kBadInput);
}

std::string unexpected_word(const CLI::App& app, const CLI::ExtrasError& error) {
  for (const std::string& word : app.remaining(true)) {
    const char* kind = word.starts_with("-")  ? "flag"
                       : &chosen(app) == &app ? "command"
                                              : "argument";
    return fmt::format("unknown {} '{}'{}", kind, word, suggestion(chosen(app), word));
  }
  return error.what();
}

}  // namespace

ExitCode report(const base::Error& error) {
  fmt::print(stderr, "mainspring: {}\n", one_line(error.message));
  const bool environment = error.code == base::ErrorCode::kUnavailable;
  return environment ? ExitCode::kEnvironment : ExitCode::kBadInput;
}

int run_command_line(std::span<const char* const> arguments) {
  CLI::App app(kAbout, "mainspring");
  app.footer(kFooter);
  app.require_subcommand(0, 1);
  Action action;
  add_scheduler(app, action);
  add_simulate(app, action);
  add_explain(app, action);
  add_audit(app, action);
  add_shares(app, action);
  add_priority(app, action);
  add_bench(app, action);
  add_demo(app, action);
  add_version(app, action);
  add_completion(app, action);
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::CallForHelp&) {
    const CLI::App& command = chosen(app);
    fmt::print("{}", &command == &app ? app.help() : command.help("mainspring"));
    return 0;
  } catch (const CLI::ExtrasError& error) {
    return refuse(app, unexpected_word(app, error));
  } catch (const CLI::ParseError& error) {
    return refuse(app, error.what());
  }
  if (!action) {
    fmt::print("{}", app.help());
    return 0;
  }
  try {
    return static_cast<int>(action());
  } catch (const std::exception& error) {
    fmt::print(stderr, "mainspring: {}\n", one_line(error.what()));
    return static_cast<int>(ExitCode::kEnvironment);
  }
}

}  // namespace mainspring::cli
