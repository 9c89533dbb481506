// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "mainspring/base/instant.h"
#include "mainspring/model/cluster_state.h"

// What it costs to displace somebody.

namespace mainspring::policy {

// Since the job last saved its work: what it told, or every `checkpoint_interval` since its minimum
// runs, whichever is later; without either, since it runs. Zero for a job that does not run yet.
base::Duration checkpoint_age(const model::Job& job, base::Instant now);

// Milli-GPU that the pods hold; for pods without GPUs a sixteenth of their milli-CPU, so that their
// work is not free.
int64_t weight_of(const model::ClusterState& state, std::span<const model::PodIx> pods);
// Milli-GPU alone.
int64_t gpu_milli_of(const model::ClusterState& state, std::span<const model::PodIx> pods);

// Device-milliseconds: what these pods of the job did since the last checkpoint, and its restart.
int64_t lost_gpu_ms(const model::Job& job, int64_t weight_milli, base::Instant now);

}  // namespace mainspring::policy
