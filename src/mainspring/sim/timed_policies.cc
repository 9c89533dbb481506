// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/timed_policies.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "mainspring/engine/decisions.h"
#include "mainspring/placement/node_fit.h"

namespace mainspring::sim {

using base::Instant;
using model::ClusterState;
using model::JobIx;

namespace {

constexpr std::string_view kNames[] = {"first-fit", "best-fit", "fifo",
                                       "priority",  "static",   "periodic"};
// A cycle's cost is reckoned from so many waiting jobs at most.
constexpr int kJobsReckoned = 1000;

int64_t gpus_wanted(const ClusterState& state, const model::Job& job) {
  int64_t gpus = 0;
  for (const model::PodIx index : job.pods) {
    const model::Pod& pod = state.pod(index);
    if (pod.phase == model::PodPhase::kPending) {
      gpus += state.inventory().shape(pod.shape).gpu_count;
    }
  }
  return gpus;
}

int64_t quota_milli(const ClusterState& state, model::QueueIx queue) {
  const model::Queue& row = state.queues().row(queue);
  return row.declared ? row.resource("gpu").quota : model::kUnlimited;
}

int64_t held_milli(const ClusterState& state, model::QueueIx queue) {
  return state.queues().row(queue).held(model::kGpuDimension);
}

bool within_quota(const ClusterState& state, const model::Job& job, int64_t gpus) {
  const int64_t quota = quota_milli(state, job.queue);
  return quota == model::kUnlimited || held_milli(state, job.queue) + gpus * 1000 <= quota;
}

}  // namespace

std::span<const std::string_view> timed_baselines() { return kNames; }

std::optional<TimedPolicy> TimedPolicy::of_name(std::string_view name, PeriodicCosts costs) {
  const Rules rules[] = {
      {.head_blocks = true},
      {.best_fit = true, .head_blocks = true},
      {.best_fit = true, .takes = Takes::kLaterCome},
      {.best_fit = true, .order = Order::kPriority, .takes = Takes::kLowerPriority},
      {.best_fit = true, .within_quota = true},
      {.best_fit = true,
       .order = Order::kLeastShare,
       .takes = Takes::kBeyondQuota,
       .cycles = costs},
  };
  const auto found = std::ranges::find(kNames, name);
  if (found == std::end(kNames)) return std::nullopt;
  return TimedPolicy(rules[found - std::begin(kNames)]);
}

model::Plan TimedPolicy::decide(ClusterState& state, Instant now) {
  model::Plan plan;
  plan.next_wake = Instant::never();
  lines_.sync(state);
  if (!rules_.cycles) {
    decide_now(state, now, plan);
    return plan;
  }
  const bool changed = state.job_changes().end() != seen_changes_;
  if (!acts_at_ && lines_.anybody_waits() && changed) {
    // The next whole period at which it is not busy any more.
    const int64_t period = rules_.cycles->period.ms;
    const Instant free_at = std::max(now, idle_from_);
    const Instant cycle{(free_at.ms + period - 1) / period * period};
    if (cycle > now) {
      plan.next_wake = cycle;
      return plan;
    }
    acts_at_ = now + cost_of_cycle(state);
  }
  if (acts_at_ && *acts_at_ <= now) {
    acts_at_.reset();
    idle_from_ = now + base::milliseconds(1);
    decide_now(state, now, plan);
    lines_.sync(state);
    seen_changes_ = state.job_changes().end();
  }
  if (acts_at_) plan.next_wake = *acts_at_;
  return plan;
}

// What the cycle will do, by counting GPUs alone.
base::Duration TimedPolicy::cost_of_cycle(const ClusterState& state) {
  const uint64_t gains = state.inventory().gains();
  int64_t free = state.inventory().total_free().gpus;
  int64_t binds = 0;
  int64_t evictions = 0;
  int looked_at = 0;
  for (const auto& [signature, line] : lines_.lines()) {
    for (const ArrivalKey& key : line.jobs) {
      if (++looked_at > kJobsReckoned) break;
      const model::Job& job = state.jobs()[key.slot];
      const int64_t wanted = gpus_wanted(state, job);
      if (wanted <= free) {
        free -= wanted;
        binds += job.pods_pending;
        continue;
      }
      if (line.refused_at_gains == gains || owed_.contains(job.id)) break;
      if (within_quota(state, job, wanted)) evictions += wanted - free;
      break;
    }
  }
  const PeriodicCosts& costs = *rules_.cycles;
  return base::milliseconds((binds * costs.bind_us + evictions * costs.evict_us) / 1000);
}

void TimedPolicy::decide_now(ClusterState& state, Instant now, model::Plan& plan) {
  if (layouts_ != state.inventory().layouts()) fits_when_empty_.clear();
  layouts_ = state.inventory().layouts();
  settle_owed(state);
  while (WaitingLines::Line* line = next_line(state)) {
    const JobIx job = state.job_index(line->jobs.begin()->slot);
    if (start(state, job, now, plan)) {
      lines_.sync(state);
      continue;
    }
    line->refused_at_gains = state.inventory().gains();
    if (rules_.takes != Takes::kNothing) displace_for(state, job, now, plan);
    lines_.sync(state);
    if (rules_.head_blocks && fits_when_empty(state, job, now)) return;
  }
}

// Those who are owed something go first; then by the policy's order. Where a head blocks, nothing
// when it was refused and nothing has come free since; what could not start on an empty cluster
// either blocks nobody.
WaitingLines::Line* TimedPolicy::next_line(const ClusterState& state) {
  const uint64_t gains = state.inventory().gains();
  WaitingLines::Line* best = nullptr;
  int64_t best_rank = 0;
  for (auto& [signature, line] : lines_.lines()) {
    if (rules_.head_blocks) {
      const auto known = fits_when_empty_.find(signature);
      if (known != fits_when_empty_.end() && !known->second) continue;
    } else if (line.refused_at_gains == gains) {
      continue;
    }
    const ArrivalKey& head = *line.jobs.begin();
    const int64_t rank = rank_of(state, head);
    const bool better =
        best == nullptr || rank < best_rank || (rank == best_rank && head < *best->jobs.begin());
    if (!better) continue;
    best = &line;
    best_rank = rank;
  }
  return best == nullptr || best->refused_at_gains == gains ? nullptr : best;
}

int64_t TimedPolicy::rank_of(const ClusterState& state, const ArrivalKey& head) const {
  if (owed_.contains(head.id)) return -1;
  if (rules_.order != Order::kLeastShare) return 0;
  const model::Job& job = state.jobs()[head.slot];
  const int64_t quota = quota_milli(state, job.queue);
  return held_milli(state, job.queue) * 1000 / std::max<int64_t>(quota, 1);
}

bool TimedPolicy::start(ClusterState& state, JobIx index, Instant now, model::Plan& plan) {
  const model::Job& job = state.job(index);
  const int64_t wanted = gpus_wanted(state, job);
  if (rules_.within_quota && !within_quota(state, job, wanted)) return false;
  // What is free but meant for a job whose victims still stop is not to be had.
  int64_t meant = 0;
  for (const auto& [id, owed] : owed_) meant += id == job.id ? 0 : owed.from_free;
  if (wanted > 0 && state.inventory().total_free().gpus - meant < wanted) return false;
  model::Trial trial(state);
  if (!place(trial, index, now)) return false;
  model::Bind bind{.job = job.id};
  for (const model::PodIx pod : job.pods) {
    if (state.pod(pod).holding == model::HoldingState::kProposed) {
      bind.pods.push_back(engine::binding_of(state, pod));
    }
  }
  trial.commit();
  owed_.erase(job.id);
  plan.decisions.emplace_back(std::move(bind));
  return true;
}

// False: the Trial is as it was.
bool TimedPolicy::place(model::Trial& trial, JobIx index, Instant now) const {
  const ClusterState& state = trial.state();
  const auto mark = trial.mark();
  for (const model::PodIx pod : state.job(index).pods) {
    if (state.pod(pod).phase != model::PodPhase::kPending) continue;
    const model::ShapeIx shape_index = state.pod(pod).shape;
    const model::Shape& shape = state.inventory().shape(shape_index);
    const model::NodeIx node = choose_node(state, shape);
    if (!node.valid()) {
      trial.rollback(mark);
      return false;
    }
    const std::vector<model::Gpu>& gpus = state.inventory().node(node).gpus;
    model::DeviceMask devices = 0;
    uint32_t missing = shape.gpu_count;
    for (size_t i = 0; i < gpus.size() && missing > 0; ++i) {
      if (placement::device_units(shape, gpus[i]) == 0) continue;
      devices |= model::DeviceMask{1} << i;
      --missing;
    }
    trial.place(pod, node, devices, {now, Instant::never()});
  }
  return true;
}

model::NodeIx TimedPolicy::choose_node(const ClusterState& state, const model::Shape& shape) const {
  const model::Inventory& inventory = state.inventory();
  model::NodeIx best;
  int64_t best_left = 0;
  for (const uint32_t slot : inventory.nodes_by_rank()) {
    const model::Node& node = inventory.nodes()[slot];
    if (shape.whole && node.free.gpus < shape.gpu_count) continue;
    if (best.valid() && node.free.gpus >= best_left) continue;
    if (!placement::eligible(inventory, shape, node)) continue;
    if (placement::fit_count(shape, node.free.resources, node.gpus, 1) == 0) continue;
    best = inventory.index_of(slot);
    best_left = node.free.gpus;
    if (!rules_.best_fit) break;
  }
  return best;
}

bool TimedPolicy::fits_when_empty(ClusterState& state, JobIx index, Instant now) {
  const uint32_t signature = state.job(index).signature;
  if (const auto known = fits_when_empty_.find(signature); known != fits_when_empty_.end()) {
    return known->second;
  }
  model::Trial trial(state);
  for (uint32_t slot = 0; slot < state.pods().size(); ++slot) {
    const model::Pod& pod = state.pods()[slot];
    if (pod.alive && pod.holds() && pod.job != index) trial.vacate(state.pod_index(slot));
  }
  const bool fits = place(trial, index, now);
  trial.rollback(0);
  fits_when_empty_[signature] = fits;
  return fits;
}

}  // namespace mainspring::sim
