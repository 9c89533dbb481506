// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/core.h>

#include "mainspring/base/hash.h"
#include "mainspring/base/json.h"
#include "mainspring/cli/simulate_reports.h"
#include "mainspring/cli/terminal.h"
#include "mainspring/config/amount.h"

namespace mainspring::cli {
namespace {

using base::Json;

std::string hex(uint64_t number) { return fmt::format("{:016x}", number); }

std::string span_text(base::Duration span) {
  // Whole seconds are enough for people, unless there are none.
  const int64_t ms = span.ms < 10'000 ? span.ms : span.ms / 1000 * 1000;
  return config::format_amount(ms, config::AmountKind::kDuration);
}

// Of the decisions and their times, which a replay repeats; or of all that happened.
using HashPart = uint64_t sim::ScenarioReport::*;
constexpr HashPart kDecisions = &sim::ScenarioReport::decisions_hash;
constexpr HashPart kEverything = &sim::ScenarioReport::run_hash;

std::string hash_of(const TimedReport& report, HashPart part) {
  if (report.runs.size() == 1) return hex(report.runs.front().*part);
  base::RunHash hash;
  for (const sim::ScenarioReport& run : report.runs) hash.add(run.*part);
  return hash.hex();
}

int64_t violations_of(const TimedReport& report) {
  int64_t count = 0;
  for (const sim::ScenarioReport& run : report.runs) count += run.violation_count;
  return count;
}

// The sum of a figure over the runs.
template <class Get>
int64_t total(const TimedReport& report, Get get) {
  int64_t sum = 0;
  for (const sim::ScenarioReport& run : report.runs) sum += get(run.statistics);
  return sum;
}

Json waits_json(const TimedReport& report) {
  std::vector<sim::JobRecord> jobs;
  for (const sim::ScenarioReport& run : report.runs) {
    jobs.insert(jobs.end(), run.jobs.begin(), run.jobs.end());
  }
  const sim::WaitTimes waits = sim::wait_times(jobs);
  Json out = Json::object();
  out.set("mean", waits.mean.ms);
  out.set("p50", waits.p50.ms);
  out.set("p90", waits.p90.ms);
  out.set("p99", waits.p99.ms);
  out.set("max", waits.max.ms);
  return out;
}

Json summary_json(const TimedReport& report) {
  using Statistics = sim::RunStatistics;
  const auto sum = [&](auto get) { return total(report, get); };
  Json jobs = Json::object();
  jobs.set("submitted", sum([](const Statistics& one) { return one.jobs_submitted; }));
  jobs.set("started", sum([](const Statistics& one) { return one.jobs_started; }));
  jobs.set("finished", sum([](const Statistics& one) { return one.jobs_finished; }));
  jobs.set("removed", sum([](const Statistics& one) { return one.jobs_removed; }));
  jobs.set("waiting", sum([](const Statistics& one) { return one.jobs_waiting; }));
  const auto runs = static_cast<int64_t>(report.runs.size());
  const int64_t utilisation = sum([](const Statistics& one) { return one.utilisation_milli; });
  int64_t end_ms = 0;
  for (const sim::ScenarioReport& run : report.runs) {
    end_ms = std::max(end_ms, run.statistics.end.ms);
  }
  Json out = Json::object();
  out.set("jobs", std::move(jobs));
  out.set("wait_ms", waits_json(report));
  out.set("gpu_utilisation", static_cast<double>(utilisation) / static_cast<double>(1000 * runs));
  out.set("repairs", sum([](const Statistics& one) { return one.repairs; }));
  out.set("releases", sum([](const Statistics& one) { return one.counters.releases; }));
  out.set("refused_binds", sum([](const Statistics& one) { return one.refused_binds; }));
  out.set("cycles", sum([](const Statistics& one) { return one.counters.cycles; }));
  out.set("events", sum([](const Statistics& one) { return one.counters.events; }));
  out.set("end_ms", end_ms);
  return out;
}

Json findings_json(const TimedReport& report) {
  Json out = Json::array();
  for (const sim::ScenarioReport& run : report.runs) {
    for (const sim::Finding& finding : run.findings) {
      Json row = Json::object();
      row.set("seed", run.seed);
      row.set("statement", finding.statement);
      row.set("line", finding.line);
      row.set("ok", finding.ok);
      row.set("found", finding.found);
      out.push_back(std::move(row));
    }
  }
  return out;
}

double pods_per_second(const TimedReport& report) {
  if (report.wall_seconds <= 0) return 0;
  const int64_t pods =
      total(report, [](const sim::RunStatistics& one) { return one.counters.binds; });
  return static_cast<double>(pods) / report.wall_seconds;
}

void print_json(const config::Scenario& scenario, const TimedReport& report) {
  Json seeds = Json::array();
  int64_t skipped = 0;
  for (const sim::ScenarioReport& run : report.runs) {
    seeds.push_back(run.seed);
    skipped += run.skipped_rows.skipped();
  }
  Json result = Json::object();
  result.set("scenario", scenario.name);
  result.set("policy", "mainspring");
  result.set("seeds", std::move(seeds));
  result.set("tie_break", "first");
  result.set("allocated_gpu_ratio", Json::object());
  result.set("placed_pods_per_second", pods_per_second(report));
  result.set("skipped_rows", skipped);
  result.set("invariant_violations", violations_of(report));
  result.set("run_hash", hash_of(report, kDecisions));
  result.set("full_hash", hash_of(report, kEverything));
  result.set("summary", summary_json(report));
  if (report.checked) result.set("expectations", findings_json(report));
  Json results = Json::array();
  results.push_back(std::move(result));
  print_results_json(std::move(results));
}

void print_runs(const TimedReport& report) {
  Table table({"seed", "jobs", "started", "finished", "waiting", "wait: median", "90 %", "GPU time",
               "repairs", "releases", "ends at", "violations", "run hash"});
  for (const sim::ScenarioReport& run : report.runs) {
    const sim::RunStatistics& one = run.statistics;
    table.add(
        {std::to_string(run.seed), grouped(one.jobs_submitted), grouped(one.jobs_started),
         grouped(one.jobs_finished), grouped(one.jobs_waiting), span_text(one.waits.p50),
         span_text(one.waits.p90),
         fmt::format("{}.{} %", one.utilisation_milli / 10, one.utilisation_milli % 10),
         grouped(one.repairs), grouped(one.counters.releases), span_text(one.end - base::Instant{}),
         grouped(run.violation_count), hex(run.decisions_hash)},
        run.violation_count == 0 ? Tone::kPlain : Tone::kBad);
  }
  fmt::print("{}", table.text());
}

void print_findings(const config::Scenario& scenario, const TimedReport& report) {
  const bool several = report.runs.size() > 1;
  for (const sim::ScenarioReport& run : report.runs) {
    for (const sim::Finding& finding : run.findings) {
      const std::string mark =
          finding.ok ? toned("ok    ", Tone::kGood) : toned("FAILED", Tone::kBad);
      std::string line = fmt::format("{}  {}", mark, finding.statement);
      if (several) line += fmt::format(" (seed {})", run.seed);
      if (!finding.ok) {
        line += fmt::format("\n        {}:{}: {}", scenario.file, finding.line, finding.found);
      }
      fmt::print("{}\n", line);
    }
  }
}

}  // namespace

void print_timed_report(const config::Scenario& scenario, const TimedReport& report, bool json) {
  if (json) return print_json(scenario, report);
  fmt::print("{}\n{}\n", toned(scenario.name, Tone::kStrong), scenario.description);
  print_runs(report);
  for (const sim::ScenarioReport& run : report.runs) {
    for (const sim::Violation& violation : run.violations) {
      fmt::print("{} {}: {} (seed {})\n", toned("VIOLATED", Tone::kBad),
                 sim::to_string(violation.rule), violation.sentence, run.seed);
    }
    const std::string skipped = run.skipped_rows.summary();
    if (!skipped.empty()) fmt::print("{}\n", skipped);
  }
  if (!report.checked) return;
  fmt::print("\n");
  print_findings(scenario, report);
}

void print_replay_report(const std::string& path, const sim::ReplayReport& report,
                         double wall_seconds, bool json) {
  const double pods = wall_seconds <= 0 ? 0 : static_cast<double>(report.decisions) / wall_seconds;
  if (!json) {
    fmt::print("{}: {} facts in the snapshot, {} events, {} cycles with {} decisions\n", path,
               grouped(report.snapshot_events), grouped(report.events), grouped(report.cycles),
               grouped(report.decisions));
    fmt::print("decisions now {}, recorded {}: {}\n", hex(report.decisions_hash),
               hex(report.recorded_hash),
               report.same() ? toned("the same", Tone::kGood) : toned("NOT the same", Tone::kBad));
    if (!report.same()) {
      fmt::print("{} cycles differ, the first at {}\n", grouped(report.different_cycles),
                 report.first_difference);
    }
    fmt::print("{} invariants violated\n", grouped(report.checker.violation_count()));
    return;
  }
  Json result = Json::object();
  result.set("scenario", path);
  result.set("policy", "mainspring");
  result.set("seeds", Json::array());
  result.set("tie_break", "first");
  result.set("allocated_gpu_ratio", Json::object());
  result.set("placed_pods_per_second", pods);
  result.set("skipped_rows", 0);
  result.set("invariant_violations", report.checker.violation_count());
  result.set("run_hash", hex(report.decisions_hash));
  result.set("recorded_hash", hex(report.recorded_hash));
  result.set("different_cycles", report.different_cycles);
  Json results = Json::array();
  results.push_back(std::move(result));
  print_results_json(std::move(results));
}

}  // namespace mainspring::cli
