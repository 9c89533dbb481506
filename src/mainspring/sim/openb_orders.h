// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mainspring/base/result.h"
#include "mainspring/base/rng.h"
#include "mainspring/sim/line_reader.h"
#include "mainspring/sim/openb_trace.h"

namespace mainspring::sim {

// Which nodes are looked at in which order, and which pods arrive in which order, in one run.
struct OpenbOrder {
  uint64_t seed = 0;
  std::vector<uint32_t> nodes;  // positions in the node list
  std::vector<uint32_t> pods;   // positions in the pod list; a pod may come several times
};

// Reads an orders file: for each seed three lines, `seed S`, `nodes ...`, `pods ...`, with row
// numbers of the two lists from 0. An order must name each node row once; an unknown row is an
// error. Rows that the lists skipped are left out of the order.
base::Result<std::vector<OpenbOrder>> read_openb_orders(LineReader lines,
                                                        const OpenbNodeList& nodes,
                                                        const OpenbPodList& pods);
base::Result<std::vector<OpenbOrder>> read_openb_orders(const std::string& path,
                                                        const OpenbNodeList& nodes,
                                                        const OpenbPodList& pods);

// An order of our own for a seed that has no published one: both lists shuffled, the pods then
// tuned to `load_milli` thousandths of the GPU capacity in the way of Weng et al. (USENIX ATC
// 2023). A list below the target gets copies, drawn uniformly from the list sorted by name, until
// the next draw would pass the target (where the next pod counts with its share of one GPU, as in
// the original); a list above it loses pods drawn uniformly until it is no longer above.
OpenbOrder generate_openb_order(const std::vector<OpenbNode>& nodes,
                                const std::vector<OpenbPod>& pods, int64_t load_milli,
                                uint64_t seed, base::Rng& rng);

inline constexpr int64_t kOpenbLoadMilli = 1300;

// A list of `count` pods of which no two are alike (cpu, memory, share, count and models): each
// takes a random pod of `mix` and changes its amounts a little. The worst case for every cache.
std::vector<OpenbPod> generate_distinct_pods(const std::vector<OpenbPod>& mix, size_t count,
                                             base::Rng& rng);

}  // namespace mainspring::sim
