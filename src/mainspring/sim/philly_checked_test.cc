// SPDX-License-Identifier: Apache-2.0
// Jobs of the public Philly trace with the checker beside every step.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "mainspring/sim/philly_inputs.h"
#include "mainspring/sim/policy_run.h"

namespace mainspring::sim {
namespace {

constexpr int64_t kJobs = 5000;

std::string traces_folder() {
  const char* told = std::getenv("MAINSPRING_TRACES");
  return told != nullptr ? told : "../shared/traces";
}

bool has_philly() {
  const std::filesystem::path folder = std::filesystem::path(traces_folder()) / "philly-sia";
  return std::filesystem::exists(folder / "philly.csv") ||
         std::filesystem::exists(folder / "philly.csv.gz");
}

void run_checked(const std::string& file, std::string_view policy) {
  auto scenario = config::read_scenario(file);
  ASSERT_TRUE(scenario.has_value()) << scenario.error().message;
  ASSERT_TRUE(scenario->philly.has_value());
  scenario->philly->jobs_max = kJobs;
  const auto inputs = philly_inputs(*scenario, scenario->seed, traces_folder());
  ASSERT_TRUE(inputs.has_value()) << inputs.error().message;
  ASSERT_EQ(std::ssize(inputs->simulation.jobs), kJobs);
  const auto run =
      run_policy(inputs->simulation, policy, {.check = true, .sweep_every = 512, .owners = {}});
  ASSERT_TRUE(run.has_value()) << run.error().message;
  EXPECT_EQ(run->violation_count, 0);
  for (const std::string& sentence : run->violations) ADD_FAILURE() << sentence;
  // Static partitions never start what is larger than its tenant's part.
  int64_t open = 0;
  for (const JobOutcome& job : run->jobs) open += job.started && !job.finished ? 1 : 0;
  EXPECT_EQ(open, 0);
}

// Of Mainspring every rule of the checker counts.
TEST(PhillyChecked, InOneQueueNothingIsViolated) {
  if (!has_philly()) GTEST_SKIP() << "skipped: there is no Philly trace";
  run_checked("scenarios/philly/52.yaml", "mainspring");
}

TEST(PhillyChecked, WithATenantForEachQueueNothingIsViolated) {
  if (!has_philly()) GTEST_SKIP() << "skipped: there is no Philly trace";
  run_checked("scenarios/philly/tenants.yaml", "mainspring");
}

TEST(PhillyChecked, WhatHoldsForEverySchedulerHoldsForTheBaselines) {
  if (!has_philly()) GTEST_SKIP() << "skipped: there is no Philly trace";
  for (const std::string_view policy : timed_policies()) {
    if (policy == "mainspring") continue;
    SCOPED_TRACE(policy);
    run_checked("scenarios/philly/tenants.yaml", policy);
  }
}

}  // namespace
}  // namespace mainspring::sim
