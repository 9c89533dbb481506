// SPDX-License-Identifier: Apache-2.0
#include "mainspring/cli/timed_comparison.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "mainspring/cli/terminal.h"
#include "mainspring/sim/area_bound.h"
#include "mainspring/sim/philly_inputs.h"
#include "mainspring/sim/scenario_run.h"

namespace mainspring::cli {
namespace {

using base::Result;
using sim::JobOutcome;

constexpr double kHourMs = 3'600'000;

// A load and what is known of it whoever decides.
struct Load {
  sim::SimulationInputs inputs;
  sim::TenantGpus owned;
  base::Instant window_end = base::Instant::never();
  int64_t capacity_gpus = 0;
  std::map<std::string, Percentiles> alone;
  bool trace = false;
};

Percentiles percentiles(std::vector<int64_t> values_ms) {
  Percentiles out{.count = std::ssize(values_ms)};
  if (values_ms.empty()) return out;
  double sum = 0;
  for (const int64_t value : values_ms) sum += static_cast<double>(value) / 1000;
  out.mean = sum / static_cast<double>(values_ms.size());
  const auto at = [&values_ms](int64_t percent) {
    return static_cast<double>(sim::percentile(values_ms, percent)) / 1000;
  };
  out.p50 = at(50);
  out.p90 = at(90);
  out.p95 = at(95);
  out.p99 = at(99);
  return out;
}

template <class Chosen>
Percentiles waits_of(const std::vector<JobOutcome>& jobs, Chosen chosen) {
  std::vector<int64_t> waits;
  for (const JobOutcome& job : jobs) {
    if (job.started && chosen(job)) waits.push_back(job.wait_ms);
  }
  return percentiles(std::move(waits));
}

std::string_view size_class(int64_t gpus) {
  if (gpus <= 1) return "1";
  if (gpus <= 4) return "2-4";
  if (gpus <= 8) return "5-8";
  if (gpus <= 16) return "9-16";
  return "over 16";
}
constexpr std::string_view kSizeClasses[] = {"1", "2-4", "5-8", "9-16", "over 16"};

Result<Load> load_of(const config::Scenario& scenario, const TimedRequest& request,
                     TimedComparison& comparison) {
  Load load;
  load.trace = scenario.philly.has_value();
  sim::RowTally tally;
  if (load.trace) {
    auto philly = sim::philly_inputs(scenario, request.seed, request.traces_folder);
    if (!philly) return tl::unexpected(philly.error());
    load.inputs = std::move(philly->simulation);
    load.owned = std::move(philly->owned);
    tally = philly->tally;
  } else {
    auto inputs = sim::simulation_inputs(scenario, request.seed, tally);
    if (!inputs) return tl::unexpected(inputs.error());
    load.inputs = std::move(*inputs);
  }
  comparison.skipped_rows = tally.skipped();
  comparison.skipped_summary = tally.summary();
  for (const model::NodeSpec& node : load.inputs.nodes) load.capacity_gpus += std::ssize(node.gpus);
  if (!load.trace || load.inputs.jobs.empty()) return load;
  load.window_end = load.inputs.jobs.back().spec.submitted_at;
  comparison.area_bound = sim::area_bound(load.inputs.jobs, load.capacity_gpus, load.window_end);
  return load;
}

// Each tenant alone on what it owns, by the same engine.
base::Status run_alone(Load& load, ProgressBar& progress) {
  int64_t done = 0;
  for (const auto& [tenant, gpus] : load.owned) {
    progress.show(done++, std::ssize(load.owned), fmt::format("{} alone", tenant));
    const sim::SimulationInputs inputs = sim::private_cluster(load.inputs, tenant, gpus);
    const auto run = sim::run_policy(inputs, "mainspring", {});
    if (!run) return tl::unexpected(run.error());
    load.alone[tenant] = waits_of(run->jobs, [](const JobOutcome&) { return true; });
  }
  return {};
}

void add_tenants(const Load& load, const sim::PolicyRun& run, TimedPolicyResult& result) {
  size_t number = 0;
  for (const auto& [tenant, gpus] : load.owned) {
    const sim::QueueUse& use = run.uses[number++];
    TenantResult row{.tenant = tenant};
    row.owned_gpu_hours = use.owned / kHourMs;
    row.used_gpu_hours = use.used / kHourMs;
    row.lent_gpu_hours = use.lent / kHourMs;
    row.borrowed_gpu_hours = use.borrowed / kHourMs;
    for (const JobOutcome& job : run.jobs) {
      if (job.queue != tenant) continue;
      ++row.jobs;
      if (job.gpus > gpus) ++row.larger_jobs;
      row.displaced_gpu_hours += static_cast<double>(job.lost_gpu_ms) / kHourMs;
    }
    row.wait = waits_of(run.jobs, [&, owned = gpus](const JobOutcome& job) {
      return job.queue == tenant && job.gpus <= owned;
    });
    row.larger_wait = waits_of(run.jobs, [&, owned = gpus](const JobOutcome& job) {
      return job.queue == tenant && job.gpus > owned;
    });
    row.alone = load.alone.at(tenant);
    result.tenants.push_back(std::move(row));
  }
}

void add_kinds(const sim::PolicyRun& run, TimedPolicyResult& result) {
  std::set<std::string> names;
  for (const JobOutcome& job : run.jobs) names.insert(job.name);
  for (const std::string& name : names) {
    KindResult kind{.name = name};
    std::vector<int64_t> completions;
    for (const JobOutcome& job : run.jobs) {
      if (job.name != name) continue;
      ++kind.jobs;
      kind.displacements += job.displacements;
      if (job.finished) completions.push_back(job.completion_ms);
    }
    kind.finished = std::ssize(completions);
    kind.completion = percentiles(std::move(completions));
    kind.wait = waits_of(run.jobs, [&](const JobOutcome& job) { return job.name == name; });
    result.kinds.push_back(std::move(kind));
  }
}

TimedPolicyResult result_of(const Load& load, const sim::PolicyRun& run) {
  TimedPolicyResult result{.jobs = std::ssize(run.jobs)};
  double lost_ms = 0;
  for (const JobOutcome& job : run.jobs) {
    if (job.finished) ++result.finished;
    if (!job.started) ++result.never_fit;
    result.displacements += job.displacements;
    lost_ms += static_cast<double>(job.lost_gpu_ms);
  }
  const base::Instant end = std::min(load.window_end, run.statistics.end);
  const double there = static_cast<double>(end.ms) * static_cast<double>(load.capacity_gpus);
  if (there > 0) result.utilisation = run.used_gpu_ms / there;
  if (run.used_gpu_ms > 0) result.displaced_ratio = lost_ms / run.used_gpu_ms;
  result.wait = waits_of(run.jobs, [](const JobOutcome&) { return true; });
  for (const std::string_view size : kSizeClasses) {
    Percentiles waits =
        waits_of(run.jobs, [&](const JobOutcome& job) { return size_class(job.gpus) == size; });
    if (waits.count > 0) result.wait_by_size.emplace_back(size, waits);
  }
  if (!load.owned.empty()) add_tenants(load, run, result);
  if (!load.trace) add_kinds(run, result);
  result.run_hash = fmt::format("{:016x}", run.decisions_hash);
  return result;
}

Result<TimedPolicyResult> run_one(const Load& load, const std::string& policy,
                                  const TimedRequest& request, ProgressBar& progress) {
  sim::PolicyRunOptions options{.window_end = load.window_end};
  for (const auto& [tenant, gpus] : load.owned) options.owners.push_back({tenant, gpus});
  const base::Instant last =
      load.inputs.jobs.empty() ? base::Instant{} : load.inputs.jobs.back().spec.submitted_at;
  options.progress = [&](base::Instant now) {
    progress.show(std::min(now.ms, last.ms), last.ms, policy);
  };
  const auto begin = std::chrono::steady_clock::now();
  const auto run = sim::run_policy(load.inputs, policy, options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (!run) return tl::unexpected(run.error());
  TimedPolicyResult result = result_of(load, *run);
  result.policy = policy;
  result.wall_seconds = took.count();
  if (!request.check) return result;
  options.check = true;
  const auto again = sim::run_policy(load.inputs, policy, options);
  if (!again) return tl::unexpected(again.error());
  result.violations = again->violation_count;
  result.sentences = again->violations;
  if (again->decisions_hash != run->decisions_hash) {
    ++*result.violations;
    result.sentences.emplace_back("with the checker beside it the policy decided otherwise");
  }
  return result;
}

}  // namespace

Result<TimedComparison> compare_timed(const config::Scenario& scenario,
                                      const TimedRequest& request) {
  TimedComparison comparison;
  auto load = load_of(scenario, request, comparison);
  if (!load) return tl::unexpected(load.error());
  ProgressBar progress(scenario.name);
  if (auto ok = run_alone(*load, progress); !ok) return tl::unexpected(ok.error());
  for (const std::string& policy : request.policies) {
    auto result = run_one(*load, policy, request, progress);
    if (!result) return tl::unexpected(result.error());
    comparison.results.push_back(std::move(*result));
  }
  progress.clear();
  return comparison;
}

}  // namespace mainspring::cli
