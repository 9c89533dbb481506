// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <fmt/core.h>

#include "mainspring/cli/seed_list.h"
#include "mainspring/cli/simulate_reports.h"
#include "mainspring/cli/static_comparison.h"
#include "mainspring/cli/subcommands.h"
#include "mainspring/cli/terminal.h"
#include "mainspring/config/scenario.h"
#include "mainspring/engine/cycle.h"
#include "mainspring/sim/event_replay.h"
#include "mainspring/sim/policy_run.h"
#include "mainspring/sim/scenario_run.h"

namespace mainspring::cli {
namespace {

using base::Result;

constexpr const char* kOwnPolicy = "mainspring";
constexpr std::string_view kRecordedHead = "{\"mainspring_events\"";

struct SimulateFlags {
  std::string input;
  std::string policies = kOwnPolicy;
  std::string seeds;
  std::string traces;
  std::string record;
  std::string tie_break = "first";
  bool json = false;
  bool check = false;
  bool no_checker = false;
  bool no_bound = false;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Result<std::vector<uint64_t>> seeds_of(const SimulateFlags& flags,
                                       const config::Scenario& scenario) {
  if (flags.seeds.empty()) return std::vector<uint64_t>{scenario.seed};
  return parse_seeds(flags.seeds);
}

ExitCode compare_policies(const SimulateFlags& flags, const config::Scenario& scenario) {
  if (flags.traces.empty()) {
    return report({.message = "--traces: is missing; the scenario " + scenario.name +
                              " reads a public trace, and this says in which folder it lies"});
  }
  if (!flags.record.empty()) {
    return report({.message = "--record: has no meaning for a static list of pods"});
  }
  const auto seeds = seeds_of(flags, scenario);
  if (!seeds) return report(seeds.error());
  const auto policies = parse_names(flags.policies, "--policies", static_policies());
  if (!policies) return report(policies.error());
  const StaticRequest request{
      .traces_folder = flags.traces,
      .seeds = *seeds,
      .policies = *policies,
      .tie_break = flags.tie_break == "random" ? sim::TieBreak::kRandom : sim::TieBreak::kFirst,
      .check = !flags.no_checker,
      .bound = !flags.no_bound};
  const auto comparison = compare_static(scenario, request);
  if (!comparison) return report(comparison.error());
  print_static_report(scenario, *comparison, flags.json);
  for (const PolicyResult& result : comparison->policies) {
    if (result.invariant_violations > 0) return ExitCode::kFailed;
  }
  return ExitCode::kOk;
}

// Policies on the jobs of a public trace, or on those of any scenario with time.
ExitCode compare_on_time(const SimulateFlags& flags, const config::Scenario& scenario) {
  if (scenario.philly && flags.traces.empty()) {
    return report({.message = "--traces: is missing; the scenario " + scenario.name +
                              " reads a public trace, and this says in which folder it lies"});
  }
  if (!flags.record.empty() || flags.check) {
    return report({.message = "--record and --check are for one run of mainspring; expected a "
                              "scenario without a public trace, and no other policy"});
  }
  const auto seeds = seeds_of(flags, scenario);
  if (!seeds) return report(seeds.error());
  if (seeds->size() > 1) {
    return report({.message = "--seeds: policies are compared on one seed"});
  }
  const auto policies = parse_names(flags.policies, "--policies", sim::timed_policies());
  if (!policies) return report(policies.error());
  const auto comparison = compare_timed(scenario, {.traces_folder = flags.traces,
                                                   .seed = seeds->front(),
                                                   .policies = *policies,
                                                   .check = !flags.no_checker});
  if (!comparison) return report(comparison.error());
  print_timed_comparison(scenario, *comparison, flags.json);
  for (const TimedPolicyResult& result : comparison->results) {
    if (result.violations.value_or(0) > 0) return ExitCode::kFailed;
  }
  return ExitCode::kOk;
}

ExitCode exit_code_of(const TimedReport& report) {
  for (const sim::ScenarioReport& run : report.runs) {
    if (run.violation_count > 0 || !run.all_ok()) return ExitCode::kFailed;
  }
  return ExitCode::kOk;
}

ExitCode run_timed(const SimulateFlags& flags, const config::Scenario& scenario) {
  const auto seeds = seeds_of(flags, scenario);
  if (!seeds) return report(seeds.error());
  if (!flags.record.empty() && seeds->size() > 1) {
    return report({.message = "--record: records one run; expected one seed"});
  }
  TimedReport timed{.checked = flags.check};
  ProgressBar progress(scenario.name);
  const auto begin = std::chrono::steady_clock::now();
  const auto total_ms = scenario.length.ms * static_cast<int64_t>(seeds->size());
  for (const uint64_t seed : *seeds) {
    const int64_t before_ms = scenario.length.ms * static_cast<int64_t>(timed.runs.size());
    sim::ScenarioRunOptions options{.check_invariants = !flags.no_checker,
                                    .check_expectations = flags.check,
                                    .record_path = flags.record};
    options.progress = [&](base::Instant now) {
      progress.show(before_ms + now.ms, total_ms, fmt::format("seed {}", seed));
    };
    auto run = sim::run_scenario(scenario, seed, options);
    if (!run) return report(run.error());
    timed.runs.push_back(std::move(*run));
  }
  timed.wall_seconds = seconds_since(begin);
  progress.clear();
  print_timed_report(scenario, timed, flags.json);
  return exit_code_of(timed);
}

ExitCode replay(const SimulateFlags& flags) {
  if (flags.check || !flags.seeds.empty() || !flags.record.empty()) {
    return report({.message = "--check, --seeds and --record have no meaning for a recorded run"});
  }
  engine::Engine engine;
  ProgressBar progress("replay");
  const auto begin = std::chrono::steady_clock::now();
  const auto replayed = sim::replay_events(
      flags.input,
      [&](model::ClusterState& state, base::Instant now) { return engine.run_cycle(state, now); },
      {.check = !flags.no_checker});
  progress.clear();
  if (!replayed) return report(replayed.error());
  print_replay_report(flags.input, *replayed, seconds_since(begin), flags.json);
  const bool sound = replayed->same() && replayed->checker.violation_count() == 0;
  return sound ? ExitCode::kOk : ExitCode::kFailed;
}

// Files that --record wrote say so in their first line.
bool is_recorded(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string head(kRecordedHead.size(), ' ');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  return stream.gcount() == static_cast<std::streamsize>(head.size()) && head == kRecordedHead;
}

ExitCode run_simulate(const SimulateFlags& flags) {
  if (is_recorded(flags.input)) return replay(flags);
  const auto scenario = config::read_scenario(flags.input);
  if (!scenario) return report(scenario.error());
  for (const std::string& warning : scenario->warnings) {
    fmt::print(stderr, "mainspring: {}: warning: {}\n", flags.input, warning);
  }
  if (scenario->openb) return compare_policies(flags, *scenario);
  const bool alone = flags.policies == kOwnPolicy && !scenario->philly;
  return alone ? run_timed(flags, *scenario) : compare_on_time(flags, *scenario);
}

}  // namespace

void add_simulate(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("simulate", "Run a scenario in virtual time, or replay a recorded run");
  auto flags = std::make_shared<SimulateFlags>();
  command->add_option("input", flags->input, "A scenario (.yaml), or a file that --record wrote")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--policies", flags->policies,
                   "Who decides, separated by commas: mainspring; in scenarios with time also "
                   "first-fit, best-fit, fifo, priority, static, periodic; on public lists also "
                   "random, dot-product, gpu-clustering, gpu-packing, best-fit, first-fit, "
                   "fgd-naive, fgd")
      ->type_name("NAME,...");
  command
      ->add_option("--seeds", flags->seeds, "Runs to make: 42..51, or 1,2,3 [the scenario's seed]")
      ->type_name("LIST");
  command->add_option("--traces", flags->traces, "Folder of the public traces")->type_name("DIR");
  command->add_flag("--json", flags->json, "Print JSON (mainspring.simulate/1)");
  command
      ->add_option("--record", flags->record, "Write snapshot and events of the run to this file")
      ->type_name("FILE");
  command->add_flag("--check", flags->check, "Check what the scenario expects; exit 1 if it fails");
  command
      ->add_option("--tie-break", flags->tie_break,
                   "Among equal nodes a baseline takes the first, or a random one")
      ->check(CLI::IsMember({"first", "random"}))
      ->type_name("first|random");
  command->add_flag("--no-checker", flags->no_checker,
                    "Do not check the invariants after each step");
  command->add_flag("--no-bound", flags->no_bound,
                    "On public lists: leave out what no policy can exceed");
  command->footer(
      "\nExamples:\n"
      "  mainspring simulate scenarios/gangs/elastic.yaml --check\n"
      "  mainspring simulate scenarios/faults/lost-node.yaml --record run.events\n"
      "  mainspring simulate run.events\n"
      "  mainspring simulate scenarios/openb/default.yaml --traces DIR --seeds 42..51 \\\n"
      "      --policies fgd,best-fit,mainspring --json\n"
      "  mainspring simulate scenarios/philly/tenants.yaml --traces DIR \\\n"
      "      --policies fifo,priority,static,periodic,mainspring");
  command->callback([&action, flags] { action = [flags] { return run_simulate(*flags); }; });
}

}  // namespace mainspring::cli
