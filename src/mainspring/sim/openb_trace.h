// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mainspring/base/result.h"
#include "mainspring/sim/line_reader.h"
#include "mainspring/sim/row_tally.h"

namespace mainspring::sim {

// The node and pod lists of Alibaba's GPU cluster trace of 2023 ("openb"), plain or gzip.
//
// Nodes: sn, cpu_milli, memory_mib, gpu, model. Pods: name, cpu_milli, memory_mib, num_gpu,
// gpu_milli and, where the file has them, gpu_spec, qos, pod_phase, creation_time, deletion_time,
// scheduled_time (seconds from the start of the trace). Other columns are ignored.

inline constexpr int64_t kMilliPerGpu = 1000;

struct OpenbNode {
  uint32_t row = 0;  // data row of the file, from 0; the published orders name rows
  std::string name;
  int64_t cpu_milli = 0;
  int64_t memory_mib = 0;
  int64_t gpu_count = 0;
  std::string gpu_model;
};

struct OpenbPod {
  uint32_t row = 0;
  std::string name;
  int64_t cpu_milli = 0;
  int64_t memory_mib = 0;
  int64_t gpu_count = 0;
  int64_t gpu_milli = 0;  // of each GPU; below 1000 only where gpu_count is 1
  std::string gpu_spec;   // models joined by '|'; empty: any model
  std::string qos;
  std::string phase;
  std::optional<int64_t> created_seconds;
  std::optional<int64_t> deleted_seconds;
  std::optional<int64_t> scheduled_seconds;

  [[nodiscard]] int64_t gpu_milli_total() const { return gpu_count * gpu_milli; }
};

template <class Row>
struct OpenbRows {
  std::vector<Row> rows;  // the usable ones, in the order of the file
  RowTally tally;
};
using OpenbNodeList = OpenbRows<OpenbNode>;
using OpenbPodList = OpenbRows<OpenbPod>;

// An unusable row (an amount that is negative, fractional, NaN, over 2^53 or absurd; an empty or
// repeated name; a share of several GPUs) is left out and counted in the tally with its place. An
// error is returned when the file as such cannot be read: missing, no such columns, damaged.
base::Result<OpenbNodeList> read_openb_nodes(LineReader lines);
base::Result<OpenbPodList> read_openb_pods(LineReader lines);

base::Result<OpenbNodeList> read_openb_nodes(const std::string& path);
base::Result<OpenbPodList> read_openb_pods(const std::string& path);

}  // namespace mainspring::sim
