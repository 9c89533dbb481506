// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/openb_trace.h"

#include <gtest/gtest.h>

namespace mainspring::sim {
namespace {

constexpr std::string_view kPodHeader =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\n";

OpenbPodList pods_of(const std::string& rows) {
  const std::string text = std::string(kPodHeader) + rows;
  auto list = read_openb_pods(LineReader::from_memory("pods.csv", text));
  EXPECT_TRUE(list) << list.error().message;
  return *list;
}

TEST(OpenbTrace, ReadsNodes) {
  const auto list = read_openb_nodes(LineReader::from_memory(
      "nodes.csv",
      "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,P100\nn1,32000,1024,0,\n"));
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->rows.size(), 2U);
  EXPECT_EQ(list->rows[0].name, "n0");
  EXPECT_EQ(list->rows[0].cpu_milli, 64'000);
  EXPECT_EQ(list->rows[0].gpu_model, "P100");
  EXPECT_EQ(list->rows[1].gpu_count, 0);
  EXPECT_EQ(list->rows[1].row, 1U);
  EXPECT_EQ(list->tally.summary(), "");
}

TEST(OpenbTrace, ReadsPodsWithAndWithoutTheOptionalColumns) {
  const OpenbPodList list = pods_of(
      "p0,12000,16384,1,460,G2|T4,LS,Running,0,12537496.0,\np1,100,200,0,0,,BE,Failed,,,\n");
  ASSERT_EQ(list.rows.size(), 2U);
  EXPECT_EQ(list.rows[0].gpu_milli, 460);
  EXPECT_EQ(list.rows[0].gpu_spec, "G2|T4");
  EXPECT_EQ(list.rows[0].created_seconds, 0);
  EXPECT_EQ(list.rows[0].deleted_seconds, 12'537'496);
  EXPECT_FALSE(list.rows[0].scheduled_seconds);
  EXPECT_EQ(list.rows[1].gpu_milli_total(), 0);

  const auto narrow = read_openb_pods(LineReader::from_memory(
      "pods.csv", "gpu_milli,num_gpu,name,memory_mib,cpu_milli\n1000,8,p,1,2\n"));
  ASSERT_TRUE(narrow);
  EXPECT_EQ(narrow->rows.at(0).gpu_milli_total(), 8000);
  EXPECT_EQ(narrow->rows.at(0).cpu_milli, 2);
}

TEST(OpenbTrace, CountsEveryUnusableRowWithItsReasonAndPlace) {
  const OpenbPodList list = pods_of(
      "ok,1,1,1,500,,,,,,\n"
      "negative,-1,1,1,500,,,,,,\n"
      "fraction,1.5,1,1,500,,,,,,\n"
      "nan,1,NaN,1,500,,,,,,\n"
      "large,9007199254740993,1,1,500,,,,,,\n"
      "absurd,1,1,65,1000,,,,,,\n"
      "over,1,1,1,1001,,,,,,\n"
      "share,1,1,2,500,,,,,,\n"
      "none,1,1,0,500,,,,,,\n"
      "zero,1,1,1,0,,,,,,\n"
      "ok,1,1,1,500,,,,,,\n"
      ",1,1,1,500,,,,,,\n"
      "short,1,1\n"
      "time,1,1,1,500,,,,-5,,\n"
      "last,1,1,1,500,,,,,,\n");
  ASSERT_EQ(list.rows.size(), 2U);
  EXPECT_EQ(list.rows[1].name, "last");
  EXPECT_EQ(list.rows[1].row, 14U);
  EXPECT_EQ(list.tally.used(), 2);
  EXPECT_EQ(list.tally.skipped(), 13);
  const std::map<std::string, int64_t> expected = {
      {"cpu_milli negative", 1},
      {"cpu_milli fractional", 1},
      {"memory_mib NaN or infinite", 1},
      {"cpu_milli over 2^53", 1},
      {"num_gpu absurdly large", 1},
      {"gpu_milli absurdly large", 1},
      {"share of several GPUs", 1},
      {"gpu_milli and num_gpu disagree", 2},
      {"name repeated", 1},
      {"name empty", 1},
      {"wrong number of fields", 1},
      {"creation_time negative", 1},
  };
  EXPECT_EQ(list.tally.skipped_by_reason(), expected);
  EXPECT_EQ(list.tally.examples().front().place, "pods.csv:3:10");
  EXPECT_EQ(list.tally.examples().size(), RowTally::kExamplesMax);
  EXPECT_TRUE(list.tally.summary().starts_with("13 of 15 rows skipped: ")) << list.tally.summary();
}

TEST(OpenbTrace, RefusesFilesWithoutTheColumns) {
  EXPECT_EQ(read_openb_pods(LineReader::from_memory("p.csv", "name,cpu_milli\n")).error().message,
            "p.csv:1:1: the header lacks the column \"memory_mib\", \"num_gpu\", \"gpu_milli\"");
  EXPECT_FALSE(read_openb_nodes(LineReader::from_memory("n.csv", "")));
  EXPECT_FALSE(read_openb_nodes("no/such/file.csv"));
}

TEST(OpenbTrace, RefusesNodesWithGpusOfNoModel) {
  const auto list = read_openb_nodes(
      LineReader::from_memory("n.csv", "sn,cpu_milli,memory_mib,gpu,model\na,1,1,1,\n"));
  ASSERT_TRUE(list);
  EXPECT_EQ(list->tally.skipped_by_reason().at("model empty"), 1);
}

}  // namespace
}  // namespace mainspring::sim
