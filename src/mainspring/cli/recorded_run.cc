// SPDX-License-Identifier: Apache-2.0
#include "mainspring/cli/recorded_run.h"

#include <utility>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <fmt/core.h>

#include "mainspring/cli/terminal.h"
#include "mainspring/config/amount.h"
#include "mainspring/config/field.h"

namespace mainspring::cli {
namespace {

constexpr int64_t kHourMs = 3'600'000;

base::Status known(const std::string& what, const std::string& name,
                   const std::vector<std::string_view>& names) {
  for (const std::string_view one : names) {
    if (one == name) return {};
  }
  const std::string_view near = config::nearest_word(name, names);
  std::string message = fmt::format("the run has no {} '{}'", what, name);
  if (!near.empty()) message += fmt::format("; did you mean '{}'?", near);
  return base::invalid(message);
}

}  // namespace

void add_recorded_flags(CLI::App& command, RecordedFlags& flags, const std::string& schema) {
  command.add_option("--run", flags.run, "A file that `simulate --record` wrote")
      ->required()
      ->type_name("FILE");
  command.add_option("--at", flags.at, "Look at the run as it was then, such as 10m [its end]")
      ->type_name("TIME");
  command.add_flag("--json", flags.json, "Print JSON (" + schema + ")");
  command.add_option("-o,--output", flags.output, "A table, one with more columns, or JSON")
      ->check(CLI::IsMember({"table", "wide", "json"}))
      ->type_name("table|wide|json");
}

base::Result<std::unique_ptr<RecordedRun>> RecordedRun::read(const RecordedFlags& flags) {
  base::Instant until = base::Instant::never();
  if (!flags.at.empty()) {
    const auto at = config::parse_amount(flags.at, config::AmountKind::kDuration);
    if (!at) return base::invalid(fmt::format("--at: '{}' {}", flags.at, at.error().message));
    until = base::Instant{*at};
  }
  auto run = std::make_unique<RecordedRun>();
  run->path_ = flags.run;
  RecordedRun* looking = run.get();
  const auto replayed =
      sim::replay_events(flags.run,
                         [looking](model::ClusterState& state, base::Instant now) {
                           return looking->engine_.run_cycle(state, now);
                         },
                         {.check = false, .until = until, .observer = looking, .progress = {}});
  if (!replayed) return tl::unexpected(replayed.error());
  if (until != base::Instant::never()) run->at_ = until;
  run->different_cycles_ = replayed->different_cycles;
  run->first_difference_ = replayed->first_difference;
  return run;
}

void RecordedRun::saw(const model::Event& event, const model::ClusterState& state) {
  if (const auto* job = std::get_if<model::JobChanged>(&event.body)) jobs_.insert(job->job.id);
  audit_.observe(event, state);
  fairness_.observe(event, state);
}

void RecordedRun::saw(const model::Plan& plan, const model::ClusterState& state,
                      base::Instant now) {
  audit_.observe(plan, state, now);
  fairness_.observe(state, engine_.shares(), now);
}

void RecordedRun::ended(model::ClusterState&& state, base::Instant end) {
  state_.emplace(std::move(state));
  at_ = end;
}

base::Status RecordedRun::knows_job(const std::string& job) const {
  return known("job", job, {jobs_.begin(), jobs_.end()});
}

base::Status RecordedRun::knows_queue(const std::string& queue) const {
  std::vector<std::string_view> names;
  for (const model::Queue& row : state_->queues().rows()) names.push_back(row.spec.name);
  return known("queue", queue, names);
}

base::Json RecordedRun::envelope(const std::string& schema) const {
  base::Json out = base::Json::object();
  out.set("schema", schema);
  out.set("run", path_);
  out.set("at_ms", at_.ms);
  out.set("different_cycles", different_cycles_);
  return out;
}

ExitCode RecordedRun::verdict() const {
  if (different_cycles_ == 0) return ExitCode::kOk;
  fmt::print(stderr,
             "mainspring: {} cycles decide otherwise than the recorded ones, the first at {}; "
             "this is what would have happened\n",
             grouped(different_cycles_), first_difference_);
  return ExitCode::kFailed;
}

base::Json seconds_json(int64_t ms) {
  if (ms % 1000 == 0) return ms / 1000;
  return static_cast<double>(ms) / 1000;
}

std::string hours_text(int64_t ms) {
  return fmt::format("{}.{:02}", grouped(ms / kHourMs), ms % kHourMs * 100 / kHourMs);
}

std::string span_text(base::Duration span) {
  const int64_t ms = span.ms < 10'000 ? span.ms : span.ms / 1000 * 1000;
  return config::format_amount(ms, config::AmountKind::kDuration);
}

}  // namespace mainspring::cli
