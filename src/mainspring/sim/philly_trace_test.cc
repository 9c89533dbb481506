// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/philly_trace.h"

#include <gtest/gtest.h>

namespace mainspring::sim {
namespace {

std::vector<PhillyJob> read(std::string_view text, RowTally& tally) {
  auto reader = PhillyReader::open(LineReader::from_memory("philly.csv", text));
  EXPECT_TRUE(reader.has_value());
  auto jobs = read_philly(std::move(*reader), tally);
  EXPECT_TRUE(jobs.has_value());
  return *jobs;
}

TEST(PhillyTrace, ReadsJobsByArrival) {
  RowTally tally;
  const auto jobs = read(
      "timestamp,duration,num_gpus,gpu_time,cluster\n"
      "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
      "1970-01-02 00:00:01,10.0,12,120.0,other\n",
      tally);
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].row, 2);
  EXPECT_EQ(jobs[0].arrived_seconds, 86'401);
  EXPECT_EQ(jobs[0].gpus, 12);
  EXPECT_EQ(jobs[1].arrived_seconds, 1'507'532'515);
  EXPECT_EQ(jobs[1].duration_seconds, 66);
  EXPECT_EQ(jobs[1].cluster, "11cb48");
  EXPECT_EQ(tally.skipped(), 0);
}

TEST(PhillyTrace, PassesOverWhatIsNoJobAndSaysSo) {
  RowTally tally;
  const auto jobs = read(
      "timestamp,duration,num_gpus,cluster\n"
      "2017-02-29 07:01:55,66,1,a\n"
      "2017-02-28 24:01:55,66,1,a\n"
      "2017-02-28 7:01:55,66,1,a\n"
      "2017-02-28 07:01:55,-1,1,a\n"
      "2017-02-28 07:01:55,0,1,a\n"
      "2017-02-28 07:01:55,1.5,1,a\n"
      "2017-02-28 07:01:55,66,nan,a\n"
      "2017-02-28 07:01:55,66,1\n"
      "2017-02-28 07:01:55,66,1,\n"
      "2017-02-28 07:01:55,66,8,a\n",
      tally);
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].row, 10);
  EXPECT_EQ(tally.used(), 1);
  EXPECT_EQ(tally.skipped(), 9);
  EXPECT_EQ(tally.skipped_by_reason().at("timestamp not a time"), 3);
  EXPECT_EQ(tally.skipped_by_reason().at("duration zero"), 1);
  EXPECT_EQ(tally.skipped_by_reason().at("cluster empty"), 1);
  EXPECT_EQ(tally.examples().front().place, "philly.csv:2:1");
}

TEST(PhillyTrace, NamesMissingColumns) {
  const auto reader =
      PhillyReader::open(LineReader::from_memory("philly.csv", "timestamp,cluster\n"));
  ASSERT_FALSE(reader.has_value());
  EXPECT_NE(reader.error().message.find("num_gpus"), std::string::npos);
}

}  // namespace
}  // namespace mainspring::sim
