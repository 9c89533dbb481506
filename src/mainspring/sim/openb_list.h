// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mainspring/base/result.h"
#include "mainspring/sim/openb_orders.h"
#include "mainspring/sim/openb_trace.h"

namespace mainspring::sim {

// One list of the openb set with its nodes and published orders, as found in a traces folder:
//   DIR/openb-fgd/openb_node_list_gpu_node.csv, openb_pod_list_NAME.csv.gz, orders/NAME.txt.gz
// (node list or pod list may be plain or gzip; orders may be absent).
struct OpenbList {
  std::string name;
  OpenbNodeList nodes;
  OpenbPodList pods;
  std::vector<OpenbOrder> published_orders;

  // Rows that could not be used, of both lists.
  [[nodiscard]] RowTally skipped() const;
  // The published order of this seed where there is one, otherwise a generated one.
  [[nodiscard]] OpenbOrder order_for_seed(uint64_t seed) const;
  // The order that generate_openb_order makes from Rng(seed).
  [[nodiscard]] OpenbOrder generated_order(uint64_t seed, int64_t load_milli) const;
};

base::Result<OpenbList> load_openb_list(const std::string& traces_folder, const std::string& name);

}  // namespace mainspring::sim
