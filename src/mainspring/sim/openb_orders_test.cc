// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/openb_orders.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace mainspring::sim {
namespace {

OpenbNodeList two_nodes() {
  return *read_openb_nodes(LineReader::from_memory(
      "n.csv", "sn,cpu_milli,memory_mib,gpu,model\nn0,1000,10,4,A\nn1,1000,10,4,B\n"));
}

// The row in the middle cannot be used.
OpenbPodList three_pods() {
  return *read_openb_pods(LineReader::from_memory(
      "p.csv",
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np0,1,1,1,500\nx,-1,1,0,0\np2,1,1,2,1000\n"));
}

std::string error_of(std::string_view text) {
  const auto orders =
      read_openb_orders(LineReader::from_memory("o.txt", text), two_nodes(), three_pods());
  return orders ? "no error" : orders.error().message;
}

TEST(OpenbOrders, NamesPositionsAndLeavesSkippedRowsOut) {
  const auto orders = read_openb_orders(
      LineReader::from_memory("o.txt",
                              "seed 42\nnodes 1 0\npods 2 1 0 2\nseed 43\nnodes 0 1\npods\n"),
      two_nodes(), three_pods());
  ASSERT_TRUE(orders) << orders.error().message;
  ASSERT_EQ(orders->size(), 2U);
  EXPECT_EQ(orders->at(0).seed, 42U);
  EXPECT_EQ(orders->at(0).nodes, (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(orders->at(0).pods, (std::vector<uint32_t>{1, 0, 1}));
  EXPECT_TRUE(orders->at(1).pods.empty());
}

TEST(OpenbOrders, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(error_of(""), "no error");
  EXPECT_EQ(error_of("sead 1\n"), "o.txt:1:1: expected a line that starts with \"seed\"");
  EXPECT_EQ(error_of("seed -1\n"), "o.txt:1:6: expected a seed");
  EXPECT_EQ(error_of("seed 1 2\n"), "o.txt:1:7: expected the end of the line after the seed");
  EXPECT_EQ(error_of("seed 1\n"),
            "o.txt:2:1: the file ends, expected a line that starts with \"nodes\"");
  EXPECT_EQ(error_of("seed 1\nnodes 0 2\n"),
            "o.txt:2:9: expected a row number below 2 of the list");
  EXPECT_EQ(error_of("seed 1\nnodes 0 0\n"), "o.txt:2:1: expected every node once, found 1 of 2");
  EXPECT_EQ(error_of("seed 1\nnodes 0\n"), "o.txt:2:1: expected every node once, found 1 of 2");
  EXPECT_EQ(error_of("seed 1\nnodes 0  1\n"),
            "o.txt:2:9: expected a row number below 2 of the list");
  EXPECT_EQ(error_of("seed 1\nnodes 0,1\n"), "o.txt:2:8: expected one blank before a number");
  EXPECT_EQ(error_of("seed 1\nnodes 0 1\npods 3\n"),
            "o.txt:3:6: expected a row number below 3 of the list");
}

int64_t asked_milli(const std::vector<OpenbPod>& pods, const OpenbOrder& order) {
  int64_t sum = 0;
  for (const uint32_t pod : order.pods) sum += pods[pod].gpu_milli_total();
  return sum;
}

TEST(OpenbOrders, GeneratedListsGrowToTheTarget) {
  const auto nodes = two_nodes().rows;  // 8000 milli-GPU
  const auto pods = three_pods().rows;
  base::Rng rng(7);
  const OpenbOrder order = generate_openb_order(nodes, pods, 1300, 7, rng);
  EXPECT_EQ(order.nodes.size(), 2U);
  // Every pod of the list comes first, once.
  EXPECT_EQ(std::set<uint32_t>(order.pods.begin(), order.pods.begin() + 2).size(), 2U);
  // The next draw did not fit; it counts with its share of one GPU, so the sum may pass by one pod.
  EXPECT_GT(asked_milli(pods, order), 10'400 - 1000);
  EXPECT_LE(asked_milli(pods, order), 10'400 + 1000);

  base::Rng again(7);
  EXPECT_EQ(generate_openb_order(nodes, pods, 1300, 7, again).pods, order.pods);
  base::Rng other(8);
  EXPECT_NE(generate_openb_order(nodes, pods, 1300, 8, other).pods, order.pods);
}

TEST(OpenbOrders, GeneratedListsAboveTheTargetAreThinned) {
  const auto nodes = two_nodes().rows;
  std::vector<OpenbPod> pods;
  pods.reserve(40);
  for (uint32_t row = 0; row < 40; ++row) {
    pods.push_back({.row = row, .name = std::to_string(row), .gpu_count = 1, .gpu_milli = 1000});
  }
  base::Rng rng(1);
  const OpenbOrder order = generate_openb_order(nodes, pods, 1300, 1, rng);
  EXPECT_EQ(asked_milli(pods, order), 10'000);
  EXPECT_EQ(std::set<uint32_t>(order.pods.begin(), order.pods.end()).size(), order.pods.size());
}

TEST(OpenbOrders, ListsWithoutGpuPodsDoNotGrow) {
  const std::vector<OpenbPod> pods = {{.row = 0, .name = "cpu", .cpu_milli = 1}};
  base::Rng rng(1);
  EXPECT_EQ(generate_openb_order(two_nodes().rows, pods, 1300, 1, rng).pods.size(), 1U);
}

TEST(OpenbOrders, DistinctPodsAreAllDifferent) {
  base::Rng rng(3);
  const auto pods = generate_distinct_pods(three_pods().rows, 3000, rng);
  ASSERT_EQ(pods.size(), 3000U);
  std::set<std::tuple<int64_t, int64_t, int64_t, int64_t>> kinds;
  for (const OpenbPod& pod : pods) {
    kinds.emplace(pod.cpu_milli, pod.memory_mib, pod.gpu_count, pod.gpu_milli);
    EXPECT_GE(pod.gpu_milli, 1);
    EXPECT_LE(pod.gpu_milli, 1000);
    EXPECT_TRUE(pod.gpu_count == 1 || pod.gpu_milli == 1000);
  }
  EXPECT_EQ(kinds.size(), 3000U);
}

}  // namespace
}  // namespace mainspring::sim
