// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "mainspring/engine/cycle.h"
#include "mainspring/model/cluster_state.h"
#include "mainspring/report/audit.h"
#include "mainspring/report/fairness.h"

// For tests: one node, a few queues, the real engine, and reports that look on.

namespace mainspring::report {

class SmallWorld {
 public:
  explicit SmallWorld(int gpus) {
    model::NodeSpec node{.name = "n"};
    node.allocatable.amounts = {64'000, int64_t{1} << 40, int64_t{1} << 40, 100};
    for (int i = 0; i < gpus; ++i) {
      node.gpus.push_back({.id = "gpu" + std::to_string(i), .model = "M", .memory_bytes = 1 << 30});
    }
    apply(model::NodeChanged{node});
  }

  void queue(const std::string& name, int64_t gpus, const std::string& parent = "",
             std::vector<std::string> tenants = {}) {
    model::QueueSpec spec{.name = name, .parent = parent, .tenants = std::move(tenants)};
    spec.resources.push_back({.name = "gpu", .quota = gpus < 0 ? gpus : gpus * 1000});
    apply(model::QueueChanged{spec});
  }

  // One pod "ID-0", submitted now.
  void submit(const std::string& id, const std::string& queue, const std::string& tenant,
              uint32_t gpus, int32_t priority = 0) {
    model::JobSpec job{.id = id, .queue = queue, .tenant = tenant, .priority = priority};
    job.submitted_at = now;
    job.groups.push_back({.name = "root"});
    model::PodShape shape;
    shape.request.amounts = {1000, 1 << 20, 0, 1};
    shape.gpu.count = gpus;
    job.shapes.push_back(shape);
    job.pods.push_back({.id = id + "-0"});
    apply(model::JobChanged{job});
  }
  void start(const std::string& job) {
    apply(model::PodBound{job + "-0", life(job)});
    apply(model::PodStarted{job + "-0", life(job)});
  }
  void end(const std::string& job, model::PodEnd how = model::PodEnd::kSucceeded) {
    apply(model::PodGone{job + "-0", life(job), how});
  }
  void at_second(int64_t second) { now = base::Instant{} + base::seconds(second); }
  model::Plan cycle() {
    model::Plan plan = engine.run_cycle(state, now);
    audit.observe(plan, state, now);
    fairness.observe(state, engine.shares(), now);
    return plan;
  }
  void apply(model::EventBody body) {
    model::Event event;
    event.sequence = ++sequence;
    event.at = now;
    event.body = std::move(body);
    ASSERT_TRUE(state.apply(event).has_value());
    audit.observe(event, state);
    fairness.observe(event, state);
  }
  [[nodiscard]] const FairnessReport fair() const { return fairness.report(state, now); }
  [[nodiscard]] static const FairnessRow& row(const std::vector<FairnessRow>& rows,
                                              const std::string& name) {
    const auto found = std::ranges::find(rows, name, &FairnessRow::name);
    EXPECT_NE(found, rows.end()) << name;
    return *found;
  }

  base::Instant now;
  uint64_t sequence = 0;
  model::ClusterState state;
  engine::Engine engine;
  Audit audit;
  Fairness fairness;

 private:
  [[nodiscard]] uint32_t life(const std::string& job) const {
    return state.pod(state.find_pod(job + "-0")).incarnation;
  }
};

// A guest has all four GPUs of an owner, who asks for them after ten minutes.
class Reclaimed : public SmallWorld {
 public:
  Reclaimed() : SmallWorld(4) {
    queue("guests", 0);
    queue("owners", 4, "", {"olga"});
    submit("guest", "guests", "gus", 4);
    cycle();
    start("guest");
    cycle();
    at_second(600);
    submit("claim", "owners", "olga", 4);
    cycle();
  }
};

}  // namespace mainspring::report
