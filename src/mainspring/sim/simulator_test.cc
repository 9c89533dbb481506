// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/simulator.h"

#include <cstdio>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mainspring/engine/cycle.h"
#include "mainspring/model/snapshot.h"
#include "mainspring/sim/event_replay.h"

namespace mainspring::sim {
namespace {

Decide new_engine() {
  auto engine = std::make_shared<engine::Engine>();
  return [engine](model::ClusterState& state, base::Instant now) {
    return engine->run_cycle(state, now);
  };
}

model::NodeSpec node_of(int number, int per_rack) {
  model::NodeSpec node{.name = "node-" + std::to_string(number)};
  node.labels.push_back({"rack", "r" + std::to_string(number / per_rack)});
  node.allocatable.amounts = {64'000, int64_t{1} << 40, int64_t{1} << 40, 110};
  for (int gpu = 0; gpu < 4; ++gpu) {
    node.gpus.push_back({.id = "gpu-" + std::to_string(gpu),
                         .model = number % 2 == 0 ? "A" : "B",
                         .memory_bytes = int64_t{80} << 30});
  }
  return node;
}

config::ScenarioJob job_of(const std::string& id, int64_t at_ms, size_t pods, uint32_t gpus,
                           int64_t run_ms) {
  config::ScenarioJob job{.name = id, .run = base::milliseconds(run_ms)};
  job.spec.id = id;
  job.spec.submitted_at = base::Instant{at_ms};
  job.spec.groups.push_back({.name = "all"});
  model::PodShape& shape = job.spec.shapes.emplace_back();
  shape.request.amounts = {1000, 1 << 20, 0, 1};
  shape.gpu.count = gpus;
  for (size_t i = 0; i < pods; ++i) job.spec.pods.push_back({.id = id + "-" + std::to_string(i)});
  return job;
}

config::ScenarioJob random_job(base::Rng& rng, int number, int64_t at_ms) {
  const std::string id = "job-" + std::to_string(number);
  const auto pods = static_cast<size_t>(rng.chance(1, 3) ? rng.between(2, 6) : 1);
  config::ScenarioJob job =
      job_of(id, at_ms, pods, static_cast<uint32_t>(rng.between(0, 4)), rng.between(1, 600) * 1000);
  model::GpuRequest& gpu = job.spec.shapes[0].gpu;
  if (gpu.count == 1 && rng.chance(1, 2)) gpu.milli = static_cast<int32_t>(rng.between(1, 999));
  if (gpu.count > 0 && rng.chance(1, 8)) gpu.models = {"A"};
  if (pods > 2 && rng.chance(1, 3)) job.spec.groups[0].min_count = 2;
  if (pods > 1 && rng.chance(1, 3)) job.spec.groups[0].required_level = "rack";
  if (pods > 3 && rng.chance(1, 2)) {
    job.spec.groups.push_back({.name = "half", .parent = 0, .required_level = "node"});
    job.spec.pods[0].group = job.spec.pods[1].group = 1;
    job.spec.groups[0].min_count = 0;
  }
  job.spec.priority = static_cast<int32_t>(rng.below(3));
  return job;
}

SimulationInputs random_inputs(uint64_t seed, int jobs) {
  SimulationInputs inputs;
  inputs.seed = seed;
  inputs.config.topologies.push_back({"network", {{"rack", "rack"}}});
  for (int i = 0; i < 12; ++i) inputs.nodes.push_back(node_of(i, 3));
  base::Rng rng(seed);
  int64_t at_ms = 0;
  for (int i = 0; i < jobs; ++i) {
    at_ms += rng.exponential(20'000);
    inputs.jobs.push_back(random_job(rng, i, at_ms));
  }
  inputs.length = base::seconds(6 * 3600);
  return inputs;
}

config::FaultChances everything_goes_wrong() {
  config::FaultChances chances;
  chances.node_lost_every = base::seconds(900);
  chances.node_back_after = base::seconds(300);
  chances.gpu_lost_every = base::seconds(600);
  chances.gpu_taken_every = base::seconds(300);
  chances.bind_refused_ppm = 30'000;
  chances.pod_never_starts_ppm = 5'000;
  chances.pod_failed_ppm = 60'000;
  chances.event_late_ppm = 100'000;
  chances.event_repeated_ppm = 100'000;
  chances.event_reordered_ppm = 100'000;
  return chances;
}

std::unique_ptr<Simulator> made(SimulationInputs inputs, SimulationOptions options = {}) {
  auto simulator = Simulator::create(std::move(inputs), new_engine(), std::move(options));
  EXPECT_TRUE(simulator.has_value());
  return std::move(*simulator);
}

std::string violations_of(const Checker& checker) {
  std::string text;
  for (const Violation& violation : checker.violations()) {
    text += std::to_string(violation.at.ms) + " " + std::string(to_string(violation.rule)) + ": " +
            violation.sentence + "\n";
  }
  return text;
}

TEST(Simulator, RunsJobsToTheirEnd) {
  SimulationInputs inputs;
  inputs.nodes = {node_of(0, 3), node_of(1, 3)};
  inputs.jobs = {job_of("first", 0, 2, 4, 60'000), job_of("second", 5'000, 1, 4, 60'000)};
  const auto simulator = made(inputs);
  simulator->run();
  const auto& jobs = simulator->jobs();
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_LT(jobs[0].started_at.ms, 11'000);
  EXPECT_EQ(jobs[0].finished_at.ms, jobs[0].started_at.ms + 60'000);
  EXPECT_EQ(jobs[0].first_places.size(), 2U);
  EXPECT_GE(jobs[1].started_at, jobs[0].finished_at);
  EXPECT_EQ(simulator->state().job_count(), 0U);
  EXPECT_EQ(simulator->checker().violation_count(), 0) << violations_of(simulator->checker());
  const RunStatistics figures = simulator->statistics();
  EXPECT_EQ(figures.jobs_finished, 2);
  EXPECT_EQ(figures.jobs_waiting, 0);
  EXPECT_EQ(figures.waits.count, 2);
  EXPECT_GT(figures.utilisation_milli, 500);
  EXPECT_EQ(simulator->now(), jobs[1].finished_at);
}

TEST(Simulator, StopsWhereItIsTold) {
  SimulationInputs inputs;
  inputs.nodes = {node_of(0, 3)};
  inputs.jobs = {job_of("first", 0, 1, 4, 60'000), job_of("second", 1'000, 1, 4, 60'000)};
  const auto simulator = made(inputs);
  simulator->run_until(base::Instant{30'000});
  EXPECT_FALSE(simulator->over());
  EXPECT_EQ(simulator->running_pods(0), 1);
  ASSERT_NE(simulator->last_verdict("second"), nullptr);
  EXPECT_EQ(simulator->last_verdict("second")->kind, model::VerdictKind::kNotNow);
  EXPECT_EQ(simulator->last_verdict("first"), nullptr);
  const auto whole = made(inputs);
  whole->run();
  simulator->run();
  EXPECT_EQ(simulator->run_hash(), whole->run_hash());
}

TEST(Simulator, QuietDaysAreCleanAndRepeatThemselves) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const auto first = made(random_inputs(seed, 150), {.sweep_every = 16});
    first->run();
    EXPECT_EQ(first->checker().violation_count(), 0) << violations_of(first->checker());
    EXPECT_GT(first->statistics().jobs_finished, 120);
    for (const JobRecord& job : first->jobs()) {
      if (job.finished_at != base::Instant::never()) continue;
      ASSERT_NE(first->last_verdict(job.id), nullptr) << job.id;
      EXPECT_EQ(first->last_verdict(job.id)->kind, model::VerdictKind::kNever) << job.id;
    }
    EXPECT_EQ(first->statistics().counters.events_refused, 0);
    const auto second = made(random_inputs(seed, 150), {.check = false});
    second->run();
    EXPECT_EQ(second->run_hash(), first->run_hash());
    EXPECT_EQ(second->decisions_hash(), first->decisions_hash());
    const auto other = made(random_inputs(seed + 100, 150), {.check = false});
    other->run();
    EXPECT_NE(other->run_hash(), first->run_hash());
  }
}

TEST(Simulator, WhatHoldsOnAQuietDayHoldsWhenEverythingGoesWrong) {
  int64_t releases = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SimulationInputs inputs = random_inputs(seed, 200);
    inputs.chances = everything_goes_wrong();
    const auto first = made(inputs, {.sweep_every = 16});
    first->run();
    EXPECT_EQ(first->checker().violation_count(), 0) << "seed " << seed << "\n"
                                                     << violations_of(first->checker());
    const RunStatistics figures = first->statistics();
    EXPECT_GT(figures.refused_binds, 0);
    EXPECT_GT(figures.repairs, 0);
    releases += figures.counters.releases;
    EXPECT_GT(figures.jobs_finished, 150);
    first->state().check();
    const auto second = made(inputs, {.check = false});
    second->run();
    EXPECT_EQ(second->run_hash(), first->run_hash()) << "seed " << seed;
  }
  EXPECT_GT(releases, 0);
}

TEST(Simulator, RulesAmongPodsHoldWhateverHappens) {
  int64_t displaced = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SimulationInputs inputs = random_inputs(seed, 200);
    if (seed % 2 == 0) inputs.chances = everything_goes_wrong();
    base::Rng rng(seed);
    for (config::ScenarioJob& job : inputs.jobs) {
      model::PodShape& shape = job.spec.shapes[0];
      job.spec.priority = static_cast<int32_t>(rng.below(3)) * 100;
      if (rng.chance(1, 4)) continue;
      shape.tags = {rng.chance(1, 2) ? "blue" : "red"};
      const uint64_t kind = rng.below(8);
      const char* level = rng.chance(1, 2) ? "rack" : "node";
      if (kind < 3) shape.rules = {{model::PodRuleKind::kApart, "blue", level}};
      if (kind == 3) shape.rules = {{model::PodRuleKind::kNear, shape.tags[0], "rack"}};
      if (kind > 5) shape.rules = {{model::PodRuleKind::kSpread, shape.tags[0], level}};
    }
    const auto first = made(inputs, {.sweep_every = 16});
    first->run();
    EXPECT_EQ(first->checker().violation_count(), 0) << "seed " << seed << "\n"
                                                     << violations_of(first->checker());
    EXPECT_GT(first->statistics().jobs_finished, 100);
    displaced += first->statistics().counters.displacements;
    first->state().check();
    const auto second = made(inputs, {.check = false});
    second->run();
    EXPECT_EQ(second->run_hash(), first->run_hash()) << "seed " << seed;
  }
  EXPECT_GT(displaced, 20);
}

class RecordedRun : public testing::Test {
 public:
  ~RecordedRun() override { std::remove(path_.c_str()); }

 protected:
  std::string path_ = testing::TempDir() + "mainspring_recorded_run_" +
                      testing::UnitTest::GetInstance()->current_test_info()->name() + ".jsonl";
};

TEST_F(RecordedRun, ReplaysToTheSameDecisions) {
  SimulationInputs inputs = random_inputs(9, 120);
  inputs.chances = everything_goes_wrong();
  auto writer = config::EventFileWriter::create(path_);
  ASSERT_TRUE(writer.has_value());
  const auto simulator = made(inputs, {.record = writer->get()});
  simulator->run();
  ASSERT_TRUE((*writer)->finish().has_value());
  const auto report = replay_events(path_, new_engine());
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_TRUE(report->same()) << report->first_difference;
  EXPECT_EQ(report->decisions_hash, simulator->decisions_hash());
  EXPECT_EQ(report->recorded_hash, simulator->decisions_hash());
  EXPECT_EQ(report->state_hash, simulator->state().hash());
  EXPECT_EQ(report->events, simulator->statistics().counters.events);
  EXPECT_EQ(report->checker.violation_count(), 0) << violations_of(report->checker);
}

TEST_F(RecordedRun, TellsWhereAnotherEngineDecidesOtherwise) {
  auto writer = config::EventFileWriter::create(path_);
  ASSERT_TRUE(writer.has_value());
  const auto simulator = made(random_inputs(9, 20), {.record = writer->get()});
  simulator->run();
  ASSERT_TRUE((*writer)->finish().has_value());
  const auto idle = [](model::ClusterState&, base::Instant) { return model::Plan{}; };
  const auto report = replay_events(path_, idle);
  ASSERT_TRUE(report.has_value());
  EXPECT_FALSE(report->same());
  EXPECT_THAT(report->first_difference, testing::StartsWith(path_ + ":"));
  EXPECT_NE(report->decisions_hash, report->recorded_hash);
}

TEST(Simulator, ARestartInTheMiddleChangesNothing) {
  SimulationInputs inputs = random_inputs(5, 150);
  inputs.chances = everything_goes_wrong();
  const auto whole = made(inputs);
  whole->run();
  // Every hundred cycles the process dies, and another one goes on from its snapshot.
  auto state = std::make_shared<std::unique_ptr<model::ClusterState>>();
  auto engine = std::make_shared<std::unique_ptr<engine::Engine>>();
  auto cycles = std::make_shared<int>(0);
  const Decide restarting = [=](model::ClusterState& live, base::Instant now) {
    if ((*cycles)++ % 100 == 0) {
      model::ClusterState fresh;
      for (const model::Event& event : model::take_snapshot(live)) {
        EXPECT_TRUE(fresh.apply(event).has_value());
      }
      EXPECT_EQ(fresh.hash(), live.hash());
      live = std::move(fresh);
      *engine = std::make_unique<engine::Engine>();
    }
    return (*engine)->run_cycle(live, now);
  };
  auto restarted = Simulator::create(inputs, restarting);
  ASSERT_TRUE(restarted.has_value());
  (*restarted)->run();
  EXPECT_EQ((*restarted)->decisions_hash(), whole->decisions_hash());
}

}  // namespace
}  // namespace mainspring::sim
