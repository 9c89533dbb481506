// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "mainspring/model/event.h"

// The words of event files for what is a number in the model, in the order of those numbers.

namespace mainspring::config {

inline constexpr std::array<std::string_view, std::variant_size_v<model::EventBody>> kEventWords = {
    "node_changed",  "node_gone",        "gpu_sampled",         "job_changed",  "job_gone",
    "pod_bound",     "pod_started",      "pod_stopping",        "pod_gone",     "bind_refused",
    "pod_found",     "config_changed",   "gpu_models_restored", "job_restored", "demand_restored",
    "tick",          "job_checkpointed", "queue_changed",       "queue_gone",   "promise_restored",
    "usage_restored"};

inline constexpr std::array<std::string_view, model::kResourceCount> kAmountWords = {
    "cpu_milli", "memory_bytes", "ephemeral_bytes", "pods"};

inline constexpr std::array<std::string_view, 3> kEffectWords = {"NoSchedule", "PreferNoSchedule",
                                                                 "NoExecute"};

inline constexpr std::array<std::string_view, 6> kSelectorWords = {
    "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};

inline constexpr std::array<std::string_view, 3> kRuleWords = {"near", "apart", "spread"};

inline constexpr std::array<std::string_view, 3> kEndWords = {"succeeded", "removed", "lost"};

}  // namespace mainspring::config
