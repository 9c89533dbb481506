// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/philly_inputs.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "mainspring/base/check.h"
#include "mainspring/sim/scenario_run.h"

namespace mainspring::sim {
namespace {

constexpr int64_t kGpusPerPod = 8;

model::PodShape shape_of(int64_t gpus) {
  model::PodShape shape;
  shape.request[model::Resource::kPods] = 1;
  shape.gpu.count = static_cast<uint32_t>(gpus);
  return shape;
}

config::ScenarioJob job_of(const PhillyJob& row, int64_t first_seconds,
                           const config::PhillyWorkload& workload) {
  config::ScenarioJob job{.name = row.cluster, .run = base::seconds(row.duration_seconds)};
  model::JobSpec& spec = job.spec;
  spec.id = fmt::format("{}-{:05}", row.cluster, row.row);
  if (workload.by_tenant) {
    spec.queue = row.cluster;
    spec.tenant = row.cluster;
  }
  spec.submitted_at = base::Instant{(row.arrived_seconds - first_seconds) * 1000};
  spec.checkpoint_interval = workload.checkpoint_interval;
  spec.restart_time = workload.restart_time;
  const int64_t pods = (row.gpus + kGpusPerPod - 1) / kGpusPerPod;
  const int64_t rest = row.gpus - (pods - 1) * kGpusPerPod;
  spec.shapes.push_back(shape_of(pods > 1 ? kGpusPerPod : rest));
  if (pods > 1 && rest < kGpusPerPod) spec.shapes.push_back(shape_of(rest));
  spec.groups.push_back({.name = "all", .min_count = static_cast<uint32_t>(pods)});
  for (int64_t pod = 0; pod < pods; ++pod) {
    const size_t shape = pod + 1 == pods ? spec.shapes.size() - 1 : 0;
    spec.pods.push_back(
        {.id = fmt::format("{}/{}", spec.id, pod), .shape = static_cast<uint32_t>(shape)});
  }
  return job;
}

// Of all jobs, also those that a shorter run leaves out: what a tenant owns does not depend on it.
TenantGpus owned_gpus(const std::vector<PhillyJob>& jobs, int64_t gpus) {
  __extension__ using Wide = __int128;
  std::map<std::string, int64_t> seconds;
  int64_t all = 0;
  for (const PhillyJob& job : jobs) {
    seconds[job.cluster] += job.gpus * job.duration_seconds;
    all += job.gpus * job.duration_seconds;
  }
  TenantGpus owned;
  for (const auto& [tenant, used] : seconds) {
    owned[tenant] = static_cast<int64_t>((static_cast<Wide>(used) * gpus + all - 1) / all);
  }
  return owned;
}

model::QueueSpec queue_of(const std::string& tenant, int64_t gpus) {
  model::QueueSpec queue{.name = tenant};
  queue.resources.push_back({.name = "gpu", .quota = gpus * 1000, .weight = gpus});
  return queue;
}

}  // namespace

int64_t gpus_of(const model::JobSpec& job) {
  int64_t gpus = 0;
  for (const model::PodSpec& pod : job.pods) gpus += job.shapes[pod.shape].gpu.count;
  return gpus;
}

PhillyInputs philly_inputs(const config::Scenario& scenario, uint64_t seed,
                           const std::vector<PhillyJob>& jobs) {
  MAINSPRING_CHECK(scenario.philly.has_value(), "the scenario is not about this trace");
  PhillyInputs inputs;
  inputs.simulation = {.config = scenario.config,
                       .nodes = scenario.nodes,
                       .queues = scenario.queues,
                       .faults = scenario.faults,
                       .chances = scenario.chances,
                       .pod_times = scenario.pod_times,
                       .length = scenario.length,
                       .seed = seed};
  const auto jobs_max = static_cast<size_t>(scenario.philly->jobs_max);
  const size_t count = jobs_max == 0 ? jobs.size() : std::min(jobs.size(), jobs_max);
  for (size_t i = 0; i < count; ++i) {
    inputs.simulation.jobs.push_back(
        job_of(jobs[i], jobs.front().arrived_seconds, *scenario.philly));
  }
  if (!scenario.philly->by_tenant || jobs.empty()) return inputs;
  int64_t gpus = 0;
  for (const model::NodeSpec& node : scenario.nodes) gpus += std::ssize(node.gpus);
  inputs.owned = owned_gpus(jobs, gpus);
  for (const auto& [tenant, owned] : inputs.owned) {
    inputs.simulation.queues.push_back(queue_of(tenant, owned));
  }
  return inputs;
}

base::Result<PhillyInputs> philly_inputs(const config::Scenario& scenario, uint64_t seed,
                                         const std::string& traces_folder) {
  std::string path = traces_folder + "/philly-sia/philly.csv";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored) && std::filesystem::exists(path + ".gz", ignored)) {
    path += ".gz";
  }
  auto reader = PhillyReader::open(path);
  if (!reader) return tl::unexpected(reader.error());
  RowTally tally;
  const auto jobs = read_philly(std::move(*reader), tally);
  if (!jobs) return tl::unexpected(jobs.error());
  PhillyInputs inputs = philly_inputs(scenario, seed, *jobs);
  inputs.tally = tally;
  return inputs;
}

SimulationInputs private_cluster(const SimulationInputs& inputs, const std::string& tenant,
                                 int64_t gpus) {
  SimulationInputs alone{.config = inputs.config,
                         .pod_times = inputs.pod_times,
                         .length = inputs.length,
                         .seed = inputs.seed};
  const model::NodeSpec& like = inputs.nodes.front();
  int64_t left = gpus;
  while (left > 0) {
    model::NodeSpec& node = alone.nodes.emplace_back(like);
    node.name = fmt::format("private-{}", alone.nodes.size());
    if (std::ssize(node.gpus) > left) node.gpus.resize(static_cast<size_t>(left));
    left -= std::ssize(node.gpus);
  }
  for (const config::ScenarioJob& job : inputs.jobs) {
    if (job.spec.queue != tenant || gpus_of(job.spec) > gpus) continue;
    alone.jobs.push_back(job);
    alone.jobs.back().spec.queue = "default";
  }
  return alone;
}

}  // namespace mainspring::sim
