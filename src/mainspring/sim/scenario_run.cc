// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/scenario_run.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "mainspring/sim/expectation_check.h"
#include "mainspring/sim/job_csv.h"

namespace mainspring::sim {
namespace {

config::ScenarioJob job_of(const JobRow& row) {
  config::ScenarioJob job{.name = row.job_id, .run = base::seconds(row.duration_seconds)};
  job.spec.id = row.job_id;
  if (!row.queue.empty()) job.spec.queue = row.queue;
  job.spec.tenant = row.tenant;
  job.spec.checkpoint_interval = base::seconds(row.checkpoint_seconds);
  job.spec.restart_time = base::seconds(row.restart_seconds);
  job.spec.priority = static_cast<int32_t>(row.priority);
  job.spec.submitted_at = base::Instant{row.submit_seconds * 1000};
  job.spec.expected_run = base::seconds(row.duration_seconds);
  job.spec.groups.push_back({.name = "all", .min_count = static_cast<uint32_t>(row.min_pods)});
  model::PodShape& shape = job.spec.shapes.emplace_back();
  shape.request[model::Resource::kCpuMilli] = row.cpu_milli;
  shape.request[model::Resource::kMemoryBytes] = row.memory_bytes;
  shape.request[model::Resource::kPods] = 1;
  shape.gpu.count = static_cast<uint32_t>(row.gpus_per_pod);
  if (row.gpu_memory_bytes > 0) {
    shape.gpu.memory_bytes = row.gpu_memory_bytes;
  } else {
    shape.gpu.milli = static_cast<int32_t>(row.gpu_milli);
  }
  shape.gpu.models = row.gpu_models;
  for (int64_t pod = 0; pod < row.pods; ++pod) {
    job.spec.pods.push_back({.id = row.job_id + "-" + std::to_string(pod)});
  }
  return job;
}

base::Status read_trace(const config::Scenario& scenario, std::vector<config::ScenarioJob>& jobs,
                        RowTally& skipped) {
  const size_t folder = scenario.file.rfind('/');
  const bool absolute = scenario.trace_csv.starts_with('/');
  const std::string path = absolute || folder == std::string::npos
                               ? scenario.trace_csv
                               : scenario.file.substr(0, folder + 1) + scenario.trace_csv;
  auto reader = JobCsvReader::open(path);
  if (!reader) return base::failure(reader.error().code, reader.error().message);
  while (true) {
    auto row = reader->next();
    if (!row) return base::failure(row.error().code, row.error().message);
    if (!row->has_value()) break;
    jobs.push_back(job_of(**row));
  }
  skipped = reader->tally();
  return {};
}

struct Run {
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<Simulator> simulator;
};

base::Result<Run> prepare(SimulationInputs inputs, const ScenarioRunOptions& options,
                          SimulationOptions simulation) {
  Run run{.engine = std::make_unique<engine::Engine>(options.engine)};
  const auto decide = [engine = run.engine.get()](model::ClusterState& state, base::Instant now) {
    return engine->run_cycle(state, now);
  };
  auto simulator = Simulator::create(std::move(inputs), decide, std::move(simulation));
  if (!simulator) return base::failure(simulator.error().code, simulator.error().message);
  run.simulator = std::move(*simulator);
  return run;
}

// Without checks and without questions on the way: neither may make a difference.
base::Result<uint64_t> hash_of_second_run(const SimulationInputs& inputs,
                                          const ScenarioRunOptions& options) {
  auto run = prepare(inputs, options, {.check = false});
  if (!run) return base::failure(run.error().code, run.error().message);
  run->simulator->run();
  return run->simulator->run_hash();
}

}  // namespace

bool ScenarioReport::all_ok() const {
  return std::ranges::all_of(findings, [](const Finding& finding) { return finding.ok; });
}

base::Result<SimulationInputs> simulation_inputs(const config::Scenario& scenario, uint64_t seed,
                                                 RowTally& skipped) {
  SimulationInputs inputs{.config = scenario.config,
                          .nodes = scenario.nodes,
                          .queues = scenario.queues,
                          .queue_changes = scenario.queue_changes,
                          .jobs = config::draw_jobs(scenario, seed),
                          .faults = scenario.faults,
                          .chances = scenario.chances,
                          .pod_times = scenario.pod_times,
                          .length = scenario.length,
                          .seed = seed};
  if (scenario.trace_csv.empty()) return inputs;
  if (auto ok = read_trace(scenario, inputs.jobs, skipped); !ok) {
    return base::failure(ok.error().code, ok.error().message);
  }
  std::ranges::stable_sort(inputs.jobs, {},
                           [](const config::ScenarioJob& job) { return job.spec.submitted_at; });
  return inputs;
}

base::Result<ScenarioReport> run_scenario(const config::Scenario& scenario, uint64_t seed,
                                          const ScenarioRunOptions& options) {
  ScenarioReport report{.seed = seed};
  auto inputs = simulation_inputs(scenario, seed, report.skipped_rows);
  if (!inputs) return base::failure(inputs.error().code, inputs.error().message);
  std::unique_ptr<config::EventFileWriter> record;
  if (!options.record_path.empty()) {
    auto writer = config::EventFileWriter::create(options.record_path);
    if (!writer) return base::failure(writer.error().code, writer.error().message);
    record = std::move(*writer);
  }
  auto run = prepare(
      *inputs, options,
      {.check = options.check_invariants, .record = record.get(), .progress = options.progress});
  if (!run) return base::failure(run.error().code, run.error().message);
  Simulator& simulator = *run->simulator;
  ExpectationCheck expectations(scenario, simulator, *run->engine);
  if (options.check_expectations) {
    for (const base::Instant moment : expectations.moments()) {
      simulator.run_until(moment);
      expectations.look(moment);
    }
  }
  simulator.run();
  if (record != nullptr) {
    if (auto ok = record->finish(); !ok) return base::failure(ok.error().code, ok.error().message);
  }
  if (options.check_expectations) {
    uint64_t second = simulator.run_hash();
    if (ExpectationCheck::wants_second_run(scenario)) {
      const auto again = hash_of_second_run(*inputs, options);
      if (!again) return base::failure(again.error().code, again.error().message);
      second = *again;
    }
    report.findings = expectations.finish(second);
  }
  report.statistics = simulator.statistics();
  report.jobs = simulator.jobs();
  report.run_hash = simulator.run_hash();
  report.decisions_hash = simulator.decisions_hash();
  report.violation_count = simulator.checker().violation_count();
  report.violations = simulator.checker().violations();
  return report;
}

}  // namespace mainspring::sim
