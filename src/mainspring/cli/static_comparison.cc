// SPDX-License-Identifier: Apache-2.0
#include "mainspring/cli/static_comparison.h"

#include <chrono>
#include <cmath>

#include <fmt/core.h>

#include "mainspring/base/hash.h"
#include "mainspring/cli/terminal.h"
#include "mainspring/sim/allocation_bound.h"
#include "mainspring/sim/engine_replay.h"
#include "mainspring/sim/openb_list.h"

namespace mainspring::cli {
namespace {

using base::Result;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::string_view kOwnPolicy = "mainspring";
constexpr size_t kViolationsShown = 10;

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

  void tell(const std::string& sentence) {
    if (result.violations.size() < kViolationsShown) result.violations.push_back(sentence);
  }

  PolicyResult finish() {
    for (const auto& [percent, values] : allocated) {
      result.allocated_by_percent[percent] = spread_of(values);
    }
    result.run_hash = hash.hex();
    return result;
  }
};

// The engine is timed as it runs on a cluster, without the checker; then it runs again with the
// checker beside it, which must see the same decisions.
Result<sim::OpenbResult> run_engine(const sim::OpenbInputs& inputs, const StaticRequest& request,
                                    Tally& tally) {
  const auto begin = Clock::now();
  const auto run = sim::replay_openb(inputs);
  const double seconds = Seconds(Clock::now() - begin).count();
  if (!run) return tl::unexpected(run.error());
  tally.add(run->result, seconds);
  if (!request.check) return run->result;
  sim::EngineReplayOptions checked;
  checked.check = true;
  const auto again = sim::replay_openb(inputs, checked);
  if (!again) return tl::unexpected(again.error());
  tally.result.invariant_violations += again->violation_count;
  for (const std::string& sentence : again->violations) tally.tell(sentence);
  if (again->result.run_hash != run->result.run_hash) {
    ++tally.result.invariant_violations;
    tally.tell("with the checker beside it the engine decided otherwise");
  }
  return run->result;
}

base::Status run_one(const sim::OpenbInputs& inputs, const StaticRequest& request,
                     const std::string& policy, uint64_t seed, Tally& tally) {
  const auto kind = sim::baseline_of_name(policy);
  const auto begin = Clock::now();
  const auto run = kind ? sim::run_openb(inputs, *kind, seed, request.tie_break)
                        : run_engine(inputs, request, tally);
  const double seconds = Seconds(Clock::now() - begin).count();
  if (!run) return tl::unexpected(run.error());
  if (kind) tally.add(*run, seconds);
  return {};
}

void add_bounds(const sim::OpenbInputs& inputs, std::map<int, std::vector<double>>& bounds) {
  for (const int percent : kReportedPercents) {
    const auto bound = sim::allocation_bound(inputs.nodes, inputs.pods, inputs.order, percent);
    if (bound) bounds[percent].push_back(*bound / 100);
  }
}

struct Arrivals {
  std::vector<sim::OpenbPod> pods;
  sim::OpenbOrder order;
};

Arrivals arrivals_of(const sim::OpenbList& list, const config::OpenbWorkload& workload,
                     uint64_t seed) {
  if (workload.orders == config::OrderSource::kPublished) {
    return {.pods = list.pods.rows, .order = list.order_for_seed(seed)};
  }
  if (workload.distinct_pods == 0) {
    return {.pods = list.pods.rows, .order = list.generated_order(seed, workload.inflate_milli)};
  }
  base::Rng rng(seed);
  const auto count = static_cast<size_t>(workload.distinct_pods);
  Arrivals arrivals{.pods = sim::generate_distinct_pods(list.pods.rows, count, rng)};
  arrivals.order =
      sim::generate_openb_order(list.nodes.rows, arrivals.pods, workload.inflate_milli, seed, rng);
  return arrivals;
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
  std::map<int, std::vector<double>> bounds;
  ProgressBar progress(scenario.name);
  int64_t done = 0;
  const auto total = static_cast<int64_t>((request.policies.size() + 1) * request.seeds.size());
  for (const uint64_t seed : request.seeds) {
    const Arrivals arrivals = arrivals_of(*list, *scenario.openb, seed);
    const sim::OpenbInputs inputs{.nodes = list->nodes.rows,
                                  .pods = arrivals.pods,
                                  .expected_mix = list->pods.rows,
                                  .order = arrivals.order};
    for (size_t i = 0; i < request.policies.size(); ++i) {
      progress.show(done++, total, fmt::format("{}, seed {}", request.policies[i], seed));
      if (auto ok = run_one(inputs, request, request.policies[i], seed, tallies[i]); !ok) {
        return tl::unexpected(ok.error());
      }
    }
    progress.show(done++, total, fmt::format("upper bound, seed {}", seed));
    if (request.bound) add_bounds(inputs, bounds);
  }
  for (size_t i = 0; i < tallies.size(); ++i) {
    tallies[i].result.policy = request.policies[i];
    comparison.policies.push_back(tallies[i].finish());
  }
  for (const auto& [percent, values] : bounds) comparison.bound[percent] = spread_of(values);
  return comparison;
}

}  // namespace mainspring::cli
