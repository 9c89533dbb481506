// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mainspring/base/check.h"
#include "mainspring/base/rng.h"
#include "mainspring/engine/cycle.h"

// For tests: random trees of queues over small clusters, with loads that compete; and what becomes
// of plans when everything that they ask for is done at once, while time stands still.

namespace mainspring::engine {

struct TreeCase {
  bool large = false;  // three or more levels, twenty or more queues, gangs and three resources
  size_t queues = 0;
  size_t levels = 0;
  size_t jobs = 0;
  size_t gangs = 0;
};

class RandomTree {
 public:
  explicit RandomTree(uint64_t seed) : rng_(seed) {
    facts_.large = seed % 2 == 0;
    model::CoreConfig config;
    config.topologies.push_back({.name = "fabric", .levels = {{"rack", "rack"}}});
    apply(model::ConfigChanged{config});
    add_nodes();
    add_queues();
  }

  [[nodiscard]] const TreeCase& facts() const { return facts_; }
  model::ClusterState& state() { return state_; }
  Engine& engine() { return engine_; }

  void submit(size_t count) {
    for (size_t i = 0; i < count; ++i) apply(model::JobChanged{draw_job()});
  }

  model::Plan cycle() { return engine_.run_cycle(state_, state_.now()); }

  // Time passes, so that later jobs are younger.
  void wait(base::Duration span) {
    now_ = now_ + span;
    apply(model::Tick{});
  }

  // Everything that the plan asks for happens.
  void carry_out(const model::Plan& plan) {
    for (const model::Decision& decision : plan.decisions) {
      if (const auto* bind = std::get_if<model::Bind>(&decision)) start(*bind);
      if (const auto* displace = std::get_if<model::Displace>(&decision)) {
        for (const model::Victim& victim : displace->victims) {
          for (const model::PodRelease& pod : victim.pods) gone_.push_back(pod);
        }
      }
    }
    // After everything that was decided, as evictions take longer than anything else.
    for (const model::PodRelease& pod : std::exchange(gone_, {})) {
      apply(model::PodGone{pod.pod, pod.incarnation, model::PodEnd::kLost});
    }
  }

  // A running job ends, or none does.
  void end_one() {
    std::vector<std::pair<std::string, uint32_t>> running;
    for (const model::Pod& pod : state_.pods()) {
      if (pod.alive && pod.phase == model::PodPhase::kRunning) {
        running.emplace_back(pod.id, pod.incarnation);
      }
    }
    if (running.empty()) return;
    const auto& [pod, incarnation] = running[rng_.below(running.size())];
    apply(model::PodGone{pod, incarnation, model::PodEnd::kSucceeded});
  }

 private:
  void apply(model::EventBody body) {
    const auto done = state_.apply({.sequence = ++sequence_, .at = now_, .body = std::move(body)});
    MAINSPRING_CHECK(done.has_value(), "a random tree was refused");
  }

  void start(const model::Bind& bind) {
    for (const model::PodBinding& pod : bind.pods) {
      apply(model::PodBound{pod.pod, pod.incarnation});
      apply(model::PodStarted{pod.pod, pod.incarnation});
    }
  }

  void add_nodes() {
    const size_t nodes = rng_.between(2, facts_.large ? 10 : 5);
    const int64_t gpus = rng_.chance(1, 2) ? 8 : 4;
    for (size_t i = 0; i < nodes; ++i) {
      model::NodeSpec node{.name = "node-" + std::to_string(i)};
      node.labels.push_back({"rack", "r" + std::to_string(i / 2)});
      node.allocatable.amounts = {gpus * 8000, gpus << 36, int64_t{1} << 40, 110};
      for (int64_t gpu = 0; gpu < gpus; ++gpu) {
        node.gpus.push_back({.id = "gpu-" + std::to_string(gpu), .model = "H100"});
      }
      apply(model::NodeChanged{node});
    }
    capacity_ = static_cast<int64_t>(nodes) * gpus;
  }

  // Large trees: two or three roots, below each some inner queues, below these leaves.
  void add_queues() {
    facts_.levels = facts_.large ? 3 : 1 + rng_.below(2);
    add_level("q", "", 1);
    facts_.queues = queues_;
  }

  void add_level(const std::string& prefix, const std::string& parent, size_t level) {
    const auto count = static_cast<size_t>(facts_.large ? 3 : rng_.between(2, 3));
    for (size_t i = 0; i < count; ++i) {
      const std::string name = prefix + std::to_string(i);
      apply(model::QueueChanged{draw_queue(name, parent, level)});
      ++queues_;
      if (level < facts_.levels) {
        add_level(name + "-", name, level + 1);
      } else {
        leaves_.push_back(name);
      }
    }
  }

  model::QueueSpec draw_queue(const std::string& name, const std::string& parent, size_t level) {
    model::QueueSpec queue{.name = name, .parent = parent};
    queue.priority = static_cast<int32_t>(rng_.below(2));
    const int64_t fair = capacity_ * 1000 / (level == 1 ? 3 : 9 * static_cast<int64_t>(level));
    model::QueueResource gpu{.name = "gpu", .quota = rng_.between(0, 2 * fair / 1000) * 1000};
    gpu.weight = rng_.between(1, 3);
    if (rng_.chance(1, 6)) gpu.limit = gpu.quota + 4000;
    queue.resources.push_back(gpu);
    if (!facts_.large) return queue;
    queue.resources.push_back(
        {.name = "cpu", .quota = rng_.between(0, 2 * fair) * 8, .weight = rng_.between(1, 3)});
    queue.resources.push_back({.name = "memory",
                               .quota = rng_.between(0, 2 * fair / 1000) << 36,
                               .weight = rng_.between(1, 3)});
    return queue;
  }

  model::JobSpec draw_job() {
    model::JobSpec job{.id = "job-" + std::to_string(facts_.jobs++), .submitted_at = now_};
    job.queue = leaves_[rng_.below(leaves_.size())];
    job.priority = static_cast<int32_t>(rng_.below(3));
    job.preemptible = !rng_.chance(1, 8);
    job.may_displace = !rng_.chance(1, 10);
    if (rng_.chance(1, 3)) job.checkpoint_interval = base::seconds(rng_.between(60, 600));
    const bool gang = rng_.chance(1, facts_.large ? 2 : 4);
    const auto pods = static_cast<uint32_t>(gang ? rng_.between(2, 5) : 1);
    facts_.gangs += gang ? 1 : 0;
    job.groups.push_back({.name = "all"});
    if (gang && rng_.chance(1, 3)) job.groups[0].min_count = pods - 1;
    if (gang && rng_.chance(1, 5)) job.groups[0].required_level = "rack";
    model::PodShape shape;
    shape.gpu.count = static_cast<uint32_t>(rng_.between(rng_.chance(1, 8) ? 0 : 1, 4));
    if (shape.gpu.count == 1 && rng_.chance(1, 4)) shape.gpu.milli = 500;
    const int64_t cores = rng_.between(1, 1 + 10 * int64_t{shape.gpu.count});
    shape.request.amounts = {cores * 1000, rng_.between(1, 60) << 30, 0, 1};
    job.shapes.push_back(shape);
    for (uint32_t i = 0; i < pods; ++i)
      job.pods.push_back({.id = job.id + "/" + std::to_string(i)});
    return job;
  }

  base::Rng rng_;
  TreeCase facts_;
  model::ClusterState state_;
  Engine engine_;
  base::Instant now_{1000};
  uint64_t sequence_ = 0;
  int64_t capacity_ = 0;
  size_t queues_ = 0;
  std::vector<std::string> leaves_;
  std::vector<model::PodRelease> gone_;
};

}  // namespace mainspring::engine
