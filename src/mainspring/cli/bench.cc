// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <fmt/core.h>

#include "mainspring/base/json.h"
#include "mainspring/cli/bench_budgets.h"
#include "mainspring/cli/seed_list.h"
#include "mainspring/cli/subcommands.h"
#include "mainspring/cli/terminal.h"

namespace mainspring::cli {
namespace {

struct BenchFlags {
  bool json = false;
  std::string only;
};

struct Outcome {
  const Budget* budget = nullptr;
  Measurement measurement;

  [[nodiscard]] bool ok() const { return budget->met(measurement.value); }
};

std::string shown(double value) {
  return value >= 1000 ? grouped(static_cast<int64_t>(value)) : fmt::format("{:.3g}", value);
}

void print_json(const std::vector<Outcome>& outcomes) {
  base::Json list = base::Json::array();
  for (const Outcome& outcome : outcomes) {
    base::Json row = base::Json::object();
    row.set("name", outcome.budget->name);
    row.set("measured", outcome.measurement.value);
    row.set("budget", outcome.budget->limit);
    row.set("unit", outcome.budget->unit);
    row.set("samples", outcome.measurement.samples);
    row.set("ok", outcome.ok());
    list.push_back(std::move(row));
  }
  base::Json out = base::Json::object();
  out.set("schema", "mainspring.bench/1");
  out.set("budgets", std::move(list));
  fmt::print("{}\n", out.dump_pretty());
}

void print_table(const std::vector<Outcome>& outcomes) {
  Table table({"budget", "measured", "limit", "unit", "samples", "", "what"});
  for (const Outcome& outcome : outcomes) {
    const Budget& budget = *outcome.budget;
    table.add({std::string(budget.name), shown(outcome.measurement.value),
               fmt::format("{} {}", budget.at_least ? "≥" : "≤", shown(budget.limit)),
               std::string(budget.unit), grouped(outcome.measurement.samples),
               outcome.ok() ? "ok" : "MISSED", std::string(budget.about)},
              outcome.ok() ? Tone::kPlain : Tone::kBad);
  }
  fmt::print("{}", table.text());
}

ExitCode run_bench(const BenchFlags& flags) {
  std::vector<std::string_view> known;
  for (const Budget& budget : budgets()) known.push_back(budget.name);
  std::vector<std::string> wanted(known.begin(), known.end());
  if (!flags.only.empty()) {
    const auto names = parse_names(flags.only, "--only", known);
    if (!names) return report(names.error());
    wanted = *names;
  }
  std::vector<Outcome> outcomes;
  ProgressBar progress("bench");
  for (const std::string& name : wanted) {
    for (const Budget& budget : budgets()) {
      if (budget.name != name) continue;
      progress.show(static_cast<int64_t>(outcomes.size()), static_cast<int64_t>(wanted.size()),
                    name);
      outcomes.push_back({.budget = &budget, .measurement = budget.measure()});
    }
  }
  progress.clear();
  flags.json ? print_json(outcomes) : print_table(outcomes);
  for (const Outcome& outcome : outcomes) {
    if (!outcome.ok()) return ExitCode::kFailed;
  }
  return ExitCode::kOk;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("bench", "Measure the budgets of the core on this machine");
  auto flags = std::make_shared<BenchFlags>();
  command->add_flag("--json", flags->json, "Print JSON (mainspring.bench/1)");
  command->add_option("--only", flags->only, "Only these budgets, separated by commas")
      ->type_name("NAME,...");
  command->footer(
      "\nExit code 1 when a budget is missed. Other work on the machine makes it slower.\n\n"
      "Examples:\n"
      "  mainspring bench\n"
      "  mainspring bench --only state_lookup,state_update --json");
  command->callback([&action, flags] { action = [flags] { return run_bench(*flags); }; });
}

}  // namespace mainspring::cli
