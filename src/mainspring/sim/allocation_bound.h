// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "mainspring/sim/openb_orders.h"
#include "mainspring/sim/openb_trace.h"

namespace mainspring::sim {

// An upper bound on the allocation curve of one arrival order at `percent`, in percent of the GPU
// capacity, for any policy, also one that knows all arrivals beforehand: no curve passes it.
//
// Linear relaxation. Nodes of one kind (CPU, memory, GPUs, model) are pooled: their CPU, memory and
// devices are sums. What stays whole is the device: shares come as patterns that fit into one GPU,
// which are generated as needed (column generation, Gilmore and Gomory 1961; one unbounded knapsack
// a node kind). Pods that no empty node of a kind could hold are kept off it. Demand is the mean of
// what has arrived over the points of the curve at `percent`; as the program's optimum is concave
// in the demand, it bounds the mean of these points. The value returned is that of a dual solution,
// made feasible, so rounding errors cannot make it too low.
//
// Nothing when no arrival rounds to `percent`. Some tenths of a second.
std::optional<double> allocation_bound(const std::vector<OpenbNode>& nodes,
                                       const std::vector<OpenbPod>& pods, const OpenbOrder& order,
                                       int percent);

}  // namespace mainspring::sim
