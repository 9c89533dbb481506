// SPDX-License-Identifier: Apache-2.0
#include "mainspring/policy/lost_work.h"

#include <algorithm>
#include <bit>

namespace mainspring::policy {
namespace {

// A device is reckoned as sixteen cores.
constexpr int64_t kCoresPerGpu = 16;

}  // namespace

base::Duration checkpoint_age(const model::Job& job, base::Instant now) {
  if (job.running_since == base::Instant::never() || now <= job.running_since) return {};
  base::Instant saved = job.running_since;
  if (job.checkpoint_interval.ms > 0) {
    const int64_t times = (now - saved).ms / job.checkpoint_interval.ms;
    saved = saved + base::milliseconds(times * job.checkpoint_interval.ms);
  }
  if (job.checkpointed_at != base::Instant::never()) saved = std::max(saved, job.checkpointed_at);
  return saved < now ? now - saved : base::Duration{};
}

int64_t gpu_milli_of(const model::ClusterState& state, std::span<const model::PodIx> pods) {
  int64_t milli = 0;
  for (const model::PodIx index : pods) {
    const model::Pod& pod = state.pod(index);
    if (!pod.holds() || pod.devices == 0) continue;
    const model::Shape& shape = state.inventory().shape(pod.shape);
    const model::Node& node = state.inventory().node(pod.node);
    for (model::DeviceMask rest = pod.devices; rest != 0; rest &= rest - 1) {
      const auto device = static_cast<size_t>(std::countr_zero(rest));
      milli += model::gpu_take(shape, node.gpus[device]).milli;
    }
  }
  return milli;
}

int64_t weight_of(const model::ClusterState& state, std::span<const model::PodIx> pods) {
  const int64_t gpu_milli = gpu_milli_of(state, pods);
  if (gpu_milli > 0) return gpu_milli;
  int64_t cpu_milli = 0;
  for (const model::PodIx index : pods) {
    const model::Pod& pod = state.pod(index);
    if (!pod.holds()) continue;
    cpu_milli += state.inventory().shape(pod.shape).request[model::Resource::kCpuMilli];
  }
  return cpu_milli / kCoresPerGpu;
}

int64_t lost_gpu_ms(const model::Job& job, int64_t weight_milli, base::Instant now) {
  const int64_t ms = checkpoint_age(job, now).ms + job.restart_time.ms;
  const auto lost = static_cast<__int128>(weight_milli) * ms / 1000;
  return static_cast<int64_t>(std::min<__int128>(lost, model::kTotalMax));
}

}  // namespace mainspring::policy
