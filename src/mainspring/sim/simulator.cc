// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/simulator.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "mainspring/model/snapshot.h"
#include "mainspring/sim/run_digest.h"

namespace mainspring::sim {
namespace {

// One generator per concern, so that one more draw here moves nothing there.
enum Stream : uint64_t { kDeliveryStream = 1, kPodStream = 2, kFaultStream = 3 };

constexpr int64_t kProgressEvery = 256;

}  // namespace

Simulator::Simulator(SimulationInputs inputs, Decide decide, SimulationOptions options)
    : inputs_(std::move(inputs)),
      decide_(std::move(decide)),
      options_(std::move(options)),
      world_(inputs_.nodes),
      delivery_(agenda_, inputs_.chances, base::Rng(inputs_.seed).fork(kDeliveryStream)),
      lives_(world_, agenda_, delivery_, inputs_.pod_times, inputs_.chances,
             base::Rng(inputs_.seed).fork(kPodStream)),
      faults_(world_, agenda_, delivery_, lives_, inputs_.chances,
              base::Rng(inputs_.seed).fork(kFaultStream)),
      checker_(options_.sweep_every) {}

base::Result<std::unique_ptr<Simulator>> Simulator::create(SimulationInputs inputs, Decide decide,
                                                           SimulationOptions options) {
  std::unique_ptr<Simulator> made(
      new Simulator(std::move(inputs), std::move(decide), std::move(options)));
  if (auto ok = made->begin(); !ok) return base::failure(ok.error().code, ok.error().message);
  return made;
}

// The scheduler starts with what it finds: configuration, nodes and queues.
base::Status Simulator::begin() {
  std::vector<model::EventBody> found;
  found.emplace_back(model::ConfigChanged{inputs_.config});
  for (const WorldNode& node : world_.nodes()) {
    found.emplace_back(model::NodeChanged{world_.report(node)});
  }
  for (const model::QueueSpec& queue : inputs_.queues) {
    found.emplace_back(model::QueueChanged{queue});
  }
  for (model::EventBody& body : found) {
    model::Event event;
    event.body = std::move(body);
    if (auto ok = state_.apply(event); !ok) return ok;
    if (options_.check) checker_.observe(event, true, {});
    fold(run_, event);
  }
  if (options_.record != nullptr) {
    for (const model::Event& event : model::take_snapshot(state_)) {
      options_.record->snapshot(event);
    }
    options_.record->end_snapshot();
  }
  plan_queue_changes();
  put_next_arrival();
  faults_.plan(inputs_.faults);
  return {};
}

void Simulator::plan_queue_changes() {
  for (const config::TimedQueueChange& change : inputs_.queue_changes) {
    agenda_.put(change.at, [this, change] {
      const std::string order = "queue:" + change.queue.name;
      if (change.gone) {
        delivery_.send(model::QueueGone{change.queue.name}, order);
      } else {
        delivery_.send(model::QueueChanged{change.queue}, order);
      }
    });
  }
}

void Simulator::put_next_arrival() {
  if (arrived_ == inputs_.jobs.size()) return;
  const base::Instant at = inputs_.jobs[arrived_].spec.submitted_at;
  agenda_.put(std::max(at, agenda_.now()), [this] {
    // All of one instant together, before faults of the same instant look for them.
    while (arrived_ < inputs_.jobs.size() &&
           inputs_.jobs[arrived_].spec.submitted_at <= agenda_.now()) {
      lives_.submit(inputs_.jobs[arrived_++]);
    }
    put_next_arrival();
  });
}

bool Simulator::nothing_left() const {
  return arrived_ == inputs_.jobs.size() && lives_.unfinished_jobs() == 0 &&
         faults_.timed_left() == 0 && state_.job_count() == 0;
}

void Simulator::run() {
  while (step(base::Instant::never())) {
  }
}

void Simulator::run_until(base::Instant at) {
  while (step(at)) {
  }
}

// One instant: what happens then, what of it arrives, and one cycle. False: there is none before
// `until`, or the run is over.
bool Simulator::step(base::Instant until) {
  if (over_) return false;
  const base::Instant end = base::Instant{} + inputs_.length;
  const base::Instant next = std::min(agenda_.next(), wake_);
  const bool last = next > end || nothing_left();
  const base::Instant reached = last ? std::min(end, nothing_left() ? agenda_.now() : end) : next;
  if (reached > until) return false;
  counters_.pass(reached, world_.held_milli(), world_.capacity_milli());
  if (last) {
    over_ = true;
    if (options_.check) checker_.sweep(state_, &world_, reached);
    return false;
  }
  agenda_.advance(next);
  agenda_.run_due();
  const bool woken = wake_ <= next;
  if (woken) wake_ = base::Instant::never();
  if (!delivery_.has_arrived() && !woken) return true;
  if (!delivery_.has_arrived()) delivery_.tick();
  for (const model::Event& event : delivery_.take_arrived()) deliver(event);
  decide();
  if (options_.check) checker_.inspect(state_, &world_, next);
  if (options_.progress && counters_.cycles % kProgressEvery == 0) options_.progress(next);
  return true;
}

void Simulator::deliver(const model::Event& event) {
  const bool accepted = state_.apply(event).has_value();
  ++counters_.events;
  if (!accepted) ++counters_.events_refused;
  if (options_.check) checker_.observe(event, accepted, agenda_.now());
  if (options_.record != nullptr) options_.record->event(event);
  fold(run_, event);
  run_.add(accepted);
  if (const auto* gone = std::get_if<model::JobGone>(&event.body)) verdicts_.erase(gone->job);
}

void Simulator::decide() {
  const base::Instant now = agenda_.now();
  const model::Plan plan = decide_(state_, now);
  ++counters_.cycles;
  if (options_.check) checker_.judge(plan, now);
  const uint64_t digest = digest_of_decisions(plan);
  for (base::RunHash* hash : {&run_, &decisions_}) {
    hash->add(now.ms);
    hash->add(digest);
  }
  if (options_.record != nullptr) options_.record->cycle(now, digest);
  for (const model::Explanation& explanation : plan.explanations) {
    verdicts_[explanation.job] = explanation.verdict;
  }
  for (const model::Decision& decision : plan.decisions) {
    if (const auto* bind = std::get_if<model::Bind>(&decision)) {
      verdicts_.erase(bind->job);
      counters_.binds += static_cast<int64_t>(bind->pods.size());
    } else if (std::holds_alternative<model::Release>(decision)) {
      ++counters_.releases;
    } else if (const auto* displace = std::get_if<model::Displace>(&decision)) {
      counters_.displacements += static_cast<int64_t>(displace->victims.size());
    } else {
      ++counters_.promises_ended;
    }
  }
  // A wake-up that is not ahead would stop the time.
  wake_ = std::max(plan.next_wake, now + base::milliseconds(1));
  lives_.execute(plan);
}

const model::Verdict* Simulator::last_verdict(const std::string& job) const {
  const auto found = verdicts_.find(job);
  return found == verdicts_.end() ? nullptr : &found->second;
}

RunStatistics Simulator::statistics() const {
  RunStatistics figures;
  figures.end = counters_.counted_until;
  figures.waits = wait_times(lives_.records());
  for (const JobRecord& job : lives_.records()) {
    ++figures.jobs_submitted;
    const bool started = job.started_at != base::Instant::never();
    if (started) ++figures.jobs_started;
    if (job.finished_at != base::Instant::never()) ++figures.jobs_finished;
    if (job.removed) ++figures.jobs_removed;
    if (!started && !job.removed) ++figures.jobs_waiting;
    figures.repairs += job.repairs;
    figures.lost_gpu_ms += job.lost_gpu_ms;
  }
  figures.refused_binds = lives_.refused_binds();
  figures.missed_faults = faults_.missed();
  if (counters_.capacity > 0) {
    figures.utilisation_milli = static_cast<int64_t>(1000 * counters_.held / counters_.capacity);
  }
  figures.counters = counters_;
  return figures;
}

uint64_t Simulator::run_hash() const {
  base::RunHash hash = run_;
  hash.add(state_.hash());
  return hash.value();
}

}  // namespace mainspring::sim
