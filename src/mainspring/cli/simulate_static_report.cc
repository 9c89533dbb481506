// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "mainspring/base/json.h"
#include "mainspring/cli/simulate_reports.h"
#include "mainspring/cli/terminal.h"

namespace mainspring::cli {
namespace {

using base::Json;

std::string ratio_name(int percent) {
  return fmt::format("{}.{:02}", percent / 100, percent % 100);
}

double per_second(const PolicyResult& result) {
  if (result.wall_seconds <= 0) return 0;
  return static_cast<double>(result.placed_pods) / result.wall_seconds;
}

Json spreads_json(const std::map<int, Spread>& spreads) {
  Json out = Json::object();
  for (const auto& [percent, spread] : spreads) {
    Json point = Json::object();
    point.set("mean", spread.mean);
    point.set("sd", spread.sd);
    out.set(ratio_name(percent), std::move(point));
  }
  return out;
}

Json result_json(const config::Scenario& scenario, const StaticComparison& comparison,
                 const PolicyResult& result) {
  Json seeds = Json::array();
  for (const uint64_t seed : comparison.seeds) seeds.push_back(seed);
  Json out = Json::object();
  out.set("scenario", scenario.name);
  out.set("policy", result.policy);
  out.set("seeds", std::move(seeds));
  out.set("tie_break", comparison.tie_break == sim::TieBreak::kFirst ? "first" : "random");
  out.set("allocated_gpu_ratio", spreads_json(result.allocated_by_percent));
  out.set("placed_pods_per_second", per_second(result));
  out.set("skipped_rows", comparison.skipped_rows);
  out.set("invariant_violations", result.invariant_violations);
  out.set("run_hash", result.run_hash);
  if (!comparison.bound.empty()) {
    out.set("allocated_gpu_ratio_bound", spreads_json(comparison.bound));
  }
  return out;
}

std::string shown(const std::map<int, Spread>& spreads, int percent) {
  const auto found = spreads.find(percent);
  if (found == spreads.end()) return "-";
  return fmt::format("{:.2f}", 100 * found->second.mean);
}

std::string shown_sd(const std::map<int, Spread>& spreads, int percent) {
  const auto found = spreads.find(percent);
  if (found == spreads.end()) return "-";
  return fmt::format("{:.2f}", 100 * found->second.sd);
}

void print_table(const config::Scenario& scenario, const StaticComparison& comparison) {
  fmt::print("{}: allocated GPUs in % of all, when 95, 100 and 130 % have been asked for\n",
             toned(scenario.name, Tone::kStrong));
  fmt::print("mean of {} seed{}, equal nodes: {}\n\n", comparison.seeds.size(),
             comparison.seeds.size() == 1 ? "" : "s",
             comparison.tie_break == sim::TieBreak::kFirst ? "the first" : "a random one");
  Table table({"policy", "at 95", "at 100", "sd", "at 130", "pods/s", "violations", "run hash"});
  for (const PolicyResult& result : comparison.policies) {
    const auto& allocated = result.allocated_by_percent;
    table.add({result.policy, shown(allocated, 95), shown(allocated, 100), shown_sd(allocated, 100),
               shown(allocated, 130), grouped(static_cast<int64_t>(per_second(result))),
               grouped(result.invariant_violations), result.run_hash});
  }
  if (!comparison.bound.empty()) {
    table.add({"(upper bound)", shown(comparison.bound, 95), shown(comparison.bound, 100),
               shown_sd(comparison.bound, 100), shown(comparison.bound, 130)},
              Tone::kQuiet);
  }
  fmt::print("{}", table.text());
  for (const PolicyResult& result : comparison.policies) {
    for (const std::string& sentence : result.violations) {
      fmt::print("{} {}: {}\n", toned("VIOLATED", Tone::kBad), result.policy, sentence);
    }
  }
  if (!comparison.skipped_summary.empty()) fmt::print("\n{}\n", comparison.skipped_summary);
}

}  // namespace

void print_results_json(Json results) {
  Json out = Json::object();
  out.set("schema", "mainspring.simulate/1");
  out.set("results", std::move(results));
  fmt::print("{}\n", out.dump_pretty());
}

void print_static_report(const config::Scenario& scenario, const StaticComparison& comparison,
                         bool json) {
  if (!json) return print_table(scenario, comparison);
  Json results = Json::array();
  for (const PolicyResult& result : comparison.policies) {
    results.push_back(result_json(scenario, comparison, result));
  }
  print_results_json(std::move(results));
}

}  // namespace mainspring::cli
