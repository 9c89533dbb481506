// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "mainspring/sim/simulator.h"
#include "mainspring/sim/timed_policies.h"

// Small worlds for the baseline policies.

namespace mainspring::sim {

struct TestJob {
  std::string id;
  int64_t at_s = 0;
  int64_t run_s = 0;  // 0: for ever
  size_t pods = 1;
  uint32_t gpus = 1;
  std::string queue = "default";
  int32_t priority = 0;
  bool preemptible = true;
  bool may_displace = true;
};

// Nodes of equal size on which pods start at once.
class TimedWorld {
 public:
  TimedWorld(int nodes, int gpus_per_node, int64_t stop_ms = 0) {
    for (int i = 0; i < nodes; ++i) {
      model::NodeSpec& node = inputs_.nodes.emplace_back();
      node.name = "node-" + std::to_string(10'000 + i).substr(1);
      node.allocatable[model::Resource::kPods] = 110;
      for (int gpu = 0; gpu < gpus_per_node; ++gpu) {
        node.gpus.push_back({.id = "gpu-" + std::to_string(gpu), .model = "A"});
      }
    }
    const config::DurationRange none{{}, {}};
    const base::Duration stop = base::milliseconds(stop_ms);
    inputs_.pod_times = {.bind = none, .start = none, .stop = {stop, stop}};
  }

  void queue(const std::string& name, int64_t gpus) {
    model::QueueSpec& queue = inputs_.queues.emplace_back();
    queue.name = name;
    queue.resources.push_back({.name = "gpu", .quota = gpus * 1000});
  }

  void job(const TestJob& job) { job_at(job.at_s * 1000, job); }
  void job_at(int64_t at_ms, const TestJob& job) {
    config::ScenarioJob& made = inputs_.jobs.emplace_back();
    made.name = made.spec.id = job.id;
    if (job.run_s > 0) made.run = base::seconds(job.run_s);
    made.spec.submitted_at = base::Instant{at_ms};
    made.spec.queue = job.queue;
    made.spec.priority = job.priority;
    made.spec.preemptible = job.preemptible;
    made.spec.may_displace = job.may_displace;
    made.spec.groups.push_back({.name = "all"});
    model::PodShape& shape = made.spec.shapes.emplace_back();
    shape.request[model::Resource::kPods] = 1;
    shape.gpu.count = job.gpus;
    for (size_t i = 0; i < job.pods; ++i) {
      made.spec.pods.push_back({.id = job.id + "/" + std::to_string(i)});
    }
  }

  // The jobs in order of arrival, as they were added.
  void run(std::string_view policy, int64_t until_s, PeriodicCosts costs = kKaiCosts) {
    auto made = TimedPolicy::of_name(policy, costs);
    ASSERT_TRUE(made.has_value());
    auto baseline = std::make_shared<TimedPolicy>(std::move(*made));
    inputs_.length = base::seconds(until_s);
    const auto decide = [baseline](model::ClusterState& state, base::Instant now) {
      return baseline->decide(state, now);
    };
    auto simulator = Simulator::create(inputs_, decide, {.sweep_every = 4096});
    ASSERT_TRUE(simulator.has_value());
    simulator_ = std::move(*simulator);
    simulator_->run();
    for (const Rule rule : {Rule::kWorldOverCommitted, Rule::kStateDiffers, Rule::kDoesNotFit,
                            Rule::kWrongDevice, Rule::kBelowMinimum, Rule::kEventRefused}) {
      EXPECT_EQ(simulator_->checker().count(rule), 0) << to_string(rule);
    }
  }

  [[nodiscard]] const JobRecord& record(const std::string& id) const {
    for (const JobRecord& record : simulator_->jobs()) {
      if (record.id == id) return record;
    }
    ADD_FAILURE() << "there is no job " << id;
    return simulator_->jobs().front();
  }
  // In ms; -1: never.
  [[nodiscard]] int64_t start_ms(const std::string& id) const {
    const base::Instant at = record(id).started_at;
    return at == base::Instant::never() ? -1 : at.ms;
  }
  // Where its first pod ran first.
  [[nodiscard]] std::string node_of(const std::string& id) const {
    const auto& places = record(id).first_places;
    return places.empty() ? "" : places.front().second;
  }
  [[nodiscard]] std::vector<std::string> displaced_by(const std::string& id) const {
    return record(id).displaced_by;
  }

 private:
  SimulationInputs inputs_;
  std::unique_ptr<Simulator> simulator_;
};

}  // namespace mainspring::sim
