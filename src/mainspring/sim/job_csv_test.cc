// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/job_csv.h"

#include <gtest/gtest.h>

namespace mainspring::sim {
namespace {

struct ReadAll {
  std::vector<JobRow> jobs;
  RowTally tally;
};

ReadAll read_all(const std::string& text) {
  auto reader = JobCsvReader::open(LineReader::from_memory("jobs.csv", text));
  EXPECT_TRUE(reader) << reader.error().message;
  ReadAll all;
  while (true) {
    const auto job = reader->next();
    EXPECT_TRUE(job) << job.error().message;
    if (!job || !*job) break;
    all.jobs.push_back(**job);
  }
  all.tally = reader->tally();
  return all;
}

// The reason for which a single row is refused, with the required columns filled in.
std::string reason_of(const std::string& columns, const std::string& fields) {
  const ReadAll all =
      read_all("job_id,submit_seconds,duration_seconds" + columns + "\nj,0,60" + fields + "\n");
  EXPECT_EQ(all.jobs.size() + static_cast<size_t>(all.tally.skipped()), 1U);
  return all.tally.skipped() == 0 ? "used" : all.tally.skipped_by_reason().begin()->first;
}

TEST(JobCsv, ReadsAFullRowInAnyColumnOrder) {
  const ReadAll all = read_all(
      "priority,job_id,gpus_per_pod,gpu_models,submit_seconds,duration_seconds,pods,min_pods,"
      "cpu_milli,memory_bytes,queue\n-5,train,8,A100|H100,10,3600,4,2,64000,1099511627776,red\n");
  ASSERT_EQ(all.jobs.size(), 1U);
  const JobRow& job = all.jobs[0];
  EXPECT_EQ(job.job_id, "train");
  EXPECT_EQ(job.priority, -5);
  EXPECT_EQ(job.gpus_per_pod, 8);
  EXPECT_EQ(job.gpu_milli, 1000);
  EXPECT_EQ(job.gpu_models, (std::vector<std::string>{"A100", "H100"}));
  EXPECT_EQ(job.submit_seconds, 10);
  EXPECT_EQ(job.duration_seconds, 3600);
  EXPECT_EQ(job.pods, 4);
  EXPECT_EQ(job.min_pods, 2);
  EXPECT_EQ(job.cpu_milli, 64'000);
  EXPECT_EQ(job.memory_bytes, int64_t{1} << 40);
  EXPECT_EQ(job.queue, "red");
}

TEST(JobCsv, ReadsWhoSubmitsAndWhatAStopCosts) {
  const ReadAll all = read_all(
      "job_id,submit_seconds,duration_seconds,tenant,checkpoint_seconds,restart_seconds\n"
      "a,0,1,blue,900,600\nb,0,1,,,\n");
  ASSERT_EQ(all.jobs.size(), 2U) << all.tally.summary();
  EXPECT_EQ(all.jobs[0].tenant, "blue");
  EXPECT_EQ(all.jobs[0].checkpoint_seconds, 900);
  EXPECT_EQ(all.jobs[0].restart_seconds, 600);
  EXPECT_EQ(all.jobs[1].tenant, "");
  EXPECT_EQ(all.jobs[1].checkpoint_seconds, 0);
  EXPECT_EQ(all.jobs[1].restart_seconds, 0);
  EXPECT_EQ(reason_of(",checkpoint_seconds", ",-1"), "checkpoint_seconds negative");
}

TEST(JobCsv, FillsDefaults) {
  const ReadAll all = read_all(
      "job_id,submit_seconds,duration_seconds,pods,gpu_milli,gpu_memory_bytes\n"
      "plain,0,1,,,\nshare,0,1,3,250,\nmemory,0,1,,,1073741824\ncpu,0,1,,0,\n");
  ASSERT_EQ(all.jobs.size(), 4U) << all.tally.summary();
  EXPECT_EQ(all.jobs[0].pods, 1);
  EXPECT_EQ(all.jobs[0].gpus_per_pod, 0);
  EXPECT_EQ(all.jobs[1].min_pods, 3);
  EXPECT_EQ(all.jobs[1].gpus_per_pod, 1);
  EXPECT_EQ(all.jobs[1].gpu_milli, 250);
  EXPECT_EQ(all.jobs[2].gpus_per_pod, 1);
  EXPECT_EQ(all.jobs[2].gpu_memory_bytes, 1'073'741'824);
  EXPECT_EQ(all.jobs[3].gpus_per_pod, 0);
}

TEST(JobCsv, CountsUnusableRows) {
  EXPECT_EQ(reason_of(",pods", ",4"), "used");
  EXPECT_EQ(reason_of(",pods", ",0"), "pods zero");
  EXPECT_EQ(reason_of(",pods", ",-1"), "pods negative");
  EXPECT_EQ(reason_of(",pods", ",2.5"), "pods fractional");
  EXPECT_EQ(reason_of(",pods", ",1000001"), "pods absurdly large");
  EXPECT_EQ(reason_of(",pods,min_pods", ",2,3"), "min_pods out of range");
  EXPECT_EQ(reason_of(",pods,min_pods", ",2,0"), "min_pods out of range");
  EXPECT_EQ(reason_of(",cpu_milli", ",nan"), "cpu_milli NaN or infinite");
  EXPECT_EQ(reason_of(",memory_bytes", ",9007199254740993"), "memory_bytes over 2^53");
  EXPECT_EQ(reason_of(",gpu_milli,gpu_memory_bytes", ",500,1"), "two kinds of share");
  EXPECT_EQ(reason_of(",gpus_per_pod,gpu_milli", ",0,500"), "share of no GPU");
  EXPECT_EQ(reason_of(",gpu_models", ",A||B"), "gpu_models empty name");
  EXPECT_EQ(reason_of(",queue", ",a,b"), "wrong number of fields");

  const ReadAll all =
      read_all("job_id,submit_seconds,duration_seconds\na,0,1\na,1,1\n,2,1\nb,,1\nc,-1,1\nd,0,1\n");
  EXPECT_EQ(all.jobs.size(), 2U);
  EXPECT_EQ(all.tally.skipped(), 4);
  EXPECT_EQ(all.tally.examples()[2].place, "jobs.csv:5:3");
  EXPECT_EQ(all.tally.examples()[2].message,
            "submit_seconds is empty: \"\"; expected a whole number from 0 to 10000000000");
}

TEST(JobCsv, RefusesUnknownAndMissingColumns) {
  const auto unknown = JobCsvReader::open(
      LineReader::from_memory("j.csv", "job_id,submit_seconds,duration_seconds,gpus\n"));
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(unknown.error().message.starts_with(
      "j.csv:1:40: the column \"gpus\" is not known; expected one of: job_id, "))
      << unknown.error().message;
  const auto missing = JobCsvReader::open(LineReader::from_memory("j.csv", "job_id\n"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            "j.csv:1:1: the header lacks the column \"submit_seconds\", \"duration_seconds\"");
}

}  // namespace
}  // namespace mainspring::sim
