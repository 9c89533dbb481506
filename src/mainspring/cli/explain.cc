// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/core.h>

#include "mainspring/cli/job_answer.h"
#include "mainspring/cli/subcommands.h"
#include "mainspring/cli/terminal.h"
#include "mainspring/config/amount.h"
#include "mainspring/config/field.h"
#include "mainspring/sim/scenario_run.h"

namespace mainspring::cli {
namespace {

constexpr size_t kTextWidth = 100;

struct ExplainFlags {
  std::string scenario;
  std::string job;
  std::string at;
  std::string seed;
  bool json = false;
};

base::Status check_job(const std::vector<config::ScenarioJob>& jobs, const std::string& job) {
  std::vector<std::string_view> ids;
  ids.reserve(jobs.size());
  for (const config::ScenarioJob& one : jobs) ids.push_back(one.spec.id);
  if (std::find(ids.begin(), ids.end(), job) != ids.end()) return {};
  const std::string_view near = config::nearest_word(job, ids);
  std::string message = fmt::format("the scenario has no job '{}'", job);
  if (!near.empty()) message += fmt::format("; did you mean '{}'?", near);
  return base::invalid(message);
}

base::Result<JobAnswer> ask(const ExplainFlags& flags) {
  const auto at = config::parse_amount(flags.at, config::AmountKind::kDuration);
  if (!at) return base::invalid(fmt::format("--at: '{}' {}", flags.at, at.error().message));
  const auto scenario = config::read_scenario(flags.scenario);
  if (!scenario) return tl::unexpected(scenario.error());
  if (scenario->openb) {
    return base::invalid(flags.scenario + ": its pods only arrive; expected a scenario with times");
  }
  uint64_t seed = scenario->seed;
  if (!flags.seed.empty()) {
    const auto number = config::parse_amount(flags.seed, config::AmountKind::kCount);
    if (!number)
      return base::invalid(fmt::format("--seed: '{}' {}", flags.seed, number.error().message));
    seed = static_cast<uint64_t>(*number);
  }
  sim::RowTally skipped;
  const auto inputs = sim::simulation_inputs(*scenario, seed, skipped);
  if (!inputs) return tl::unexpected(inputs.error());
  if (auto ok = check_job(inputs->jobs, flags.job); !ok) return tl::unexpected(ok.error());
  ProgressBar progress(scenario->name);
  sim::SimulationOptions options{.check = false};
  options.progress = [&](base::Instant now) { progress.show(now.ms, *at); };
  auto run = TimedRun::create(*scenario, seed, std::move(options));
  if (!run) return tl::unexpected(run.error());
  run->simulator().run_until(base::Instant{*at});
  JobAnswer answer = answer_for(*run, flags.job);
  answer.at = base::Instant{*at};
  return answer;
}

ExitCode run_explain(const ExplainFlags& flags) {
  const auto answer = ask(flags);
  if (!answer) return report(answer.error());
  if (flags.json) {
    fmt::print("{}\n", answer_json(*answer).dump_pretty());
  } else {
    fmt::print("{}", answer_text(*answer, kTextWidth));
  }
  return ExitCode::kOk;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("explain", "Say why a job waits at a given time, and what would help");
  auto flags = std::make_shared<ExplainFlags>();
  command->add_option("scenario", flags->scenario, "A scenario")->required()->type_name("FILE");
  command->add_option("job", flags->job, "The job's id")->required()->type_name("ID");
  command->add_option("--at", flags->at, "Time since the start of the run, such as 10m")
      ->required()
      ->type_name("TIME");
  command->add_option("--seed", flags->seed, "Ask about the run of this seed [the scenario's]")
      ->type_name("N");
  command->add_flag("--json", flags->json, "Print JSON (mainspring.explain/1)");
  command->footer(
      "\nEvery remedy was applied in a trial, and the job started there.\n\n"
      "Examples:\n"
      "  mainspring explain scenarios/reasons/not-now.yaml one-rack --at 2m\n"
      "  mainspring explain scenarios/reasons/never.yaml wide --at 5s --json");
  command->callback([&action, flags] { action = [flags] { return run_explain(*flags); }; });
}

}  // namespace mainspring::cli
