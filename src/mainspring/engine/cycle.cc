// SPDX-License-Identifier: Apache-2.0
#include "mainspring/engine/cycle.h"

#include <algorithm>
#include <set>
#include <utility>

#include "mainspring/base/check.h"
#include "mainspring/engine/decisions.h"
#include "mainspring/model/gang.h"
#include "mainspring/placement/diagnose.h"
#include "mainspring/policy/admission.h"

namespace mainspring::engine {

using base::Instant;
using model::ClusterState;
using model::JobIx;
using model::Plan;
using model::Verdict;
using model::VerdictKind;

namespace {

constexpr uint64_t kNeverTried = ~0ULL;

// Whether a pod that was asked to stop still holds its place.
bool any_stopping(const ClusterState& state, const model::Job& job) {
  return std::ranges::any_of(job.pods, [&state](model::PodIx pod) {
    return state.pod(pod).holds() && state.pod(pod).phase == model::PodPhase::kStopping;
  });
}

// Takes back pods above the minimum until no limit is exceeded: those of one group, since of others
// it would have to be whole groups.
bool trim_to_limits(model::Trial& trial, const ClusterState& state,
                    const policy::QueueShares& shares, JobIx job) {
  while (!policy::within_limits(state, shares, job)) {
    if (trial.mark() == 0 || state.job(job).groups.size() > 1) return false;
    trial.rollback(trial.mark() - 1);
  }
  return minimum_met(state, state.job(job), model::Counts::kHolding);
}

// No place was sought, so there is none to tell of.
bool is_of_admission(model::ReasonCode code) {
  return code == model::ReasonCode::kPodsMissing ||
         (code >= model::ReasonCode::kUnknownQueue && code <= model::ReasonCode::kQueueQuota);
}

}  // namespace

Engine::Engine(EngineOptions options)
    : options_(options),
      scorer_(std::make_unique<placement::PriceScorer>()),
      search_(std::make_unique<placement::GangSearch>(*scorer_, options.search)) {}

Engine::~Engine() = default;

model::Placer& Engine::placer() { return *search_; }

Plan Engine::run_cycle(ClusterState& state, Instant now) {
  Plan plan;
  counts_ = {};
  // Prices rest on what is marked in the state, so that a restored engine has the same ones.
  if (placement::PriceScorer::demand_grew(state)) state.mark_demand_priced();
  scorer_->refresh(state);
  queue_.sync(state, now);
  shares_.refresh(state, now);
  victims_.reset();
  expire(state, now, plan);
  redeem(state, now, plan);
  repair(state, now, plan);
  start(state, now, plan);
  grow(state, now, plan);
  // Who borrowed just now may have given somebody the right to take something back.
  start(state, now, plan);
  if (options_.explain) explain_arrivals(state, plan);
  queue_.sync(state, now);
  plan.next_wake = queue_.first_retry();
  for (const auto* ends : {&queue_.deadlines(), &queue_.promised()}) {
    if (!ends->empty()) plan.next_wake = std::min(plan.next_wake, ends->begin()->first);
  }
  return plan;
}

void Engine::expire(ClusterState& state, Instant now, Plan& plan) {
  std::vector<uint32_t> due;
  for (const auto& [deadline, slot] : queue_.deadlines()) {
    if (deadline > now) break;
    due.push_back(slot);
  }
  // Slots differ after a restart; ids do not.
  std::ranges::sort(due, {}, [&state](uint32_t slot) { return state.jobs()[slot].id; });
  for (const uint32_t slot : due) {
    const JobIx index = state.job_index(slot);
    const model::Job& job = state.job(index);
    if (minimum_met(state, job, model::Counts::kStarted)) {
      // Only pods above the minimum are late; the gang runs.
      state.set_start_deadline(index, Instant::never());
      continue;
    }
    const bool whole = minimum_met(state, job, model::Counts::kHolding);
    release(state, index,
            whole ? model::ReleaseReason::kStartTimeout : model::ReleaseReason::kBelowMinimum, now,
            plan);
  }
  queue_.sync(state, now);
}

void Engine::release(ClusterState& state, JobIx index, model::ReleaseReason reason, Instant now,
                     Plan& plan) {
  const model::Job& job = state.job(index);
  model::Release decision{.job = job.id, .reason = reason};
  for (const model::PodIx pod_index : job.pods) {
    const model::Pod& pod = state.pod(pod_index);
    if (pod.holds()) decision.pods.push_back({.pod = pod.id, .incarnation = pod.incarnation});
  }
  decision.retry_at = now + model::retry_backoff(state.config(), job.failed_starts);
  state.begin_release(index, decision.retry_at);
  plan.decisions.emplace_back(std::move(decision));
}

const policy::QueueShares& Engine::shares(const ClusterState& state) {
  shares_.refresh(state, state.now());
  return shares_;
}

Verdict Engine::try_job(ClusterState& state, JobIx index, bool grow, Instant now, Plan& plan) {
  ++counts_.jobs_tried;
  const model::Job& job = state.job(index);
  const Instant until = job.expected_run.ms > 0 ? now + job.expected_run : Instant::never();
  model::Trial trial(state);
  Verdict verdict = search_->place(trial, {.job = index, .when = {now, until}, .grow = grow});
  if (verdict.kind != VerdictKind::kNow) return verdict;
  if (!trim_to_limits(trial, state, shares_, index)) {
    return {.kind = VerdictKind::kNotNow, .code = model::ReasonCode::kQueueLimit};
  }
  model::Bind decision{.job = job.id};
  for (const model::PodIx pod_index : job.pods) {
    const model::Pod& pod = state.pod(pod_index);
    if (pod.holding == model::HoldingState::kProposed) {
      decision.pods.push_back(binding_of(state, pod_index));
    }
  }
  // The search reckons with what a stopping member still holds; the minimum does not. Until that
  // one is gone there may be nobody to take its part.
  if (any_stopping(state, job) && !minimum_met(state, job, model::Counts::kHolding)) {
    return {.kind = VerdictKind::kNotNow, .code = model::ReasonCode::kNotEnoughFree};
  }
  trial.commit();
  MAINSPRING_CHECK(minimum_met(state, job, model::Counts::kHolding),
                   "a job was started below its minimum");
  if (decision.pods.empty()) return verdict;
  counts_.pods_bound += static_cast<int64_t>(decision.pods.size());
  if (is_gang(job) && !minimum_met(state, job, model::Counts::kStarted)) {
    state.set_start_deadline(index, now + state.config().gang_start_timeout);
  }
  plan.decisions.emplace_back(std::move(decision));
  return verdict;
}

void Engine::repair(ClusterState& state, Instant now, Plan& plan) {
  const std::vector<policy::JobKey> broken(queue_.repairs().begin(), queue_.repairs().end());
  for (const policy::JobKey& key : broken) {
    const JobIx index = state.job_index(key.slot);
    if (state.job(index).start_deadline == Instant::never()) {
      state.set_start_deadline(index, now + state.config().gang_start_timeout);
    }
    if (!minimum_met(state, state.job(index), model::Counts::kListed)) continue;
    tried_at_gains_.resize(std::max<size_t>(tried_at_gains_.size(), key.slot + 1), kNeverTried);
    if (tried_at_gains_[key.slot] == state.inventory().gains()) continue;
    const Verdict verdict = try_job(state, index, true, now, plan);
    // The end of a stopping member is a reason to try again, even if it frees nothing.
    const bool settled =
        verdict.kind != VerdictKind::kNow && !any_stopping(state, state.job(index));
    tried_at_gains_[key.slot] = settled ? state.inventory().gains() : kNeverTried;
  }
}

void Engine::start(ClusterState& state, Instant now, Plan& plan) {
  const policy::QueueOrder order(state, shares_);
  // Claims change with every start; what was refused in this cycle is not asked again for that, but
  // when somebody was displaced.
  uint64_t claims = state.claims() + shares_.version();
  while (const auto head = queue_.next_open({state.inventory().gains(), claims, now}, order)) {
    const auto [key, signature] = *head;
    const JobIx job = state.job_index(key.slot);
    const Verdict verdict = try_start(state, job, signature, now, plan);
    if (verdict.kind == VerdictKind::kNow) {
      ++counts_.jobs_started;
      queue_.sync(state, now);
      continue;
    }
    policy::Refusal refusal{.gains = state.inventory().gains(), .claims = claims};
    if (verdict.kind == VerdictKind::kNotNow && try_displace(state, job, now, plan, refusal)) {
      plan.explanations.push_back(
          {.job = key.id,
           .verdict = {.kind = VerdictKind::kNotNow, .code = model::ReasonCode::kPromised}});
      queue_.sync(state, now);
      claims = state.claims() + shares_.version();
      continue;
    }
    queue_.refuse(signature, refusal);
    refused(state, key, signature, verdict, plan);
  }
}

Verdict Engine::try_start(ClusterState& state, JobIx job, uint32_t signature, Instant now,
                          Plan& plan) {
  if (Verdict no = policy::admit(state, shares_, job); no.kind != VerdictKind::kNow) return no;
  const uint64_t gains = state.inventory().gains();
  if (queue_.lines().at(signature).unplaceable_at == gains) {
    // Only others could make room.
    if (signature < answers_.size() && answers_[signature].known) {
      return answers_[signature].coarse;
    }
    return {.kind = VerdictKind::kNotNow, .code = model::ReasonCode::kNotEnoughFree};
  }
  Verdict verdict = try_job(state, job, false, now, plan);
  if (verdict.kind != VerdictKind::kNow) queue_.set_unplaceable(signature, gains);
  return verdict;
}

void Engine::grow(ClusterState& state, Instant now, Plan& plan) {
  queue_.sync(state, now);
  const std::vector<policy::JobKey> growing(queue_.growing().begin(), queue_.growing().end());
  for (const policy::JobKey& key : growing) {
    tried_at_gains_.resize(std::max<size_t>(tried_at_gains_.size(), key.slot + 1), kNeverTried);
    if (tried_at_gains_[key.slot] == state.inventory().gains()) continue;
    const size_t before = plan.decisions.size();
    try_job(state, state.job_index(key.slot), true, now, plan);
    const bool grew = plan.decisions.size() > before;
    tried_at_gains_[key.slot] = grew ? kNeverTried : state.inventory().gains();
  }
}

// The answer is made anew when the search's own word or the layout of the cluster changed; the
// exact counts of the moment are made on demand by `verdict`.
void Engine::refused(ClusterState& state, const policy::JobKey& key, uint32_t signature,
                     const Verdict& coarse, Plan& plan) {
  if (!options_.explain) return;
  if (answers_.size() <= signature) answers_.resize(signature + 1);
  Answer& answer = answers_[signature];
  const uint64_t layouts = state.inventory().layouts();
  if (answer.known && answer.layouts == layouts && answer.coarse.code == coarse.code) return;
  Verdict full = is_of_admission(coarse.code)
                     ? coarse
                     : placement::diagnose(state, *search_, state.job_index(key.slot), coarse);
  const bool told = answer.known && answer.full.kind == full.kind && answer.full.code == full.code;
  answer = {.coarse = coarse, .full = std::move(full), .layouts = layouts, .known = true};
  if (told) return;
  for (const policy::JobKey& waiting : queue_.lines().at(signature).jobs) {
    plan.explanations.push_back({.job = waiting.id, .verdict = answer.full});
  }
}

// Jobs that joined a line whose answer is known already.
void Engine::explain_arrivals(const ClusterState& state, Plan& plan) {
  std::set<std::string> told;
  for (const model::Explanation& explanation : plan.explanations) told.insert(explanation.job);
  for (const uint32_t slot : queue_.take_arrivals()) {
    const model::Job& job = state.jobs()[slot];
    const auto line = queue_.lines().find(job.signature);
    if (!job.alive || line == queue_.lines().end()) continue;
    if (!line->second.jobs.contains(policy::key_of(job, slot))) continue;
    if (told.contains(job.id)) continue;
    plan.explanations.push_back({.job = job.id, .verdict = answers_[job.signature].full});
  }
}

Verdict Engine::verdict(ClusterState& state, JobIx index) {
  const model::Job& job = state.job(index);
  if (job.pods_pending == 0 || job.removed) return {};
  if (job.releasing || job.backoff_until > state.now()) {
    return {.kind = VerdictKind::kNotNow, .code = model::ReasonCode::kBackingOff};
  }
  if (job.promised()) return {.kind = VerdictKind::kNotNow, .code = model::ReasonCode::kPromised};
  if (Verdict no = policy::admit(state, shares(state), index); no.kind != VerdictKind::kNow) {
    return no;
  }
  scorer_->refresh(state);
  model::Trial trial(state);
  Verdict coarse = search_->place(trial, {.job = index, .when = {state.now()}});
  trial.rollback(0);
  if (coarse.kind == VerdictKind::kNow) return coarse;
  return placement::diagnose(state, *search_, index, coarse);
}

}  // namespace mainspring::engine
