// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/core.h>

#include "mainspring/cli/job_answer.h"
#include "mainspring/cli/recorded_run.h"
#include "mainspring/cli/subcommands.h"
#include "mainspring/cli/terminal.h"
#include "mainspring/engine/queue_sentence.h"
#include "mainspring/report/job_place.h"

namespace mainspring::cli {
namespace {

using base::Instant;
using base::Json;
using report::JobPlace;
using report::QueueStep;

constexpr size_t kTextWidth = 100;

struct PriorityFlags {
  RecordedFlags recorded;
  std::string job;
};

void set_time(Json& out, const char* name, Instant at) {
  if (at != Instant::never()) out.set(name, at.ms);
}

Json path_json(const std::vector<QueueStep>& path) {
  Json out = Json::array();
  for (const QueueStep& step : path) {
    Json row = Json::object();
    row.set("queue", step.queue);
    row.set("below_quota", step.below_quota);
    row.set("priority", step.priority);
    row.set("held", step.held);
    row.set("share", step.share);
    row.set("rank", step.rank);
    row.set("siblings", step.siblings);
    out.push_back(std::move(row));
  }
  return out;
}

Json position_json(int64_t position, int64_t waiting) {
  Json out = Json::object();
  out.set("position", position);
  out.set("of", waiting);
  return out;
}

void print_json(RecordedRun& run, const JobPlace& place) {
  Json admission = Json::object();
  admission.set("verdict", model::to_string(place.admission.kind));
  admission.set("reason_code", model::to_string(place.admission.code));
  if (!place.admission.culprit.empty()) admission.set("queue", place.admission.culprit);
  Json displaced = Json::array();
  for (const std::string& job : place.displaced_for_it) displaced.push_back(job);
  Json out = run.envelope("mainspring.priority/1");
  out.set("job", place.job);
  out.set("queue", place.queue);
  out.set("tenant", place.tenant);
  out.set("waits", place.waits);
  out.set("overall", position_json(place.position, place.waiting));
  out.set("in_queue", position_json(place.position_in_queue, place.waiting_in_queue));
  out.set("path", path_json(place.path));
  out.set("goes_first", place.goes_first);
  out.set("priority", place.priority);
  out.set("age_ms", run.at().ms - place.submitted_at.ms);
  out.set("admission", std::move(admission));
  out.set("failed_starts", place.failed_starts);
  if (place.backoff_until > run.at()) out.set("backoff_until_ms", place.backoff_until.ms);
  set_time(out, "promised_until_ms", place.promised_until);
  out.set("displaced_for_it", std::move(displaced));
  set_time(out, "displaces_from_ms", place.displaces_from);
  out.set("may_reclaim", place.may_reclaim);
  out.set("preemptible", place.preemptible);
  if (place.running_since != Instant::never()) {
    out.set("running_since_ms", place.running_since.ms);
    set_time(out, "safe_from_preempt_until_ms", place.safe_from_preempt_until);
    set_time(out, "safe_from_reclaim_until_ms", place.safe_from_reclaim_until);
  }
  out.set("displacements", place.displacements);
  out.set("displacements_max", place.displacements_max);
  fmt::print("{}\n", out.dump_pretty());
}

std::string moment_text(Instant at) { return span_text(at - Instant{}); }

std::string percent_text(const QueueStep& step) {
  if (step.share <= 0) return step.held > 0 ? "is due nothing" : "";
  const auto percent = static_cast<__int128>(step.held) * 100 / step.share;
  return fmt::format("{} %", static_cast<int64_t>(percent));
}

void print_path(const std::vector<QueueStep>& path) {
  Table table({"queue", "rank", "below quota", "priority", "share used"});
  uint32_t depth = 0;
  for (const QueueStep& step : path) {
    table.add({std::string(size_t{2} * depth++, ' ') + step.queue,
               fmt::format("{} of {}", step.rank, step.siblings), step.below_quota ? "yes" : "no",
               std::to_string(step.priority), percent_text(step)});
  }
  fmt::print("{}", table.text());
}

void print_waiting(RecordedRun& run, const JobPlace& place) {
  if (place.position > 0) {
    fmt::print("waits: {} of {} in its queue, {} of {} in all\n", place.position_in_queue,
               place.waiting_in_queue, place.position, place.waiting);
  }
  if (place.admission.kind != model::VerdictKind::kNow) {
    const model::Job& job = run.state().job(run.state().find_job(place.job));
    fmt::print("{}",
               wrapped(engine::queue_sentence(place.admission, run.state(), job), 0, kTextWidth));
  }
  if (place.backoff_until > run.at()) {
    fmt::print("backs off until {}, after {} failed starts\n", moment_text(place.backoff_until),
               place.failed_starts);
  }
  if (place.displaces_from == Instant::never()) {
    fmt::print("nobody is displaced for it\n");
  } else {
    fmt::print("others may be displaced for it from {} on{}\n", moment_text(place.displaces_from),
               place.may_reclaim ? ", also from queues above their share" : ", inside its queue");
  }
}

void print_running(const JobPlace& place) {
  fmt::print("runs since {}\n", moment_text(place.running_since));
  if (!place.preemptible) return;
  fmt::print("safe from its own queue until {}, from others until {}\n",
             moment_text(place.safe_from_preempt_until),
             moment_text(place.safe_from_reclaim_until));
}

void print_text(RecordedRun& run, const JobPlace& place) {
  fmt::print("{} of {} in {} at {}\n", toned(place.job, Tone::kStrong),
             place.tenant.empty() ? "nobody" : place.tenant, place.queue, moment_text(run.at()));
  if (!place.path.empty()) print_path(place.path);
  fmt::print("priority {}, age {}{}\n", place.priority, span_text(run.at() - place.submitted_at),
             place.goes_first ? "; goes first, since it was displaced in vain" : "");
  if (place.waits) print_waiting(run, place);
  if (place.promised_until != Instant::never()) {
    fmt::print("its place is held for it until {}\n", moment_text(place.promised_until));
  }
  if (place.running_since != Instant::never()) print_running(place);
  if (!place.preemptible) fmt::print("it cannot be displaced\n");
  fmt::print("displaced {} times lately; work beyond its quota may do it {} times\n",
             place.displacements, place.displacements_max);
}

ExitCode run_priority(const PriorityFlags& flags) {
  const auto run = RecordedRun::read(flags.recorded);
  if (!run) return cli::report(run.error());
  if (auto ok = (*run)->knows_job(flags.job); !ok) return cli::report(ok.error());
  model::ClusterState& state = (*run)->state();
  const model::JobIx index = state.find_job(flags.job);
  if (!index.valid()) {
    return cli::report({.message = fmt::format("job '{}' is not there at {}; --at names a time",
                                               flags.job, moment_text((*run)->at()))});
  }
  const JobPlace place =
      report::job_place(state, (*run)->engine().shares(state), index, (*run)->at());
  if (flags.recorded.wants_json()) {
    print_json(**run, place);
  } else {
    print_text(**run, place);
  }
  return (*run)->verdict();
}

}  // namespace

void add_priority(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "priority", "Say what decides about a job's turn in a recorded run, factor by factor");
  auto flags = std::make_shared<PriorityFlags>();
  command->add_option("job", flags->job, "The job's id")->required()->type_name("ID");
  add_recorded_flags(*command, flags->recorded, "mainspring.priority/1");
  command->footer(
      "\nExamples:\n"
      "  mainspring simulate scenarios/queues/reclaim-between-roots.yaml --record run.events\n"
      "  mainspring priority claim --run run.events --at 10m\n"
      "  mainspring priority claim --run run.events --at 10m --json");
  command->callback([&action, flags] { action = [flags] { return run_priority(*flags); }; });
}

}  // namespace mainspring::cli
