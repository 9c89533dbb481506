// SPDX-License-Identifier: Apache-2.0
// A process that starts from a snapshot decides as the one that took it.
#include <gtest/gtest.h>

#include "mainspring/base/rng.h"
#include "mainspring/engine/cycle.h"
#include "mainspring/model/snapshot.h"

namespace mainspring::engine {
namespace {

using base::Instant;
using model::ClusterState;

std::string text_of(const model::PodBinding& pod) {
  std::string text = " " + pod.pod + "#" + std::to_string(pod.incarnation) + "@" + pod.node;
  for (const std::string& gpu : pod.gpus) text += "," + gpu;
  return text;
}

std::string text_of(const model::Bind& bind) {
  std::string text = "bind " + bind.job;
  for (const model::PodBinding& pod : bind.pods) text += text_of(pod);
  return text;
}
std::string text_of(const model::Release& release) {
  return "release " + release.job + " until " + std::to_string(release.retry_at.ms);
}
std::string text_of(const model::Displace& displace) {
  std::string text = "displace for " + displace.job + " by " +
                     std::string(to_string(displace.rule)) + " until " +
                     std::to_string(displace.until.ms);
  for (const model::Victim& victim : displace.victims) {
    text += " [" + victim.job + " " + std::to_string(victim.lost_gpu_ms);
    for (const model::PodRelease& pod : victim.pods) text += " " + pod.pod;
    text += "]";
  }
  for (const model::PodBinding& pod : displace.promised) text += text_of(pod);
  return text;
}
std::string text_of(const model::PromiseEnded& ended) {
  return "promise of " + ended.job + " ended " + std::string(to_string(ended.why));
}

std::string text_of(const model::Plan& plan) {
  std::string text;
  for (const model::Decision& decision : plan.decisions) {
    text += std::visit([](const auto& one) { return text_of(one); }, decision) + "\n";
  }
  return text + "wake " + std::to_string(plan.next_wake.ms);
}

// A queue of a small tree: two roots, and leaves below them.
model::QueueSpec draw_queue(base::Rng& rng) {
  model::QueueSpec queue{.name = "q" + std::to_string(rng.below(6))};
  const int number = queue.name[1] - '0';
  if (number > 1) queue.parent = number % 2 == 0 ? "q0" : "q1";
  queue.priority = static_cast<int32_t>(rng.below(2));
  model::QueueResource& gpu = queue.resources.emplace_back();
  gpu.name = "gpu";
  gpu.quota = static_cast<int64_t>(rng.below(12)) * 1000;
  if (rng.chance(1, 3)) gpu.limit = gpu.quota + 8000;
  gpu.weight = rng.between(1, 3);
  if (rng.chance(1, 3)) queue.displace_after = base::seconds(rng.between(1, 20));
  if (rng.chance(1, 3)) queue.min_run_before_reclaim = base::seconds(rng.between(1, 20));
  return queue;
}

model::NodeSpec draw_node(base::Rng& rng) {
  model::NodeSpec node{.name = "node-" + std::to_string(rng.below(12))};
  node.labels.push_back({"example.com/rack", "r" + std::to_string(rng.below(4))});
  node.allocatable.amounts = {rng.between(8, 64) * 1000, int64_t{1} << 38, int64_t{1} << 40, 50};
  node.ready = !rng.chance(1, 10);
  const uint64_t gpus = rng.below(9);
  for (uint64_t gpu = 0; gpu < gpus; ++gpu) {
    node.gpus.push_back({.id = "gpu-" + std::to_string(gpu),
                         .model = rng.chance(1, 3) ? "small" : "large",
                         .memory_bytes = int64_t{40} << 30});
  }
  return node;
}

model::JobSpec draw_job(base::Rng& rng, int number, Instant at) {
  model::JobSpec job{.id = "job-" + std::to_string(number), .submitted_at = at};
  job.priority = static_cast<int32_t>(rng.below(3));
  if (rng.chance(4, 5)) job.queue = "q" + std::to_string(rng.below(6));
  job.preemptible = !rng.chance(1, 6);
  job.may_displace = !rng.chance(1, 6);
  job.groups.push_back({.name = "all"});
  if (rng.chance(1, 2)) job.groups[0].required_level = "rack";
  model::PodShape shape;
  shape.request.amounts = {rng.between(1, 16) * 500, int64_t{1} << 30, 0, 1};
  shape.gpu.count = static_cast<uint32_t>(rng.below(4));
  if (shape.gpu.count == 1 && rng.chance(1, 2))
    shape.gpu.milli = static_cast<int32_t>(rng.between(1, 1000));
  job.shapes.push_back(shape);
  const int64_t pods = rng.between(1, 4);
  for (int64_t pod = 0; pod < pods; ++pod) {
    job.pods.push_back({.id = job.id + "/" + std::to_string(pod)});
  }
  if (pods > 2) job.groups[0].min_count = 2;
  return job;
}

// What the outside reports next, drawn by id so that it suits equal states whatever their slots.
model::EventBody draw_event(base::Rng& rng, const ClusterState& state, int step, Instant at) {
  const uint64_t kind = rng.below(12);
  if (kind == 10) {
    if (rng.chance(1, 8)) return model::QueueGone{"q" + std::to_string(rng.below(6))};
    return model::QueueChanged{draw_queue(rng)};
  }
  if (kind == 11) {
    return model::JobCheckpointed{"job-" +
                                  std::to_string(rng.below(static_cast<uint64_t>(step) + 1))};
  }
  if (kind < 2) return model::NodeChanged{draw_node(rng)};
  if (kind < 6) return model::JobChanged{draw_job(rng, step, at)};
  const std::string pod = "job-" + std::to_string(rng.below(static_cast<uint64_t>(step) + 1)) +
                          "/" + std::to_string(rng.below(4));
  const model::PodIx index = state.find_pod(pod);
  const uint32_t incarnation = index.valid() ? state.pod(index).incarnation : 0;
  if (kind < 8) return model::PodStarted{pod, incarnation};
  if (kind < 9) return model::PodGone{pod, incarnation, model::PodEnd::kLost};
  return model::PodGone{pod, incarnation, model::PodEnd::kSucceeded};
}

TEST(RestoreTest, ARestoredProcessDecidesAsTheOldOne) {
  int64_t decisions = 0;
  int64_t displacements = 0;
  int64_t ended = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    base::Rng rng(seed);
    ClusterState old_state;
    Engine old_engine;
    ASSERT_TRUE(
        old_state.apply({.body = model::ConfigChanged{[] {
                           model::CoreConfig config;
                           config.topologies.push_back(
                               {.name = "fabric", .levels = {{"rack", "example.com/rack"}}});
                           config.promise_timeout = base::seconds(30);
                           config.usage_half_life = base::seconds(600);
                           return config;
                         }()}}));
    auto state = std::make_unique<ClusterState>();
    auto engine = std::make_unique<Engine>();
    uint64_t sequence = 1;
    for (int step = 0; step < 80; ++step) {
      if (step % 20 == 0) {
        state = std::make_unique<ClusterState>();
        engine = std::make_unique<Engine>();
        for (const model::Event& event : take_snapshot(old_state)) {
          ASSERT_TRUE(state->apply(event));
        }
        ASSERT_EQ(state->hash(), old_state.hash()) << "seed " << seed << " step " << step;
      }
      const Instant at{step * 4000};
      model::Event event{++sequence, at, draw_event(rng, old_state, step, at)};
      const bool about_queues = std::holds_alternative<model::QueueChanged>(event.body) ||
                                std::holds_alternative<model::QueueGone>(event.body);
      // Half of the histories have no tree.
      if (about_queues && seed % 2 == 0) event.body = model::Tick{};
      ASSERT_EQ(old_state.apply(event).has_value(), state->apply(event).has_value());
      const model::Plan plan = old_engine.run_cycle(old_state, at);
      ASSERT_EQ(text_of(plan), text_of(engine->run_cycle(*state, at)))
          << "seed " << seed << " step " << step;
      ASSERT_EQ(state->hash(), old_state.hash()) << "seed " << seed << " step " << step;
      decisions += static_cast<int64_t>(plan.decisions.size());
      for (const model::Decision& decision : plan.decisions) {
        displacements += std::holds_alternative<model::Displace>(decision) ? 1 : 0;
        ended += std::holds_alternative<model::PromiseEnded>(decision) ? 1 : 0;
      }
    }
    old_state.check();
  }
  EXPECT_GT(decisions, 1000);
  EXPECT_GT(displacements, 100);
  EXPECT_GT(ended, 20);
}

}  // namespace
}  // namespace mainspring::engine
