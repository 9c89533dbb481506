// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/timed_policies.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "mainspring/engine/decisions.h"
#include "mainspring/placement/node_fit.h"
#include "mainspring/sim/timed_amounts.h"

namespace mainspring::sim {

using base::Instant;
using model::ClusterState;
using model::JobIx;

namespace {

constexpr std::string_view kNames[] = {"first-fit", "best-fit", "fifo",
                                       "priority",  "static",   "periodic"};

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
  pass_cycle(state, now, plan);
  return plan;
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
    if (placement::fit_count(shape, node, 1) == 0) continue;
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
