// SPDX-License-Identifier: Apache-2.0
// Node, pod and order files of the openb set from arbitrary bytes: the first byte chooses the
// reader.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mainspring/base/check.h"
#include "mainspring/sim/openb_orders.h"
#include "mainspring/sim/openb_trace.h"

namespace {

using mainspring::sim::LineReader;

constexpr std::string_view kNodes = "sn,cpu_milli,memory_mib,gpu,model\nn0,1,1,1,A\nn1,1,1,1,A\n";
constexpr std::string_view kPods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np0,1,1,1,500\n";

void read_orders(std::string_view text) {
  const auto nodes = read_openb_nodes(LineReader::from_memory("nodes.csv", kNodes));
  const auto pods = read_openb_pods(LineReader::from_memory("pods.csv", kPods));
  const auto orders = read_openb_orders(LineReader::from_memory("orders.txt", text), *nodes, *pods);
  if (!orders) return;
  for (const auto& order : *orders) {
    MAINSPRING_CHECK(order.nodes.size() == 2, "an order names every node");
    for (const uint32_t pod : order.pods) MAINSPRING_CHECK(pod == 0, "an order names known pods");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'n': {
      const auto list = read_openb_nodes(LineReader::from_memory("nodes.csv", text));
      if (!list) break;
      for (const auto& node : list->rows) {
        MAINSPRING_CHECK(node.cpu_milli >= 0 && node.gpu_count >= 0, "amounts are not negative");
      }
      break;
    }
    case 'p': {
      const auto list = read_openb_pods(LineReader::from_memory("pods.csv", text));
      if (!list) break;
      for (const auto& pod : list->rows) {
        MAINSPRING_CHECK(pod.gpu_count <= 1 || pod.gpu_milli == 1000, "several GPUs are whole");
        MAINSPRING_CHECK(pod.gpu_milli >= 0 && pod.gpu_milli <= 1000, "a share is of one GPU");
      }
      break;
    }
    default:
      read_orders(text);
  }
  return 0;
}
