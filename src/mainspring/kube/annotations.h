// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

// What users say to Mainspring on their pods (docs/reference/annotations.md), and what Mainspring
// notes there itself.

namespace mainspring::kube::annotation {

inline constexpr std::string_view kGroup = "mainspring.dev/group";
inline constexpr std::string_view kGroupSize = "mainspring.dev/group-size";
inline constexpr std::string_view kMinCount = "mainspring.dev/min-count";  // 8, or 75%
inline constexpr std::string_view kQueue = "mainspring.dev/queue";
inline constexpr std::string_view kRequiredTopology = "mainspring.dev/required-topology";
inline constexpr std::string_view kPreferredTopology = "mainspring.dev/preferred-topology";
inline constexpr std::string_view kCheckpointInterval = "mainspring.dev/checkpoint-interval";
inline constexpr std::string_view kRestartTime = "mainspring.dev/restart-time";
inline constexpr std::string_view kExpectedRun = "mainspring.dev/expected-run";
inline constexpr std::string_view kPreemptible = "mainspring.dev/preemptible";
inline constexpr std::string_view kGpuShare = "mainspring.dev/gpu-share";    // 0.5
inline constexpr std::string_view kGpuMemory = "mainspring.dev/gpu-memory";  // 10Gi
inline constexpr std::string_view kGpuModel = "mainspring.dev/gpu-model";    // any of: A100,H100

// Written with the binding: the devices that were planned. A hint after a restart, never a claim.
inline constexpr std::string_view kGpus = "mainspring.dev/gpus";

}  // namespace mainspring::kube::annotation
