// SPDX-License-Identifier: Apache-2.0
#include "mainspring/policy/lost_work.h"

#include "mainspring/policy/queue_world_for_tests.h"

namespace mainspring::policy {
namespace {

class LostWorkTest : public QueueWorld {
 protected:
  LostWorkTest() { add_node("n", 4); }
  [[nodiscard]] int64_t age() const { return checkpoint_age(row("j"), now_).ms; }
  [[nodiscard]] int64_t lost(int64_t gpu_milli) const {
    return lost_gpu_ms(row("j"), gpu_milli, now_);
  }
};

TEST_F(LostWorkTest, WithoutCheckpointsAllIsLost) {
  submit(job("j", "default", 2, 1));
  EXPECT_EQ(age(), 0) << "it does not run";
  bring_up("j");
  EXPECT_EQ(lost(2000), 0);
  wait(1000);
  EXPECT_EQ(age(), 1'000'000);
  EXPECT_EQ(lost(2000), 2'000'000) << "two devices for 1000 s";
  EXPECT_EQ(lost(500), 500'000) << "half a device";
}

TEST_F(LostWorkTest, WithAnIntervalWhatCameSinceTheLastOne) {
  model::JobSpec spec = job("j", "default", 2, 1);
  spec.checkpoint_interval = base::seconds(300);
  run(spec);
  wait(299);
  EXPECT_EQ(lost(1000), 299'000);
  wait(1);
  EXPECT_EQ(lost(1000), 0);
  wait(700);
  EXPECT_EQ(lost(1000), 100'000) << "the last one was after 900 s";
}

TEST_F(LostWorkTest, ARestartIsLostBesides) {
  model::JobSpec spec = job("j", "default", 2, 1);
  spec.restart_time = base::seconds(600);
  run(spec);
  wait(50);
  EXPECT_EQ(age(), 50'000);
  EXPECT_EQ(lost(2000), 2 * 650'000);
  spec.checkpoint_interval = base::seconds(20);
  submit(spec);
  EXPECT_EQ(lost(2000), 2 * 610'000);
}

TEST_F(LostWorkTest, WhatAJobToldCountsIfItIsLater) {
  model::JobSpec spec = job("j", "default", 1, 1);
  spec.checkpoint_interval = base::seconds(100);
  run(spec);
  wait(130);
  apply(model::JobCheckpointed{"j"});
  wait(20);
  EXPECT_EQ(lost(1000), 20'000) << "told at 130 s, and not the 100 s of the interval";
  wait(60);
  EXPECT_EQ(lost(1000), 10'000) << "at 200 s by the interval";
}

TEST_F(LostWorkTest, TheTimeCountsFromWhenTheMinimumRuns) {
  model::JobSpec spec = job("j", "default", 2, 1);
  submit(spec);
  {
    model::Trial trial(state_);
    model::RandomHistory::place_first_fit(trial, state_.find_job("j"));
    trial.commit();
  }
  apply(model::PodStarted{"j-0", 0});
  wait(100);
  EXPECT_EQ(age(), 0) << "its other pod is not up";
  apply(model::PodStarted{"j-1", 0});
  wait(7);
  EXPECT_EQ(age(), 7'000);
}

TEST_F(LostWorkTest, WhatPodsWeigh) {
  const model::JobIx pair = run(job("j", "default", 2, 1));
  EXPECT_EQ(gpu_milli_of(state_, state_.job(pair).pods), 2000);
  EXPECT_EQ(weight_of(state_, state_.job(pair).pods), 2000);
  model::JobSpec shared = job("s", "default", 1, 1);
  shared.shapes[0].gpu.milli = 300;
  EXPECT_EQ(weight_of(state_, state_.job(run(shared)).pods), 300);
  model::JobSpec cpu = job("c", "default", 2, 0);
  cpu.shapes[0].request[model::Resource::kCpuMilli] = 8000;
  const model::JobIx cpus = run(cpu);
  EXPECT_EQ(gpu_milli_of(state_, state_.job(cpus).pods), 0);
  EXPECT_EQ(weight_of(state_, state_.job(cpus).pods), 1000) << "sixteen cores are a device";
  EXPECT_EQ(weight_of(state_, state_.job(submit(job("w", "default", 1, 1))).pods), 0);
}

TEST_F(LostWorkTest, VastAmountsAreBounded) {
  run(job("j", "default", 1, 1));
  now_ = base::Instant{int64_t{1} << 52};
  apply(model::Tick{});
  EXPECT_EQ(lost(int64_t{1} << 53), model::kTotalMax);
}

}  // namespace
}  // namespace mainspring::policy
