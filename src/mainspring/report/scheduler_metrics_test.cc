// SPDX-License-Identifier: Apache-2.0
#include "mainspring/report/scheduler_metrics.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "mainspring/report/small_world_for_tests.h"

namespace mainspring::report {
namespace {

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(SchedulerMetrics, WhatIsNotMeasuredIsAbsentAndTheRestIsZero) {
  const SchedulerMetrics metrics("1.2.3");
  const std::string text = metrics.registry.render();
  EXPECT_EQ(text.find("scheduler_gpu_mem_used_avg"), std::string::npos);
  EXPECT_TRUE(has_line(text, "mainspring_build_info{version=\"1.2.3\"} 1"));
  EXPECT_TRUE(has_line(text, "mainspring_leader 0"));
  EXPECT_TRUE(has_line(text, "scheduler_scheduling_duration_seconds_count 0"));
  EXPECT_TRUE(has_line(text, "mainspring_config_reloads_total{result=\"failure\"} 0"));
}

TEST(SchedulerMetrics, TheStateInGauges) {
  SmallWorld world(8);
  world.queue("a", 4);
  world.queue("b", 4);
  world.queue("idle", 0);
  world.submit("runs", "a", "t", 3);
  world.cycle();
  world.start("runs");
  world.submit("large", "b", "t", 9);
  world.submit("other", "b", "t", 9);
  world.cycle();
  SchedulerMetrics metrics("x");
  metrics.observe(world.state, world.now, 7);
  const std::string text = metrics.registry.render();
  for (const char* line :
       {"scheduler_pending_pods{queue=\"active\"} 0", "scheduler_pending_pods{queue=\"backoff\"} 0",
        "scheduler_pending_pods{queue=\"unschedulable\"} 2",
        "scheduler_pending_pods{queue=\"gated\"} 7", "scheduler_fragmentation_score 1",
        "mainspring_queue_pending_jobs{queue=\"a\"} 0",
        "mainspring_queue_pending_jobs{queue=\"b\"} 2",
        "mainspring_queue_pending_pods{queue=\"b\"} 2",
        "mainspring_queue_pending_pods{queue=\"idle\"} 0",
        "mainspring_queue_running_jobs{queue=\"a\"} 1", "mainspring_nodes 1", "mainspring_gpus 8",
        "mainspring_gpus_free 5"}) {
    EXPECT_TRUE(has_line(text, line)) << line << "\n" << text;
  }
}

TEST(SchedulerMetrics, WhatIsPromisedWaitsActively) {
  Reclaimed world;
  SchedulerMetrics metrics("x");
  metrics.observe(world.state, world.now, 0);
  const std::string text = metrics.registry.render();
  EXPECT_TRUE(has_line(text, "scheduler_pending_pods{queue=\"active\"} 1")) << text;
}

TEST(SchedulerMetrics, FragmentsAreFreeGpusBesideOthers) {
  SmallWorld world(4);
  EXPECT_EQ(fragmentation_milli(world.state), 0);
  world.submit("three", "q", "t", 3);
  world.cycle();
  EXPECT_EQ(fragmentation_milli(world.state), 1000);
  model::NodeSpec other{.name = "o"};
  other.allocatable.amounts = {64'000, int64_t{1} << 40, int64_t{1} << 40, 100};
  for (int i = 0; i < 3; ++i) other.gpus.push_back({.id = "g" + std::to_string(i), .model = "M"});
  world.apply(model::NodeChanged{other});
  EXPECT_EQ(fragmentation_milli(world.state), 250);
  other.schedulable = false;
  world.apply(model::NodeChanged{other});
  EXPECT_EQ(fragmentation_milli(world.state), 1000);
}

TEST(SchedulerMetrics, TheReferencePageIsInStep) {
  constexpr const char* kPage = "docs/reference/metrics.md";
  constexpr std::string_view kBegin = "<!-- metrics: begin -->\n";
  constexpr std::string_view kEnd = "<!-- metrics: end -->\n";
  std::ifstream stream(kPage);
  std::string page{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  const size_t begin = page.find(kBegin);
  const size_t end = page.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const size_t first = begin + kBegin.size();
  const std::string table = "\n" + SchedulerMetrics("x").registry.describe() + "\n";
  if (page.substr(first, end - first) == table) return;
  page.replace(first, end - first, table);
  if (std::getenv("MAINSPRING_UPDATE_DOCS") == nullptr) {
    FAIL() << kPage << " is out of step; run this test with MAINSPRING_UPDATE_DOCS=1";
  }
  std::ofstream(kPage) << page;
}

}  // namespace
}  // namespace mainspring::report
