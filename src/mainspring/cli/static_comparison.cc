// SPDX-License-Identifier: Apache-2.0
#include "mainspring/cli/static_comparison.h"

#include <chrono>
#include <cmath>

#include <fmt/core.h>

#include "mainspring/base/hash.h"
#include "mainspring/cli/terminal.h"
#include "mainspring/sim/openb_list.h"

namespace mainspring::cli {
namespace {

using base::Result;

constexpr std::string_view kOwnPolicy = "mainspring";

Spread spread_of(const std::vector<double>& values) {
  Spread spread;
  if (values.empty()) return spread;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) spread.mean += value / count;
  double square = 0;
  for (const double value : values) square += (value - spread.mean) * (value - spread.mean);
  spread.sd = std::sqrt(square / count);
  return spread;
}

// What one policy did over the seeds so far.
struct Tally {
  PolicyResult result;
  std::map<int, std::vector<double>> allocated;
  base::RunHash hash;

  void add(const sim::OpenbResult& run, double seconds) {
    for (const int percent : kReportedPercents) {
      if (const auto value = run.curve.at(percent)) allocated[percent].push_back(*value / 100);
    }
    result.placed_pods += run.placed_pods;
    result.wall_seconds += seconds;
    hash.add(run.run_hash);
  }

  PolicyResult finish() {
    for (const auto& [percent, values] : allocated) {
      result.allocated_by_percent[percent] = spread_of(values);
    }
    result.run_hash = hash.hex();
    return result;
  }
};

Result<sim::OpenbResult> run_one(const sim::OpenbInputs& inputs, const StaticRequest& request,
                                 const std::string& policy, uint64_t seed) {
  const auto kind = sim::baseline_of_name(policy);
  if (!kind) return base::invalid("--policies: '" + policy + "' does not run on these lists");
  return sim::run_openb(inputs, *kind, seed, request.tie_break);
}

}  // namespace

std::vector<std::string_view> static_policies() {
  std::vector<std::string_view> names;
  for (const sim::BaselineKind kind : sim::kBaselineKinds)
    names.push_back(sim::baseline_name(kind));
  names.push_back(kOwnPolicy);
  return names;
}

Result<StaticComparison> compare_static(const config::Scenario& scenario,
                                        const StaticRequest& request) {
  const auto list = sim::load_openb_list(request.traces_folder, scenario.openb->list);
  if (!list) return tl::unexpected(list.error());
  StaticComparison comparison{.seeds = request.seeds, .tie_break = request.tie_break};
  comparison.skipped_rows = list->skipped().skipped();
  comparison.skipped_summary = list->skipped().summary();
  std::vector<Tally> tallies(request.policies.size());
  ProgressBar progress(scenario.name);
  int64_t done = 0;
  const auto total = static_cast<int64_t>(request.policies.size() * request.seeds.size());
  for (const uint64_t seed : request.seeds) {
    const bool published = scenario.openb->orders == config::OrderSource::kPublished;
    const sim::OpenbOrder order = published
                                      ? list->order_for_seed(seed)
                                      : list->generated_order(seed, scenario.openb->inflate_milli);
    const sim::OpenbInputs inputs{.nodes = list->nodes.rows,
                                  .pods = list->pods.rows,
                                  .expected_mix = list->pods.rows,
                                  .order = order};
    for (size_t i = 0; i < request.policies.size(); ++i) {
      const std::string& policy = request.policies[i];
      progress.show(done++, total, fmt::format("{}, seed {}", policy, seed));
      const auto begin = std::chrono::steady_clock::now();
      const auto run = run_one(inputs, request, policy, seed);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      if (!run) return tl::unexpected(run.error());
      tallies[i].add(*run, took.count());
    }
  }
  for (size_t i = 0; i < tallies.size(); ++i) {
    tallies[i].result.policy = request.policies[i];
    comparison.policies.push_back(tallies[i].finish());
  }
  return comparison;
}

}  // namespace mainspring::cli
