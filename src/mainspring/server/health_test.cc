// SPDX-License-Identifier: Apache-2.0
#include "mainspring/server/health.h"

#include <gtest/gtest.h>

namespace mainspring::server {
namespace {

using std::chrono::seconds;

TEST(Health, IsAliveWhileItsLoopGoesRound) {
  const auto start = Health::Clock::now();
  Health health(seconds(10), start);
  EXPECT_EQ(health.alive(start + seconds(10)).status, 200);
  const HttpAnswer still = health.alive(start + seconds(11));
  EXPECT_EQ(still.status, 503);
  EXPECT_EQ(still.body, "failed: loop: it has stood still for 11 s\n");
  health.beat(start + seconds(11));
  EXPECT_EQ(health.alive(start + seconds(21)).body, "ok\n");
}

TEST(Health, IsReadyWhenEveryCheckIsMet) {
  const auto now = Health::Clock::now();
  Health health(seconds(10), now);
  EXPECT_EQ(health.ready(now).status, 503);
  health.set_ready("watch", false, "pods are not listed yet");
  health.set_ready("config", true);
  EXPECT_EQ(health.ready(now).status, 503);
  EXPECT_EQ(health.ready(now).body, "ok: config\nfailed: watch: pods are not listed yet\n");
  health.set_ready("watch", true);
  EXPECT_EQ(health.ready(now).status, 200);
  EXPECT_EQ(health.ready(now).body, "ok: config\nok: watch\n");
  EXPECT_EQ(health.ready(now + seconds(11)).status, 503);
}

TEST(Health, ThePathsOfAScheduler) {
  const Health health;
  report::PublishedText metrics;
  HttpServer server;
  add_operations(server, health, metrics);
  ASSERT_TRUE(server.start("127.0.0.1:0").has_value());
}

TEST(Health, ProcessMetricsAreThere) {
  const std::string text = process_metrics();
  for (const char* name : {"\nprocess_cpu_seconds_total ", "\nprocess_resident_memory_bytes ",
                           "\nprocess_open_fds ", "\nprocess_start_time_seconds "}) {
    EXPECT_NE(text.find(name), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace mainspring::server
