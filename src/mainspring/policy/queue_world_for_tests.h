// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "mainspring/model/gang.h"
#include "mainspring/model/history_for_tests.h"
#include "mainspring/model/placer.h"
#include "mainspring/policy/queue_shares.h"

// For tests: a small cluster with queues, driven by hand, and a Placer that takes the first devices
// that are free.

namespace mainspring::policy {

class FirstFit : public model::Placer {
 public:
  model::Verdict place(model::Trial& trial, const model::PlaceRequest& request) override {
    const model::Trial::Mark mark = trial.mark();
    model::RandomHistory::place_first_fit(trial, request.job);
    const model::Job& job = trial.state().job(request.job);
    if (minimum_met(trial.state(), job, model::Counts::kHolding)) return {};
    trial.rollback(mark);
    return {.kind = model::VerdictKind::kNotNow, .code = model::ReasonCode::kNotEnoughFree};
  }
};

class QueueWorld : public testing::Test {
 protected:
  void apply(model::EventBody body) {
    const auto done = state_.apply({++sequence_, now_, std::move(body)});
    ASSERT_TRUE(done.has_value()) << done.error().message;
    state_.check();
  }
  model::NodeSpec node(const std::string& name, int gpus, const std::string& gpu_model = "A") {
    model::NodeSpec spec{.name = name};
    spec.allocatable.amounts = {64'000, 1 << 30, 1 << 30, 100};
    for (int i = 0; i < gpus; ++i) {
      spec.gpus.push_back({.id = "g" + std::to_string(i), .model = gpu_model});
    }
    return spec;
  }
  void add_node(const std::string& name, int gpus) { apply(model::NodeChanged{node(name, gpus)}); }
  static model::QueueSpec gpu_queue(const std::string& name, int64_t quota_gpus,
                                    const std::string& parent = "") {
    model::QueueSpec spec{.name = name, .parent = parent};
    spec.resources.push_back({.name = "gpu", .quota = quota_gpus * 1000});
    return spec;
  }
  void add_queue(const std::string& name, int64_t quota_gpus, const std::string& parent = "") {
    apply(model::QueueChanged{gpu_queue(name, quota_gpus, parent)});
  }
  static model::JobSpec job(const std::string& id, const std::string& queue, int pods,
                            uint32_t gpus, int32_t priority = 0) {
    model::JobSpec spec{.id = id, .queue = queue, .priority = priority};
    spec.groups.push_back({.name = "all"});
    model::PodShape& shape = spec.shapes.emplace_back();
    shape.request.amounts = {1000, 1000, 0, 1};
    shape.gpu.count = gpus;
    for (int i = 0; i < pods; ++i) spec.pods.push_back({.id = id + "-" + std::to_string(i)});
    return spec;
  }
  model::JobIx submit(const model::JobSpec& spec) {
    apply(model::JobChanged{spec});
    return state_.find_job(spec.id);
  }
  // Submits and brings up all that fits.
  model::JobIx run(const model::JobSpec& spec) {
    const model::JobIx index = submit(spec);
    bring_up(spec.id);
    return index;
  }
  void bring_up(const std::string& id) {
    const model::JobIx index = state_.find_job(id);
    {
      model::Trial trial(state_);
      model::RandomHistory::place_first_fit(trial, index);
      trial.commit();
    }
    for (const model::PodIx pod : state_.job(index).pods) {
      const model::Pod& row = state_.pod(pod);
      if (row.holds()) apply(model::PodStarted{row.id, row.incarnation});
    }
  }
  // The whole job stops for the other one, and is gone.
  void displace(model::JobIx victim, model::JobIx winner) {
    const std::vector<model::PodIx> pods = state_.job(victim).pods;
    state_.displace(victim, pods, true, winner);
    for (const model::PodIx pod : pods) {
      const model::Pod& row = state_.pod(pod);
      apply(model::PodGone{row.id, row.incarnation, model::PodEnd::kLost});
    }
  }
  void wait(int64_t seconds) {
    now_ = now_ + base::seconds(seconds);
    apply(model::Tick{});
  }
  const QueueShares& shares() {
    shares_.refresh(state_, now_);
    return shares_;
  }
  [[nodiscard]] model::QueueIx queue(const char* name) const { return state_.queues().find(name); }
  [[nodiscard]] const model::Job& row(const char* id) const {
    return state_.job(state_.find_job(id));
  }

  model::ClusterState state_;
  base::Instant now_{64'000};

 private:
  QueueShares shares_;
  uint64_t sequence_ = 0;
};

}  // namespace mainspring::policy
