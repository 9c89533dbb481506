// SPDX-License-Identifier: Apache-2.0
#include "mainspring/engine/decisions.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "mainspring/policy/lost_work.h"

namespace mainspring::engine {

using model::ClusterState;
using model::JobIx;
using model::PodIx;

model::PodBinding binding_of(const ClusterState& state, PodIx index, model::NodeIx node_index,
                             model::DeviceMask devices) {
  const model::Pod& pod = state.pod(index);
  const model::Node& node = state.inventory().node(node_index);
  model::PodBinding binding{.pod = pod.id, .incarnation = pod.incarnation, .node = node.name};
  for (model::DeviceMask rest = devices; rest != 0; rest &= rest - 1) {
    const model::Gpu& gpu = node.gpus[static_cast<size_t>(std::countr_zero(rest))];
    binding.gpus.push_back(state.inventory().name(gpu.id));
  }
  return binding;
}

model::PodBinding binding_of(const ClusterState& state, PodIx pod) {
  return binding_of(state, pod, state.pod(pod).node, state.pod(pod).devices);
}

namespace {

bool goes_on(const model::Pod& pod) {
  return pod.holds() && pod.phase != model::PodPhase::kStopping;
}

model::Victim victim_of(const ClusterState& state, const policy::RoomVictim& taken,
                        std::span<const PodIx> pods, base::Instant now) {
  const model::Job& job = state.job(taken.job);
  const int64_t weight = policy::weight_of(state, pods);
  model::Victim victim{.job = job.id,
                       .queue = state.queues().row(job.queue).spec.name,
                       .tenant = state.inventory().name(job.tenant),
                       .rule = taken.rule,
                       .pods = {},
                       .whole = taken.whole,
                       .gpu_milli = policy::gpu_milli_of(state, pods),
                       .lost_gpu_ms = policy::lost_gpu_ms(job, weight, now),
                       .checkpoint_age = policy::checkpoint_age(job, now)};
  for (const PodIx index : pods) {
    const model::Pod& pod = state.pod(index);
    victim.pods.push_back({.pod = pod.id, .incarnation = pod.incarnation});
  }
  return victim;
}

}  // namespace

model::Displace carry_out(ClusterState& state, const policy::Room& room, JobIx winner,
                          base::Instant now) {
  const model::Job& job = state.job(winner);
  model::Displace decision{.job = job.id,
                           .queue = state.queues().row(job.queue).spec.name,
                           .rule = room.rule,
                           .victims = {},
                           .promised = {},
                           .until = now + state.config().promise_timeout,
                           .alternatives = room.alternatives};
  for (const policy::RoomVictim& taken : room.victims) {
    std::vector<PodIx> pods = taken.pods;
    if (taken.whole) {
      pods.clear();
      for (const PodIx pod : state.job(taken.job).pods) {
        if (goes_on(state.pod(pod))) pods.push_back(pod);
      }
    }
    decision.victims.push_back(victim_of(state, taken, pods, now));
    state.displace(taken.job, pods, taken.whole, winner);
  }
  for (const auto& [promised, places] : room.promised) {
    for (const model::Promise& place : places) {
      model::PodBinding binding = binding_of(state, place.pod, place.node, place.devices);
      // A pod that is moved takes its new place in its next life.
      if (state.pod(place.pod).holds()) ++binding.incarnation;
      decision.promised.push_back(std::move(binding));
    }
    state.promise(promised, places, decision.until);
  }
  return decision;
}

}  // namespace mainspring::engine
