// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/pod_lives.h"

#include <algorithm>
#include <variant>

#include "mainspring/base/check.h"
#include "mainspring/sim/gang_tree.h"

namespace mainspring::sim {
namespace {

using model::PodEnd;

// How long it takes at most until anybody notices that a pod died with its node or device.
constexpr int64_t kNoticeMsMax = 5000;

std::string order_of_job(const std::string& id) { return "job:" + id; }
std::string order_of_pod(const std::string& id) { return "pod:" + id; }

}  // namespace

PodLives::PodLives(TrueWorld& world, Agenda& agenda, Delivery& delivery,
                   const config::PodTimes& times, const config::FaultChances& chances,
                   base::Rng rng)
    : world_(world),
      agenda_(agenda),
      delivery_(delivery),
      times_(times),
      chances_(chances),
      rng_(rng) {}

base::Duration PodLives::draw(const config::DurationRange& range) {
  return {rng_.between(range.min.ms, range.max.ms)};
}

bool PodLives::drawn(int32_t of_a_million) {
  return of_a_million > 0 && rng_.chance(static_cast<uint64_t>(of_a_million), 1'000'000);
}

void PodLives::submit(const config::ScenarioJob& job) {
  const auto number = static_cast<uint32_t>(jobs_.size());
  Life& life = jobs_.emplace_back();
  life.spec = job.spec;
  life.has_run = job.run.has_value();
  life.run = job.run.value_or(base::Duration{});
  life.first_pod = world_.add_pods(job.spec, number);
  JobRecord& record = records_.emplace_back();
  record.id = job.spec.id;
  record.name = job.name;
  record.submitted_at = agenda_.now();
  for (const model::PodSpec& pod : job.spec.pods) {
    const model::GpuRequest& gpu = job.spec.shapes[pod.shape].gpu;
    if (gpu.memory_bytes == 0) record.gpu_milli += int64_t{gpu.count} * gpu.milli;
  }
  ++unfinished_;
  delivery_.send(model::JobChanged{job.spec}, order_of_job(job.spec.id));
}

void PodLives::execute(const model::Plan& plan) {
  for (const model::Decision& decision : plan.decisions) {
    if (const auto* bound = std::get_if<model::Bind>(&decision)) {
      for (const model::PodBinding& binding : bound->pods) bind(binding);
    } else if (const auto* released = std::get_if<model::Release>(&decision)) {
      for (const model::PodRelease& pod : released->pods) release(pod);
      const uint32_t pod =
          released->pods.empty() ? base::IdMap::kNone : world_.find_pod(released->pods.front().pod);
      if (pod != base::IdMap::kNone) ++records_[world_.pods()[pod].job].releases;
    } else if (const auto* displaced = std::get_if<model::Displace>(&decision)) {
      for (const model::Victim& victim : displaced->victims) displace(victim, displaced->job);
    }
  }
}

void PodLives::bind(const model::PodBinding& binding) {
  const uint32_t number = world_.find_pod(binding.pod);
  if (number == base::IdMap::kNone) {
    delivery_.send(model::PodGone{binding.pod, binding.incarnation, PodEnd::kRemoved}, {});
    return;
  }
  WorldPod& pod = world_.pods()[number];
  if (pod.phase == WorldPhase::kDone) {
    delivery_.send(model::PodGone{binding.pod, binding.incarnation, PodEnd::kRemoved}, {});
    return;
  }
  if (pod.phase != WorldPhase::kIdle || pod.incarnation != binding.incarnation) {
    ++refused_binds_;
    delivery_.send(model::BindRefused{binding.pod, binding.incarnation, "the pod is not waiting"},
                   {});
    return;
  }
  pod.phase = WorldPhase::kBinding;
  agenda_.put(agenda_.now() + draw(times_.bind),
              [this, number, binding] { finish_bind(number, binding); });
}

void PodLives::finish_bind(uint32_t number, const model::PodBinding& binding) {
  WorldPod& pod = world_.pods()[number];
  if (pod.phase != WorldPhase::kBinding || pod.incarnation != binding.incarnation) return;
  Life& job = jobs_[pod.job];
  std::string why = world_.why_not(pod, binding);
  if (why.empty() && job.refuse_next > 0) {
    --job.refuse_next;
    why = "the outside refused";
  }
  if (why.empty() && drawn(chances_.bind_refused_ppm)) why = "the outside refused";
  if (!why.empty()) {
    ++refused_binds_;
    pod.phase = WorldPhase::kIdle;
    end_life(number, model::BindRefused{pod.id, pod.incarnation, std::move(why)}, {});
    return;
  }
  world_.occupy(number, binding);
  pod.phase = WorldPhase::kStarting;
  const bool ran_before = records_[pod.job].started_at != base::Instant::never();
  if (pod.incarnation > 0 && ran_before && !pod.displaced) ++records_[pod.job].repairs;
  pod.displaced = false;
  delivery_.send(model::PodBound{pod.id, pod.incarnation}, {});
  if (job.stall_next > 0) {
    --job.stall_next;
    return;
  }
  if (drawn(chances_.pod_never_starts_ppm)) return;
  agenda_.put(agenda_.now() + draw(times_.start), [this, number, life = pod.incarnation] {
    const WorldPod& then = world_.pods()[number];
    if (then.phase == WorldPhase::kStarting && then.incarnation == life) start(number);
  });
}

void PodLives::start(uint32_t number) {
  WorldPod& pod = world_.pods()[number];
  Life& job = jobs_[pod.job];
  pod.phase = WorldPhase::kRunning;
  pod.started_at = agenda_.now();
  ++job.running;
  delivery_.send(model::PodStarted{pod.id, pod.incarnation}, {});
  const bool ran = job.minimum_runs;
  settle(pod.job);
  if (ran) schedule_end(number);
  if (!drawn(chances_.pod_failed_ppm)) return;
  const base::Duration half{job.has_run ? job.run.ms / 2 : 1'800'000};
  agenda_.put(agenda_.now() + half, [this, number, life = pod.incarnation] {
    const WorldPod& then = world_.pods()[number];
    if (then.phase != WorldPhase::kRunning || then.incarnation != life) return;
    // It crashes, or somebody else evicts it.
    if (rng_.chance(1, 2)) {
      end(number, PodEnd::kLost);
    } else {
      stop(number, PodEnd::kLost);
    }
  });
}

bool PodLives::minimum_runs(const Life& job) const {
  if (job.spec.groups.size() == 1) {
    const uint32_t min = job.spec.groups[0].min_count;
    const auto wanted = static_cast<int64_t>(min == 0 ? job.spec.pods.size() : min);
    return job.running + job.done >= wanted;
  }
  std::vector<uint8_t> counts(job.spec.pods.size(), 0);
  for (size_t i = 0; i < counts.size(); ++i) {
    const WorldPod& pod = world_.pods()[job.first_pod + i];
    counts[i] = pod.phase == WorldPhase::kRunning || pod.succeeded ? 1 : 0;
  }
  return tree_minimum_met(job.spec, counts);
}

void PodLives::settle(uint32_t number) {
  Life& job = jobs_[number];
  JobRecord& record = records_[number];
  if (job.over) return;
  if (static_cast<size_t>(job.done) == job.spec.pods.size()) {
    job.over = true;
    record.finished_at = agenda_.now();
    --unfinished_;
    return;
  }
  const bool runs = minimum_runs(job);
  if (runs == job.minimum_runs) return;
  job.minimum_runs = runs;
  if (!runs) {
    break_work(number);
    return;
  }
  begin_work(number);
  for (uint32_t i = 0; i < job.spec.pods.size(); ++i) {
    const WorldPod& pod = world_.pods()[job.first_pod + i];
    if (pod.phase == WorldPhase::kRunning) schedule_end(job.first_pod + i);
  }
  if (record.started_at != base::Instant::never()) return;
  record.started_at = agenda_.now();
  for (uint32_t i = 0; i < job.spec.pods.size(); ++i) {
    const WorldPod& pod = world_.pods()[job.first_pod + i];
    if (pod.occupies()) {
      record.first_places.emplace_back(pod.id, world_.nodes()[pod.node].spec.name);
    }
  }
}

int64_t PodLives::running_milli(const Life& job) const {
  int64_t milli = 0;
  for (uint32_t i = 0; i < job.spec.pods.size(); ++i) {
    const WorldPod& pod = world_.pods()[job.first_pod + i];
    if (pod.phase == WorldPhase::kRunning) milli += world_.held_milli(pod);
  }
  return milli;
}

base::Duration PodLives::saved_by_now(const Life& job) const {
  const base::Duration interval = job.spec.checkpoint_interval;
  const base::Duration kept = std::max(job.saved, job.told);
  if (interval.ms <= 0 || agenda_.now() <= job.works_since) return kept;
  const int64_t worked_ms = (agenda_.now() - job.works_since).ms;
  return std::max(kept, base::Duration{job.saved.ms + worked_ms / interval.ms * interval.ms});
}

void PodLives::save(uint32_t number) {
  Life& job = jobs_[number];
  if (!job.minimum_runs || agenda_.now() <= job.works_since) return;
  job.told = base::Duration{job.saved.ms + (agenda_.now() - job.works_since).ms};
  delivery_.send(model::JobCheckpointed{job.spec.id}, order_of_job(job.spec.id));
}

void PodLives::begin_work(uint32_t number) {
  Life& job = jobs_[number];
  job.works_since = agenda_.now() + job.restart;
  if (!job.displaced) return;
  job.restart_milli = running_milli(job);
  records_[number].lost_gpu_ms += job.restart_milli * job.restart.ms / 1000;
}

void PodLives::break_work(uint32_t number) {
  Life& job = jobs_[number];
  ++job.epoch;
  if (job.displaced && agenda_.now() < job.works_since) {
    const base::Duration unspent = job.works_since - agenda_.now();
    records_[number].lost_gpu_ms -= job.restart_milli * unspent.ms / 1000;
  }
  job.saved = saved_by_now(job);
  job.restart = job.spec.restart_time;
  job.displaced = false;
}

void PodLives::schedule_end(uint32_t number) {
  const WorldPod& pod = world_.pods()[number];
  const Life& job = jobs_[pod.job];
  if (!job.has_run) return;
  const base::Instant from = std::max(job.works_since, pod.started_at);
  const base::Duration rest{std::max<int64_t>(0, job.run.ms - job.saved.ms)};
  agenda_.put(from + rest, [this, number, life = pod.incarnation, epoch = job.epoch] {
    const WorldPod& then = world_.pods()[number];
    const bool same = then.phase == WorldPhase::kRunning && then.incarnation == life;
    if (same && jobs_[then.job].epoch == epoch) end(number, PodEnd::kSucceeded);
  });
}

void PodLives::end_life(uint32_t number, model::EventBody news, base::Duration notice) {
  WorldPod& pod = world_.pods()[number];
  ++pod.incarnation;
  delivery_.send(std::move(news), order_of_pod(pod.id), notice);
}

void PodLives::end(uint32_t number, PodEnd end, base::Duration notice) {
  WorldPod& pod = world_.pods()[number];
  Life& job = jobs_[pod.job];
  if (pod.phase == WorldPhase::kRunning) --job.running;
  if (pod.occupies()) world_.vacate(number);
  pod.stuck = false;
  pod.succeeded = end == PodEnd::kSucceeded;
  if (pod.succeeded) ++job.done;
  pod.phase = end == PodEnd::kLost ? WorldPhase::kIdle : WorldPhase::kDone;
  end_life(number, model::PodGone{pod.id, pod.incarnation, end}, notice);
  settle(pod.job);
}

void PodLives::release(const model::PodRelease& released) {
  const uint32_t number = world_.find_pod(released.pod);
  if (number == base::IdMap::kNone) {
    delivery_.send(model::PodGone{released.pod, released.incarnation, PodEnd::kRemoved}, {});
    return;
  }
  const WorldPod& pod = world_.pods()[number];
  const bool lives = pod.phase != WorldPhase::kIdle && pod.phase != WorldPhase::kDone;
  if (lives && pod.incarnation == released.incarnation) {
    stop(number, PodEnd::kLost);
    return;
  }
  // That life is over. Whoever asks is told again.
  PodEnd how = PodEnd::kLost;
  if (pod.phase == WorldPhase::kDone) how = pod.succeeded ? PodEnd::kSucceeded : PodEnd::kRemoved;
  delivery_.send(model::PodGone{released.pod, released.incarnation, how}, {});
}

void PodLives::displace(const model::Victim& victim, const std::string& winner) {
  if (victim.pods.empty()) return;
  const uint32_t first = world_.find_pod(victim.pods.front().pod);
  if (first == base::IdMap::kNone) {
    for (const model::PodRelease& pod : victim.pods) release(pod);
    return;
  }
  const uint32_t number = world_.pods()[first].job;
  Life& job = jobs_[number];
  JobRecord& record = records_[number];
  record.displaced_by.push_back(winner);
  const bool ran = job.minimum_runs;
  const int64_t kept_ms = saved_by_now(job).ms - job.saved.ms;
  const base::Instant worked_from = job.works_since;
  int64_t whole_loss = 0;
  int64_t part_loss = 0;
  const auto loss_of = [&](const WorldPod& pod) {
    const base::Instant from = std::max(worked_from, pod.started_at);
    const int64_t worked_ms = std::max<int64_t>(0, (agenda_.now() - from).ms);
    return world_.held_milli(pod) * std::max<int64_t>(0, worked_ms - kept_ms) / 1000;
  };
  for (uint32_t i = 0; ran && i < job.spec.pods.size(); ++i) {
    const WorldPod& pod = world_.pods()[job.first_pod + i];
    if (pod.phase == WorldPhase::kRunning) whole_loss += loss_of(pod);
  }
  for (const model::PodRelease& released : victim.pods) {
    const uint32_t pod = world_.find_pod(released.pod);
    if (pod == base::IdMap::kNone) continue;
    WorldPod& row = world_.pods()[pod];
    if (row.incarnation != released.incarnation) continue;
    row.displaced = true;
    if (ran && row.phase == WorldPhase::kRunning) part_loss += loss_of(row);
  }
  for (const model::PodRelease& pod : victim.pods) release(pod);
  const bool broke = ran && !job.minimum_runs;
  if (broke) {
    record.lost_gpu_ms += whole_loss;
    job.displaced = true;
  } else {
    record.lost_gpu_ms += part_loss;
  }
}

void PodLives::let_stops_go(uint32_t number) {
  Life& job = jobs_[number];
  job.stuck_next = 0;
  const auto last = static_cast<uint32_t>(job.first_pod + job.spec.pods.size());
  for (uint32_t pod = job.first_pod; pod < last; ++pod) {
    if (!world_.pods()[pod].stuck) continue;
    end(pod, world_.pods()[pod].end);
  }
}

void PodLives::stop(uint32_t number, PodEnd how) {
  WorldPod& pod = world_.pods()[number];
  switch (pod.phase) {
    case WorldPhase::kIdle:
      if (how != PodEnd::kLost) pod.phase = WorldPhase::kDone;
      return;
    case WorldPhase::kBinding:
      end(number, how);
      return;
    case WorldPhase::kStarting:
    case WorldPhase::kRunning: {
      Life& job = jobs_[pod.job];
      if (pod.phase == WorldPhase::kRunning) --job.running;
      pod.phase = WorldPhase::kStopping;
      pod.end = how;
      if (how == PodEnd::kLost && job.done_next > 0) {
        --job.done_next;
        pod.end = PodEnd::kSucceeded;
      }
      delivery_.send(model::PodStopping{pod.id, pod.incarnation}, {});
      settle(pod.job);
      if (jobs_[pod.job].stuck_next > 0) {
        --jobs_[pod.job].stuck_next;
        pod.stuck = true;
        return;
      }
      agenda_.put(agenda_.now() + draw(times_.stop), [this, number, life = pod.incarnation] {
        const WorldPod& then = world_.pods()[number];
        if (then.phase == WorldPhase::kStopping && then.incarnation == life) end(number, then.end);
      });
      return;
    }
    case WorldPhase::kStopping:
      if (how != PodEnd::kLost) pod.end = how;
      return;
    case WorldPhase::kDone:
      return;
  }
}

void PodLives::kill_on_node(uint32_t node) {
  const std::set<uint32_t> pods = world_.nodes()[node].pods;
  for (const uint32_t pod : pods) {
    const PodEnd how =
        world_.pods()[pod].phase == WorldPhase::kStopping ? world_.pods()[pod].end : PodEnd::kLost;
    end(pod, how, base::Duration{rng_.between(0, kNoticeMsMax)});
  }
}

void PodLives::kill_on_device(uint32_t node, uint32_t device) {
  const std::set<uint32_t> pods = world_.nodes()[node].pods;
  for (const uint32_t number : pods) {
    const WorldPod& pod = world_.pods()[number];
    if (std::ranges::find(pod.devices, device) == pod.devices.end()) continue;
    const PodEnd how = pod.phase == WorldPhase::kStopping ? pod.end : PodEnd::kLost;
    end(number, how, base::Duration{rng_.between(0, kNoticeMsMax)});
  }
}

void PodLives::fail_running(uint32_t number, int64_t count) {
  const Life& job = jobs_[number];
  const auto last = static_cast<uint32_t>(job.first_pod + job.spec.pods.size());
  for (uint32_t pod = job.first_pod; pod < last && count > 0; ++pod) {
    if (world_.pods()[pod].phase != WorldPhase::kRunning) continue;
    end(pod, PodEnd::kLost);
    --count;
  }
}

void PodLives::remove(uint32_t number) {
  Life& job = jobs_[number];
  if (job.over) return;
  job.over = true;
  --unfinished_;
  records_[number].removed = true;
  delivery_.send(model::JobGone{job.spec.id}, order_of_job(job.spec.id));
  const auto last = static_cast<uint32_t>(job.first_pod + job.spec.pods.size());
  for (uint32_t pod = job.first_pod; pod < last; ++pod) stop(pod, PodEnd::kRemoved);
}

}  // namespace mainspring::sim
