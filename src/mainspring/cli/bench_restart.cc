// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mainspring/base/check.h"
#include "mainspring/cli/bench_budgets.h"
#include "mainspring/cli/bench_world.h"
#include "mainspring/config/event_file.h"
#include "mainspring/engine/cycle.h"
#include "mainspring/model/snapshot.h"

namespace mainspring::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kJobs = 14'000;
constexpr int64_t kPodsPerJob = 10;
constexpr int64_t kStartedAfterSnapshot = 1000;
constexpr const char* kNewJob = "first-of-the-new-process";

bool binds(const model::Plan& plan, std::string_view job) {
  for (const model::Decision& decision : plan.decisions) {
    const auto* bind = std::get_if<model::Bind>(&decision);
    if (bind != nullptr && bind->job == job) return true;
  }
  return false;
}

// 5,000 nodes and 140,000 pods that run on them; then pods start and a job arrives.
void write_file(const std::string& path) {
  model::ClusterState state;
  engine::Engine engine({.explain = false});
  add_tree(state, {.zones = 5, .blocks = 10, .racks = 10, .nodes = 10}, {.cpu_milli = 64'000});
  for (int64_t job = 0; job < kJobs; ++job) {
    feed(state, model::JobChanged{
                    uniform_job(fmt::format("job-{}", job), kPodsPerJob, gpu_shape(0, 2000))});
  }
  (void)engine.run_cycle(state, {});
  auto writer = config::EventFileWriter::create(path);
  MAINSPRING_CHECK(writer.has_value(), "the file of the restart benchmark cannot be written");
  for (const model::Event& event : model::take_snapshot(state)) (*writer)->snapshot(event);
  (*writer)->end_snapshot();
  uint64_t sequence = state.sequence();
  for (int64_t job = 0; job < kStartedAfterSnapshot; ++job) {
    const std::string pod = fmt::format("job-{}/0", job);
    const uint32_t incarnation = state.pod(state.find_pod(pod)).incarnation;
    (*writer)->event({.sequence = ++sequence, .body = model::PodStarted{pod, incarnation}});
  }
  (*writer)->event({.sequence = ++sequence,
                    .body = model::JobChanged{uniform_job(kNewJob, 4, gpu_shape(8, 4000))}});
  MAINSPRING_CHECK((*writer)->finish().has_value(), "the file of the restart benchmark failed");
}

// Reads the file into a new state and decides once.
void restart_from(const std::string& path) {
  model::ClusterState state;
  engine::Engine engine;
  auto reader = config::EventFileReader::open(path);
  MAINSPRING_CHECK(reader.has_value(), "the file of the restart benchmark cannot be read");
  while (true) {
    const auto line = (*reader)->next();
    MAINSPRING_CHECK(line.has_value(), "the file of the restart benchmark is damaged");
    if (!line->has_value()) break;
    if (const auto* event = std::get_if<model::Event>(&**line)) {
      MAINSPRING_CHECK(state.apply(*event).has_value(), "the state refused its own snapshot");
    }
  }
  const model::Plan plan = engine.run_cycle(state, state.now());
  MAINSPRING_CHECK(binds(plan, kNewJob), "the new process did not decide");
}

// In a process of its own; its time from the fork to its end.
double seconds_in_child(const std::function<void()>& work) {
  const auto begin = Clock::now();
  const pid_t child = fork();
  MAINSPRING_CHECK(child >= 0, "no process for the restart benchmark");
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  MAINSPRING_CHECK(waitpid(child, &status, 0) == child && status == 0,
                   "a process of the restart benchmark failed");
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

Measurement measure_restart() {
  const std::string path = (std::filesystem::temp_directory_path() /
                            fmt::format("mainspring-restart-{}.events", getpid()))
                               .string();
  (void)seconds_in_child([&] { write_file(path); });
  constexpr int kRounds = 3;
  std::vector<double> samples;
  samples.reserve(kRounds);
  for (int round = 0; round < kRounds; ++round) {
    samples.push_back(seconds_in_child([&] { restart_from(path); }));
  }
  std::filesystem::remove(path);
  return {.value = quantile(samples, 500), .samples = static_cast<int64_t>(samples.size())};
}

}  // namespace mainspring::cli
