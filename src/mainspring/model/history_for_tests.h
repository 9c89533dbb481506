// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "mainspring/model/random_specs_for_tests.h"
#include "mainspring/model/trial.h"

// For tests: a random life of a small cluster. Everything is drawn by name, never by slot, so that
// two histories from one seed do the same to two equal states, whatever their slots.

namespace mainspring::model {

class RandomHistory : public RandomSpecs {
 public:
  explicit RandomHistory(uint64_t seed) : RandomSpecs(seed) {}

  // One event, or one decision of a careless scheduler. False: the event was refused.
  bool step(ClusterState& state) {
    switch (rng().below(16)) {
      case 0:
      case 1:
        return apply(state, NodeChanged{node()});
      case 2:
        return rng().chance(1, 3) ? apply(state, NodeGone{node_name()}) : queue_event(state);
      case 3:
        return apply(state, sample());
      case 4:
      case 5:
        return apply(state, JobChanged{job()});
      case 6:
        if (rng().chance(1, 4)) return apply(state, JobGone{job_name()});
        return rng().chance(1, 3) ? apply(state, JobCheckpointed{job_name()}) : settle(state);
      case 7:
        return rng().chance(1, 4) ? apply(state, ConfigChanged{config()}) : decide(state);
      case 8:
      case 9:
      case 10:
        return decide(state);
      default:
        return pod_event(state);
    }
  }

  // As many pods of the job, in order, as fit first-fit. Returns what was placed.
  static std::vector<PodIx> place_first_fit(Trial& trial, JobIx job) {
    std::vector<PodIx> placed;
    const ClusterState& state = trial.state();
    for (const PodIx pod : state.job(job).pods) {
      if (state.pod(pod).phase != PodPhase::kPending || state.pod(pod).withdrawn) continue;
      const Shape& shape = state.inventory().shape(state.pod(pod).shape);
      for (const uint32_t slot : state.inventory().nodes_by_rank()) {
        const Node& node = state.inventory().nodes()[slot];
        const DeviceMask devices = devices_for(shape, node);
        if (std::popcount(devices) != static_cast<int>(shape.gpu_count)) continue;
        if (!node.usable() || !shape.request.within(node.free.resources)) continue;
        if (others_fit(shape, node.others, 1) == 0 || !volumes_fit(shape, node)) continue;
        trial.place(pod, state.inventory().index_of(slot), devices, {state.now()});
        placed.push_back(pod);
        break;
      }
    }
    return placed;
  }

 private:
  static DeviceMask devices_for(const Shape& shape, const Node& node) {
    DeviceMask devices = 0;
    for (size_t i = 0; i < node.gpus.size(); ++i) {
      if (std::popcount(devices) == static_cast<int>(shape.gpu_count)) break;
      if (device_fits(shape, node.gpus[i])) devices |= DeviceMask{1} << i;
    }
    return devices;
  }

  bool apply(ClusterState& state, EventBody body) {
    now_ms_ += rng().between(-500, 2000);  // some come late
    const base::Instant at{now_ms_ > 0 ? now_ms_ : 0};
    return state.apply({++sequence_, at, std::move(body)}).has_value();
  }

  GpuSampled sample() {
    return {.node = node_name(),
            .gpu = "gpu" + std::to_string(rng().below(5)),
            .healthy = !rng().chance(1, 4),
            .foreign_memory_bytes = rng().chance(1, 2) ? 0 : rng().between(-1, 2000)};
  }

  bool queue_event(ClusterState& state) {
    if (rng().chance(1, 6)) return apply(state, QueueGone{queue_name()});
    return apply(state, QueueChanged{queue()});
  }

  // What somebody would leave is promised to somebody else.
  bool displace(ClusterState& state) {
    const JobIx victim = state.find_job(job_name());
    const JobIx winner = state.find_job(job_name());
    if (!victim.valid() || !winner.valid() || victim == winner) return true;
    if (state.job(victim).releasing || state.job(victim).promised()) return true;
    if (state.job(winner).releasing || state.job(winner).promised()) return true;
    std::vector<PodIx> pods;
    std::vector<Promise> places;
    {
      Trial trial(state);
      for (const PodIx pod : state.job(victim).pods) {
        const Pod& row = state.pod(pod);
        if (!row.holds() || row.phase == PodPhase::kStopping) continue;
        if (!state.inventory().node(row.node).listed) return true;
        pods.push_back(pod);
      }
      for (const PodIx pod : pods) trial.vacate(pod);
      if (pods.empty()) return true;
      for (const PodIx pod : place_first_fit(trial, winner)) {
        places.push_back(
            {.pod = pod, .node = state.pod(pod).node, .devices = state.pod(pod).devices});
      }
      if (places.empty()) return true;
    }
    state.displace(victim, pods, true, winner);
    state.promise(winner, std::move(places), state.now() + base::seconds(10));
    return true;
  }

  // A promise is kept where it can be, or ends.
  bool settle(ClusterState& state) {
    const JobIx job = state.find_job(job_name());
    const bool keep = rng().chance(3, 4);
    if (!job.valid() || !state.job(job).promised()) return displace(state);
    const bool clear = !state.job(job).releasing && state.promise_clear(job);
    if (clear && keep) {
      state.redeem(job);
    } else if (!keep) {
      state.end_promise(job, state.now() + base::seconds(5));
    }
    return true;
  }

  bool decide(ClusterState& state) {
    if (rng().chance(1, 6)) return rng().chance(1, 2) ? displace(state) : settle(state);
    const JobIx job = state.find_job(job_name());
    const bool keep = rng().chance(7, 8);
    const bool release = rng().chance(1, 8);
    if (rng().chance(1, 8)) state.mark_demand_priced();
    if (!job.valid() || state.job(job).promised()) return true;
    if (release && state.job(job).pods_holding > 0 && !state.job(job).releasing) {
      state.begin_release(job, state.now() + base::seconds(10));
      return true;
    }
    Trial trial(state);
    if (place_first_fit(trial, job).empty() || !keep) return true;
    trial.commit();
    state.set_start_deadline(job, state.now() + base::seconds(60));
    return true;
  }

  bool pod_event(ClusterState& state) {
    const std::string pod = job_name() + "-" + std::to_string(rng().below(8));
    const PodIx index = state.find_pod(pod);
    uint32_t life = index.valid() ? state.pod(index).incarnation : 0;
    if (rng().chance(1, 8)) ++life;
    if (life > 0 && rng().chance(1, 8)) --life;
    switch (rng().below(7)) {
      case 0:
        return apply(state, PodBound{pod, life});
      case 1:
      case 2:
        return apply(state, PodStarted{pod, life});
      case 3:
        return apply(state, PodStopping{pod, life});
      case 4:
        return apply(state, BindRefused{pod, life, "taken"});
      default:
        return apply(state, PodGone{pod, life, static_cast<PodEnd>(rng().below(3))});
    }
  }

  int64_t now_ms_ = 0;
  uint64_t sequence_ = 0;
};

}  // namespace mainspring::model
