// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "mainspring/model/resources.h"

// What is absurd: no cluster, job or run is larger than this.

namespace mainspring::config {

inline constexpr int64_t kCountMax = model::kAmountMax;
inline constexpr int64_t kTimeMax = int64_t{3650} * 24 * 3600 * 1000;
inline constexpr int64_t kCpuMilliMax = 10'000'000;     // 10,000 CPUs in one machine
inline constexpr int64_t kBytesMax = int64_t{1} << 50;  // 1 Pi
inline constexpr int64_t kPodsMax = 1'000'000;
inline constexpr int64_t kPodsPerNodeMax = 10'000;
inline constexpr int64_t kPodsPerJobMax = 100'000;
inline constexpr int64_t kGpusPerNodeMost = 64;
inline constexpr int64_t kNodesMax = 50'000;
inline constexpr int64_t kPriorityMax = 1'000'000'000;
inline constexpr int64_t kCertain = 1'000'000;

}  // namespace mainspring::config
