// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <fmt/core.h>

#include "mainspring/cli/day_story.h"
#include "mainspring/cli/embedded.h"
#include "mainspring/cli/subcommands.h"
#include "mainspring/cli/terminal.h"
#include "mainspring/config/amount.h"

namespace mainspring::cli {
namespace {

constexpr size_t kTextWidth = 100;
constexpr int64_t kSampleMs = 5 * 60 * 1000;
// When people are asked what they wait for.
constexpr int64_t kQuestionMs = 15 * 3600 * 1000;
constexpr size_t kQuestions = 3;

std::string one_paragraph(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

// Jobs of different kinds, those that have waited longest first, and
// first one for each reason.
std::vector<JobAnswer> ask_waiting(TimedRun& run, const DayWatcher& watcher) {
  std::vector<JobAnswer> answers;
  std::vector<model::ReasonCode> codes;
  for (const bool anything : {false, true}) {
    for (const std::string& id : watcher.waiting()) {
      if (answers.size() == kQuestions) return answers;
      const model::Verdict* verdict = run.simulator().last_verdict(id);
      if (verdict == nullptr) continue;
      const bool asked = std::any_of(answers.begin(), answers.end(),
                                     [&](const JobAnswer& answer) { return answer.job == id; });
      const bool known = std::find(codes.begin(), codes.end(), verdict->code) != codes.end();
      if (asked || (known && !anything)) continue;
      codes.push_back(verdict->code);
      answers.push_back(answer_for(run, id));
      answers.back().at = base::Instant{kQuestionMs};
    }
  }
  return answers;
}

void tell(TimedRun& run, const DayWatcher& watcher, const std::vector<JobAnswer>& answers) {
  const sim::RunStatistics statistics = run.simulator().statistics();
  fmt::print("\n{}\n", toned("Jobs", Tone::kStrong));
  fmt::print("{}", jobs_table(run.simulator().jobs()));
  fmt::print("\n{} (GPUs held, in % of those that work)\n", toned("The day", Tone::kStrong));
  fmt::print("{}", occupancy_picture(watcher.samples(), 72, 10));
  fmt::print("\n{}\n", toned("What they were told in the afternoon", Tone::kStrong));
  for (const JobAnswer& answer : answers) fmt::print("{}\n", answer_text(answer, kTextWidth));
  fmt::print("{}\n", toned("What went wrong, and was survived", Tone::kStrong));
  fmt::print("{}", survived_text(statistics, watcher.faults(), run.simulator().checker()));
  fmt::print("\nGPU time in use: {}.{} % of all; {} decisions from {} events; run hash {:016x}\n",
             statistics.utilisation_milli / 10, statistics.utilisation_milli % 10,
             grouped(statistics.counters.cycles), grouped(statistics.counters.events),
             run.simulator().decisions_hash());
}

ExitCode run_demo(const std::string& seed_text) {
  const auto scenario = config::parse_scenario(busy_day_scenario(), "busy-day.yaml");
  if (!scenario) return report(scenario.error());
  uint64_t seed = scenario->seed;
  if (!seed_text.empty()) {
    const auto number = config::parse_amount(seed_text, config::AmountKind::kCount);
    if (!number) {
      return report({.message = fmt::format("--seed: '{}' {}", seed_text, number.error().message)});
    }
    seed = static_cast<uint64_t>(*number);
  }
  auto run = TimedRun::create(*scenario, seed, {});
  if (!run) return report(run.error());
  fmt::print("{}\n\n{}", toned("A busy day", Tone::kStrong),
             wrapped(one_paragraph(scenario->description), 0, kTextWidth));
  std::fflush(stdout);
  ProgressBar progress("busy day");
  DayWatcher watcher(*run);
  std::vector<JobAnswer> answers;
  for (int64_t at = 0; at <= scenario->length.ms; at += kSampleMs) {
    progress.show(at, scenario->length.ms,
                  config::format_amount(at, config::AmountKind::kDuration));
    run->simulator().run_until(base::Instant{at});
    watcher.sample();
    if (at == kQuestionMs) answers = ask_waiting(*run, watcher);
  }
  run->simulator().run();
  progress.clear();
  tell(*run, watcher, answers);
  const bool sound = run->simulator().checker().violation_count() == 0;
  return sound ? ExitCode::kOk : ExitCode::kFailed;
}

}  // namespace

void add_demo(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("demo", "A busy day on 512 nodes with 8 GPUs each, told with reasons");
  auto seed = std::make_shared<std::string>();
  command->add_option("--seed", *seed, "Another day [42]")->type_name("N");
  command->footer("\nThe scenario is scenarios/demo/busy-day.yaml; it is part of the program.");
  command->callback([&action, seed] { action = [seed] { return run_demo(*seed); }; });
}

}  // namespace mainspring::cli
