// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/core.h>

#include "mainspring/cli/recorded_run.h"
#include "mainspring/cli/subcommands.h"
#include "mainspring/cli/terminal.h"

namespace mainspring::cli {
namespace {

using base::Json;
using report::Displacement;
using report::FairnessRow;
using report::Outcome;

struct AuditFlags {
  RecordedFlags recorded;
  std::string job;
  std::string queue;
};

// One victim of one displacement.
struct Record {
  const Displacement* displacement = nullptr;
  const model::Victim* victim = nullptr;
};

bool lies_in(RecordedRun& run, const std::string& queue, const std::string& above) {
  const model::Queues& queues = run.state().queues();
  for (model::QueueIx at = queues.find(queue); at.valid(); at = queues.row(at).parent) {
    if (queues.row(at).spec.name == above) return true;
  }
  return false;
}

std::vector<Record> records_of(RecordedRun& run, const AuditFlags& flags) {
  std::vector<Record> records;
  for (const Displacement& one : run.audit().displacements()) {
    for (const model::Victim& victim : one.victims) {
      const bool of_job = flags.job.empty() || one.winner == flags.job || victim.job == flags.job;
      const bool of_queue = flags.queue.empty() || lies_in(run, one.winner_queue, flags.queue) ||
                            lies_in(run, victim.queue, flags.queue);
      if (of_job && of_queue) records.push_back({&one, &victim});
    }
  }
  return records;
}

Json started_json(Outcome outcome) {
  if (outcome == Outcome::kOpen) return {};
  return outcome == Outcome::kStarted;
}

Json record_json(const Record& record) {
  const Displacement& made = *record.displacement;
  const model::Victim& victim = *record.victim;
  Json alternatives = Json::array();
  for (const model::Alternative& other : made.alternatives) {
    Json row = Json::object();
    row.set("where", other.where);
    row.set("victims", other.victims);
    row.set("lost_gpu_seconds", seconds_json(other.lost_gpu_ms));
    alternatives.push_back(std::move(row));
  }
  Json out = Json::object();
  out.set("at", seconds_json(made.at.ms));
  out.set("victim", victim.job);
  out.set("victim_queue", victim.queue);
  out.set("victim_tenant", victim.tenant);
  out.set("winner", made.winner);
  out.set("winner_queue", made.winner_queue);
  out.set("winner_tenant", made.winner_tenant);
  out.set("rule", model::to_string(victim.rule));
  out.set("whole", victim.whole);
  out.set("pods", victim.pods.size());
  out.set("gpu_milli", victim.gpu_milli);
  out.set("alternatives", std::move(alternatives));
  out.set("lost_gpu_seconds", seconds_json(victim.lost_gpu_ms));
  out.set("checkpoint_age_seconds", seconds_json(victim.checkpoint_age.ms));
  out.set("winner_started", started_json(made.outcome));
  out.set("outcome", report::to_string(made.outcome));
  if (made.outcome != Outcome::kOpen) out.set("settled_at", seconds_json(made.settled_at.ms));
  return out;
}

Json percentiles_json(const report::Percentiles& times) {
  Json out = Json::object();
  out.set("p50", seconds_json(times.p50.ms));
  out.set("p90", seconds_json(times.p90.ms));
  out.set("p95", seconds_json(times.p95.ms));
  out.set("p99", seconds_json(times.p99.ms));
  return out;
}

Json hours_json(int64_t ms) { return static_cast<double>(ms) / 3'600'000; }

Json rows_json(const std::vector<FairnessRow>& rows, const char* name) {
  Json out = Json::array();
  for (const FairnessRow& row : rows) {
    Json one = Json::object();
    one.set(name, row.name);
    one.set("jobs_ended", row.completion.count);
    one.set("completion_seconds", percentiles_json(row.completion));
    one.set("waiting_seconds", percentiles_json(row.waiting));
    if (row.completion.p50.ms > 0) {
      one.set("p90_to_p50", static_cast<double>(row.completion.p90.ms) /
                                static_cast<double>(row.completion.p50.ms));
    }
    one.set("objective", report::to_string(row.spread));
    one.set("waiting_now", row.waiting_now);
    one.set("longest_wait_seconds", seconds_json(row.longest_wait.ms));
    Json hours = Json::object();
    if (row.owns) hours.set("owned", hours_json(row.gpu.owned_ms));
    hours.set("used", hours_json(row.gpu.used_ms));
    if (row.owns) hours.set("lent", hours_json(row.gpu.lent_ms));
    hours.set("borrowed", hours_json(row.gpu.borrowed_ms));
    one.set("gpu_hours", std::move(hours));
    out.push_back(std::move(one));
  }
  return out;
}

void print_json(RecordedRun& run, const std::vector<Record>& records) {
  const report::FairnessReport fairness = run.fairness();
  const report::AuditTotals& totals = run.audit().totals();
  Json rows = Json::array();
  for (const Record& record : records) rows.push_back(record_json(record));
  Json sums = Json::object();
  sums.set("displacements", totals.displacements);
  sums.set("victims", totals.victims);
  sums.set("victims_forgotten", totals.victims - totals.victims_kept);
  sums.set("lost_gpu_seconds", seconds_json(totals.lost_gpu_ms));
  Json out = run.envelope("mainspring.audit/1");
  out.set("records", std::move(rows));
  out.set("totals", std::move(sums));
  out.set("window_seconds", seconds_json(fairness.window.ms));
  out.set("since_ms", fairness.since.ms);
  out.set("queues", rows_json(fairness.queues, "queue"));
  out.set("tenants", rows_json(fairness.tenants, "tenant"));
  fmt::print("{}\n", out.dump_pretty());
}

std::string alternatives_text(const Displacement& made) {
  std::string text;
  for (const model::Alternative& other : made.alternatives) {
    text += fmt::format("{}{}: {} for {}", text.empty() ? "" : "; ", other.where,
                        grouped(other.victims), grouped(other.lost_gpu_ms / 1000));
  }
  return text.empty() ? "none" : text;
}

std::string tenant_text(const std::string& tenant) { return tenant.empty() ? "(nobody)" : tenant; }

std::string gpus_text(int64_t milli) {
  if (milli % 1000 == 0) return grouped(milli / 1000);
  return fmt::format("{}.{:03}", grouped(milli / 1000), milli % 1000);
}

void print_records(const std::vector<Record>& records, bool wide) {
  if (records.empty()) {
    fmt::print("no displacement\n");
    return;
  }
  std::vector<std::string> head{"at",   "victim", "of",         "winner",      "of ",
                                "rule", "GPUs",   "lost GPU-s", "unsaved for", "winner then"};
  if (wide) head.insert(head.end(), {"tenants", "other ways (victims for lost GPU-s)"});
  Table table(head);
  for (const Record& record : records) {
    const Displacement& made = *record.displacement;
    const model::Victim& victim = *record.victim;
    std::vector<std::string> row{span_text(made.at - base::Instant{}),
                                 victim.job,
                                 victim.queue,
                                 made.winner,
                                 made.winner_queue,
                                 std::string(model::to_string(victim.rule)),
                                 gpus_text(victim.gpu_milli),
                                 grouped(victim.lost_gpu_ms / 1000),
                                 span_text(victim.checkpoint_age),
                                 std::string(report::to_string(made.outcome))};
    if (wide) {
      row.push_back(tenant_text(victim.tenant) + " for " + tenant_text(made.winner_tenant));
      row.push_back(alternatives_text(made));
    }
    const bool vain = made.outcome != Outcome::kStarted && made.outcome != Outcome::kOpen;
    table.add(std::move(row), vain ? Tone::kWarning : Tone::kPlain);
  }
  fmt::print("{}", table.text());
}

std::string ratio_text(const FairnessRow& row) {
  if (row.completion.p50.ms == 0) return "";
  const int64_t hundredths = row.completion.p90.ms * 100 / row.completion.p50.ms;
  return fmt::format("{}.{:02}", hundredths / 100, hundredths % 100);
}

void print_rows(const std::vector<FairnessRow>& rows, const char* name, bool wide) {
  std::vector<std::string> head{name,   "ended",   "took p50", "p90",  "p90/p50", "waited p50",
                                "p90 ", "waiting", "owned",    "used", "lent",    "borrowed"};
  if (wide) head.insert(head.end(), {"took p95", "p99", "waited p95", "p99 ", "longest wait"});
  Table table(head);
  for (const FairnessRow& row : rows) {
    std::vector<std::string> cells{
        std::string(size_t{2} * row.depth, ' ') + (row.name.empty() ? "(nobody)" : row.name),
        grouped(row.completion.count),
        span_text(row.completion.p50),
        span_text(row.completion.p90),
        ratio_text(row),
        span_text(row.waiting.p50),
        span_text(row.waiting.p90),
        grouped(row.waiting_now),
        row.owns ? hours_text(row.gpu.owned_ms) : "",
        hours_text(row.gpu.used_ms),
        row.owns ? hours_text(row.gpu.lent_ms) : "",
        hours_text(row.gpu.borrowed_ms)};
    if (wide) {
      cells.insert(cells.end(), {span_text(row.completion.p95), span_text(row.completion.p99),
                                 span_text(row.waiting.p95), span_text(row.waiting.p99),
                                 span_text(row.longest_wait)});
    }
    table.add(std::move(cells), row.spread == report::Spread::kAlert    ? Tone::kBad
                                : row.spread == report::Spread::kMissed ? Tone::kWarning
                                                                        : Tone::kPlain);
  }
  fmt::print("\n{}", table.text());
}

ExitCode run_audit(const AuditFlags& flags) {
  const auto run = RecordedRun::read(flags.recorded);
  if (!run) return cli::report(run.error());
  if (!flags.job.empty()) {
    if (auto ok = (*run)->knows_job(flags.job); !ok) return cli::report(ok.error());
  }
  if (!flags.queue.empty()) {
    if (auto ok = (*run)->knows_queue(flags.queue); !ok) return cli::report(ok.error());
  }
  const std::vector<Record> records = records_of(**run, flags);
  if (flags.recorded.wants_json()) {
    print_json(**run, records);
    return (*run)->verdict();
  }
  const bool wide = flags.recorded.wide();
  print_records(records, wide);
  if (flags.job.empty()) {
    const report::FairnessReport fairness = (*run)->fairness();
    print_rows(fairness.queues, "queue", wide);
    print_rows(fairness.tenants, "tenant", wide);
    fmt::print("times of jobs that ended within 24h; GPU-hours since {}\n",
               span_text(fairness.since - base::Instant{}));
  }
  return (*run)->verdict();
}

}  // namespace

void add_audit(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "audit",
      "Say who was displaced for whom in a recorded run, and how queues and tenants fared");
  auto flags = std::make_shared<AuditFlags>();
  add_recorded_flags(*command, flags->recorded, "mainspring.audit/1");
  command->add_option("--job", flags->job, "Only displacements of or for this job")
      ->type_name("ID");
  command->add_option("--queue", flags->queue, "Only displacements of or for this queue and below")
      ->type_name("NAME");
  command->footer(
      "\nThe run is repeated by the same engine. A warning colour marks displacements in vain and\n"
      "queues whose p90/p50 misses 1.5; above 2 it is an alert.\n\n"
      "Examples:\n"
      "  mainspring simulate scenarios/queues/reclaim-between-roots.yaml --record run.events\n"
      "  mainspring audit --run run.events\n"
      "  mainspring audit --run run.events --job late -o wide\n"
      "  mainspring audit --run run.events --json");
  command->callback([&action, flags] { action = [flags] { return run_audit(*flags); }; });
}

}  // namespace mainspring::cli
