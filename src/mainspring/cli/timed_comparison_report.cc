// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "mainspring/base/json.h"
#include "mainspring/cli/simulate_reports.h"
#include "mainspring/cli/terminal.h"
#include "mainspring/cli/timed_comparison.h"

namespace mainspring::cli {
namespace {

using base::Json;

Json seconds_json(const Percentiles& values) {
  Json out = Json::object();
  out.set("p50", values.p50);
  out.set("p90", values.p90);
  out.set("p95", values.p95);
  out.set("p99", values.p99);
  out.set("mean", values.mean);
  return out;
}

Json tenants_json(const TimedPolicyResult& result) {
  Json out = Json::array();
  for (const TenantResult& tenant : result.tenants) {
    Json hours = Json::object();
    hours.set("owned", tenant.owned_gpu_hours);
    hours.set("used", tenant.used_gpu_hours);
    hours.set("lent", tenant.lent_gpu_hours);
    hours.set("borrowed", tenant.borrowed_gpu_hours);
    hours.set("displaced", tenant.displaced_gpu_hours);
    Json row = Json::object();
    row.set("tenant", tenant.tenant);
    row.set("jobs", tenant.jobs);
    row.set("wait_seconds", seconds_json(tenant.wait));
    row.set("alone_wait_seconds", seconds_json(tenant.alone));
    row.set("gpu_hours", std::move(hours));
    row.set("jobs_larger_than_quota", tenant.larger_jobs);
    if (tenant.larger_jobs > 0) {
      row.set("larger_wait_seconds", seconds_json(tenant.larger_wait));
    }
    out.push_back(std::move(row));
  }
  return out;
}

Json kinds_json(const TimedPolicyResult& result) {
  Json out = Json::array();
  for (const KindResult& kind : result.kinds) {
    Json row = Json::object();
    row.set("name", kind.name);
    row.set("jobs", kind.jobs);
    row.set("finished", kind.finished);
    row.set("displacements", kind.displacements);
    row.set("completion_seconds", seconds_json(kind.completion));
    row.set("wait_seconds", seconds_json(kind.wait));
    out.push_back(std::move(row));
  }
  return out;
}

Json result_json(const config::Scenario& scenario, const TimedComparison& comparison,
                 const TimedPolicyResult& result) {
  Json out = Json::object();
  out.set("scenario", scenario.name);
  out.set("policy", result.policy);
  out.set("jobs", result.jobs);
  out.set("finished", result.finished);
  out.set("never_fit", result.never_fit);
  out.set("gpu_utilisation_ratio", result.utilisation);
  if (comparison.area_bound) out.set("area_bound_ratio", *comparison.area_bound);
  out.set("wait_seconds", seconds_json(result.wait));
  Json sizes = Json::object();
  for (const auto& [size, waits] : result.wait_by_size) sizes.set(size, seconds_json(waits));
  out.set("wait_seconds_by_size", std::move(sizes));
  if (!result.tenants.empty()) out.set("tenants", tenants_json(result));
  if (!result.kinds.empty()) out.set("kinds", kinds_json(result));
  out.set("displacements", result.displacements);
  out.set("displaced_gpu_hours_ratio", result.displaced_ratio);
  out.set("replay_wall_seconds", result.wall_seconds);
  out.set("skipped_rows", comparison.skipped_rows);
  if (result.violations) out.set("invariant_violations", *result.violations);
  out.set("run_hash", result.run_hash);
  return out;
}

std::string time_text(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 6000) return fmt::format("{:.1f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

void print_tenants(const TimedPolicyResult& result) {
  fmt::print("\n{}: wait of each tenant, shared and alone\n", toned(result.policy, Tone::kStrong));
  Table table({"tenant", "jobs", "median", "90 %", "99 %", "alone: median", "90 %", "99 %",
               "GPU-h owned", "used", "lent", "borrowed", "lost"});
  for (const TenantResult& tenant : result.tenants) {
    const auto hours = [](double value) { return fmt::format("{:.0f}", value); };
    table.add({tenant.tenant, grouped(tenant.jobs), time_text(tenant.wait.p50),
               time_text(tenant.wait.p90), time_text(tenant.wait.p99), time_text(tenant.alone.p50),
               time_text(tenant.alone.p90), time_text(tenant.alone.p99),
               hours(tenant.owned_gpu_hours), hours(tenant.used_gpu_hours),
               hours(tenant.lent_gpu_hours), hours(tenant.borrowed_gpu_hours),
               hours(tenant.displaced_gpu_hours)});
  }
  fmt::print("{}", table.text());
}

void print_kinds(const TimedPolicyResult& result) {
  fmt::print("\n{}: from arrival to end\n", toned(result.policy, Tone::kStrong));
  Table table({"jobs", "", "finished", "median", "90 %", "99 %", "displaced"});
  for (const KindResult& kind : result.kinds) {
    table.add({kind.name, grouped(kind.jobs), grouped(kind.finished),
               time_text(kind.completion.p50), time_text(kind.completion.p90),
               time_text(kind.completion.p99), grouped(kind.displacements)});
  }
  fmt::print("{}", table.text());
}

void print_tables(const config::Scenario& scenario, const TimedComparison& comparison) {
  fmt::print("{}: waiting, and use of the GPUs\n\n", toned(scenario.name, Tone::kStrong));
  Table table({"policy", "jobs", "finished", "wait: median", "90 %", "95 %", "99 %", "GPU time",
               "displaced", "lost", "seconds", "violations"});
  for (const TimedPolicyResult& result : comparison.results) {
    table.add({result.policy, grouped(result.jobs), grouped(result.finished),
               time_text(result.wait.p50), time_text(result.wait.p90), time_text(result.wait.p95),
               time_text(result.wait.p99), fmt::format("{:.2f} %", 100 * result.utilisation),
               grouped(result.displacements), fmt::format("{:.3f} %", 100 * result.displaced_ratio),
               fmt::format("{:.2f}", result.wall_seconds),
               result.violations ? grouped(*result.violations) : "-"});
  }
  fmt::print("{}", table.text());
  if (comparison.area_bound) {
    fmt::print("no schedule can use more than {:.2f} %\n", 100 * *comparison.area_bound);
  }
  for (const TimedPolicyResult& result : comparison.results) {
    if (!result.tenants.empty()) print_tenants(result);
    if (!result.kinds.empty()) print_kinds(result);
    for (const std::string& sentence : result.sentences) {
      fmt::print("{} {}: {}\n", toned("VIOLATED", Tone::kBad), result.policy, sentence);
    }
  }
  if (!comparison.skipped_summary.empty()) fmt::print("\n{}\n", comparison.skipped_summary);
}

}  // namespace

void print_timed_comparison(const config::Scenario& scenario, const TimedComparison& comparison,
                            bool json) {
  if (!json) return print_tables(scenario, comparison);
  Json results = Json::array();
  for (const TimedPolicyResult& result : comparison.results) {
    results.push_back(result_json(scenario, comparison, result));
  }
  print_results_json(std::move(results));
}

}  // namespace mainspring::cli
