// SPDX-License-Identifier: Apache-2.0
#include "mainspring/version.h"

#include <memory>

#include <CLI/App.hpp>
#include <fmt/core.h>

#include "mainspring/base/json.h"
#include "mainspring/cli/subcommands.h"

namespace mainspring::cli {
namespace {

#ifdef __clang__
constexpr const char* kCompiler = "clang " __clang_version__;
#else
constexpr const char* kCompiler = "g++ " __VERSION__;
#endif
#ifdef NDEBUG
constexpr const char* kBuild = "release";
#else
constexpr const char* kBuild = "debug";
#endif

ExitCode print_version(bool json) {
  if (json) {
    base::Json out = base::Json::object();
    out.set("schema", "mainspring.version/1");
    out.set("version", kVersion);
    out.set("revision", kRevision);
    out.set("compiler", kCompiler);
    out.set("build", kBuild);
    fmt::print("{}\n", out.dump_pretty());
  } else {
    fmt::print("mainspring {} ({}, {}, {})\n", kVersion, kRevision, kCompiler, kBuild);
  }
  return ExitCode::kOk;
}

}  // namespace

void add_version(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("version", "Print which Mainspring this is");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON (mainspring.version/1)");
  command->callback([&action, json] { action = [json] { return print_version(*json); }; });
}

}  // namespace mainspring::cli
