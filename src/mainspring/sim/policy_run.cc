// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/policy_run.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "mainspring/base/check.h"
#include "mainspring/engine/cycle.h"
#include "mainspring/sim/philly_inputs.h"
#include "mainspring/sim/timed_policies.h"

namespace mainspring::sim {
namespace {

constexpr std::string_view kOwnPolicy = "mainspring";
constexpr size_t kViolationsShown = 10;

// What holds for every scheduler.
constexpr Rule kPhysics[] = {
    Rule::kWorldOverCommitted, Rule::kStateOverCommitted, Rule::kNegativeAmount,
    Rule::kStateDiffers,       Rule::kEventRefused,       Rule::kUnknownName,
    Rule::kPodNotPending,      Rule::kNodeNotUsable,      Rule::kDoesNotFit,
    Rule::kWrongDevice,        Rule::kBelowMinimum,       Rule::kWakeNotAhead,
};

base::Result<Decide> decider(std::string_view policy) {
  if (policy == kOwnPolicy) {
    auto engine = std::make_shared<engine::Engine>(engine::EngineOptions{.explain = false});
    return Decide([engine](model::ClusterState& state, base::Instant now) {
      return engine->run_cycle(state, now);
    });
  }
  auto made = TimedPolicy::of_name(policy);
  if (!made) return base::invalid("there is no policy " + std::string(policy));
  auto baseline = std::make_shared<TimedPolicy>(std::move(*made));
  return Decide([baseline](model::ClusterState& state, base::Instant now) {
    return baseline->decide(state, now);
  });
}

JobOutcome outcome_of(const config::ScenarioJob& job, const JobRecord& record) {
  JobOutcome outcome{.name = job.name, .queue = job.spec.queue, .gpus = gpus_of(job.spec)};
  outcome.started = record.started_at != base::Instant::never();
  outcome.finished = record.finished_at != base::Instant::never();
  if (outcome.finished) {
    outcome.completion_ms = (record.finished_at - record.submitted_at).ms;
    outcome.wait_ms = outcome.completion_ms - job.run.value_or(base::Duration{}).ms;
  } else if (outcome.started) {
    outcome.wait_ms = (record.started_at - record.submitted_at).ms;
  }
  outcome.displacements = std::ssize(record.displaced_by);
  outcome.lost_gpu_ms = record.lost_gpu_ms;
  return outcome;
}

}  // namespace

std::vector<std::string_view> timed_policies() {
  std::vector<std::string_view> names(timed_baselines().begin(), timed_baselines().end());
  names.push_back(kOwnPolicy);
  return names;
}

base::Result<PolicyRun> run_policy(const SimulationInputs& inputs, std::string_view policy,
                                   const PolicyRunOptions& options) {
  auto inner = decider(policy);
  if (!inner) return tl::unexpected(inner.error());
  TenantMeter meter(options.owners, options.window_end);
  const auto decide = [&](model::ClusterState& state, base::Instant now) {
    meter.pass(now);
    model::Plan plan = (*inner)(state, now);
    meter.read(state);
    return plan;
  };
  auto made = Simulator::create(
      inputs, decide,
      {.check = options.check, .sweep_every = options.sweep_every, .progress = options.progress});
  if (!made) return tl::unexpected(made.error());
  Simulator& simulator = **made;
  simulator.run();
  PolicyRun run;
  run.statistics = simulator.statistics();
  meter.pass(run.statistics.end);
  const std::vector<JobRecord>& records = simulator.jobs();
  MAINSPRING_CHECK(records.size() <= inputs.jobs.size(), "more jobs than were submitted");
  for (size_t i = 0; i < records.size(); ++i) {
    run.jobs.push_back(outcome_of(inputs.jobs[i], records[i]));
  }
  run.uses = meter.uses();
  run.used_gpu_ms = meter.used();
  const Checker& checker = simulator.checker();
  const bool own = policy == kOwnPolicy;
  if (own) run.violation_count = checker.violation_count();
  for (const Rule rule : kPhysics) {
    if (!own) run.violation_count += checker.count(rule);
  }
  for (const Violation& violation : checker.violations()) {
    const bool counts = own || std::ranges::find(kPhysics, violation.rule) != std::end(kPhysics);
    if (counts && run.violations.size() < kViolationsShown) {
      run.violations.push_back(violation.sentence);
    }
  }
  run.decisions_hash = simulator.decisions_hash();
  return run;
}

int64_t percentile(std::vector<int64_t>& values, int64_t percent) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto rank = (static_cast<int64_t>(values.size()) * percent + 99) / 100;
  return values[static_cast<size_t>(std::max<int64_t>(rank, 1) - 1)];
}

}  // namespace mainspring::sim
