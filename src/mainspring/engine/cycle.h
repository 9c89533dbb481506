// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mainspring/model/cluster_state.h"
#include "mainspring/model/placer.h"
#include "mainspring/model/plan.h"
#include "mainspring/placement/gang_search.h"
#include "mainspring/placement/price_scorer.h"
#include "mainspring/policy/job_queue.h"

// One cycle: facts in the state, decisions out.
//
//   expire   gangs that did not start in time are released whole
//   repair   gangs that lost members get others, before anything new starts
//   start    waiting jobs, best first; a line whose head does not fit is passed over
//   grow     jobs that run with their minimum take more
//   explain  every job that newly waits learns why
//
// An Engine holds caches only: everything that decides is in the state, so an engine that is new to
// a restored state decides as the old one did. It reads no clock and does no I/O. A cycle in which
// nothing changed costs O(1).

namespace mainspring::engine {

struct EngineOptions {
  placement::GangSearchOptions search;
  // Off: the Plan carries no explanations (replays that only count).
  bool explain = true;
};

// What the last cycle did, for metrics and benchmarks.
struct CycleCounts {
  int64_t jobs_tried = 0;
  int64_t jobs_started = 0;
  int64_t pods_bound = 0;
};

class Engine {
 public:
  explicit Engine(EngineOptions options = {});
  ~Engine();

  model::Plan run_cycle(model::ClusterState& state, base::Instant now);

  // Why the job does not start, as of now; kNow for a job that waits for nothing.
  model::Verdict verdict(model::ClusterState& state, model::JobIx job);

  [[nodiscard]] model::Placer& placer();
  [[nodiscard]] const CycleCounts& last_cycle() const { return counts_; }

 private:
  struct Answer {
    model::Verdict coarse;
    model::Verdict full;
    uint64_t layouts = 0;
    bool known = false;
  };

  void expire(model::ClusterState& state, base::Instant now, model::Plan& plan);
  void repair(model::ClusterState& state, base::Instant now, model::Plan& plan);
  void start(model::ClusterState& state, base::Instant now, model::Plan& plan);
  void grow(model::ClusterState& state, base::Instant now, model::Plan& plan);
  void release(model::ClusterState& state, model::JobIx job, model::ReleaseReason reason,
               base::Instant now, model::Plan& plan);
  // Places what the job lacks and, when it fits, claims it and adds the decision.
  model::Verdict try_job(model::ClusterState& state, model::JobIx job, base::Instant now,
                         model::Plan& plan);
  void refused(model::ClusterState& state, const policy::JobKey& key, uint32_t signature,
               const model::Verdict& coarse, model::Plan& plan);
  void explain_arrivals(const model::ClusterState& state, model::Plan& plan);

  EngineOptions options_;
  std::unique_ptr<placement::PriceScorer> scorer_;
  std::unique_ptr<placement::GangSearch> search_;
  policy::JobQueue queue_;
  // By signature: the answer that every job of the line has.
  std::vector<Answer> answers_;
  // By job slot: the gains at which a repair or growth was last tried in vain.
  std::vector<uint64_t> tried_at_gains_;
  CycleCounts counts_;
};

}  // namespace mainspring::engine
