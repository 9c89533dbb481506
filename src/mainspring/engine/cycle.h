// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "mainspring/engine/promise_watch.h"
#include "mainspring/model/cluster_state.h"
#include "mainspring/model/placer.h"
#include "mainspring/model/plan.h"
#include "mainspring/placement/gang_search.h"
#include "mainspring/placement/price_scorer.h"
#include "mainspring/policy/job_queue.h"
#include "mainspring/policy/make_room.h"
#include "mainspring/policy/queue_shares.h"
#include "mainspring/policy/rights.h"
#include "mainspring/policy/victims.h"

// One cycle: facts in the state, decisions out.
//
//   expire   gangs that did not start in time are released whole
//   redeem   jobs whose promised places are free by now take them
//   repair   gangs that lost members get others, before anything new starts
//   start    waiting jobs, queue by queue and best first; where one does not fit, others are
//            displaced for it if it has the right; a line whose head gets nothing is passed over
//   grow     jobs that run with their minimum take more
//   explain  every job that newly waits learns why
//
// An Engine holds caches only: everything that decides is in the state, so an engine that is new to
// a restored state decides as the old one did. It reads no clock and does no I/O. A cycle in which
// nothing changed costs O(1).

namespace mainspring::engine {

struct EngineOptions {
  placement::GangSearchOptions search;
  policy::RoomLimits room;
  // Off: the Plan carries no explanations (replays that only count).
  bool explain = true;
};

// What the last cycle did, for metrics and benchmarks.
struct CycleCounts {
  int64_t jobs_tried = 0;
  int64_t jobs_started = 0;
  int64_t pods_bound = 0;
  int64_t rooms_sought = 0;
  int64_t jobs_displaced = 0;
  int64_t promises_asked = 0;
};

class Engine {
 public:
  explicit Engine(EngineOptions options = {});
  ~Engine();

  model::Plan run_cycle(model::ClusterState& state, base::Instant now);

  // Why the job does not start, as of now; kNow for a job that waits for nothing.
  model::Verdict verdict(model::ClusterState& state, model::JobIx job);

  [[nodiscard]] model::Placer& placer();
  // What each queue is due, as of the last cycle; and as of now.
  [[nodiscard]] const policy::QueueShares& shares() const { return shares_; }
  const policy::QueueShares& shares(const model::ClusterState& state);
  [[nodiscard]] const CycleCounts& last_cycle() const { return counts_; }

 private:
  struct Answer {
    model::Verdict coarse;
    model::Verdict full;
    uint64_t layouts = 0;
    bool known = false;
  };

  void expire(model::ClusterState& state, base::Instant now, model::Plan& plan);
  void redeem(model::ClusterState& state, base::Instant now, model::Plan& plan);
  // Whether the places that are promised to the job can be taken.
  bool may_redeem(const model::ClusterState& state, model::JobIx job);
  void end_promise(model::ClusterState& state, model::JobIx job, base::Instant now,
                   model::Plan& plan);
  void repair(model::ClusterState& state, base::Instant now, model::Plan& plan);
  void start(model::ClusterState& state, base::Instant now, model::Plan& plan);
  void grow(model::ClusterState& state, base::Instant now, model::Plan& plan);
  void release(model::ClusterState& state, model::JobIx job, model::ReleaseReason reason,
               base::Instant now, model::Plan& plan);
  // Places what the job lacks (and more, if it may grow) and, when it fits and no limit forbids it,
  // claims it and adds the decision.
  model::Verdict try_job(model::ClusterState& state, model::JobIx job, bool grow, base::Instant now,
                         model::Plan& plan);
  // Whether the head of a line is admitted and finds a place, without harm to others.
  model::Verdict try_start(model::ClusterState& state, model::JobIx job, uint32_t signature,
                           base::Instant now, model::Plan& plan);
  // Displaces others for the job if that is right and helps. What has to change before it is worth
  // another try goes into `refusal`.
  bool try_displace(model::ClusterState& state, model::JobIx job, base::Instant now,
                    model::Plan& plan, policy::Refusal& refusal);
  void carry_out_room(model::ClusterState& state, const policy::Room& room, model::JobIx winner,
                      base::Instant now, model::Plan& plan);
  bool room_is_thinkable(const model::ClusterState& state, model::JobIx job,
                         const policy::Rights& rights) const;
  std::optional<policy::Room> find_room(model::ClusterState& state, model::JobIx job,
                                        const policy::Rights& rights, base::Instant now,
                                        policy::Refusal& refusal);
  void refused(model::ClusterState& state, const policy::JobKey& key, uint32_t signature,
               const model::Verdict& coarse, model::Plan& plan);
  void explain_arrivals(const model::ClusterState& state, model::Plan& plan);

  EngineOptions options_;
  std::unique_ptr<placement::PriceScorer> scorer_;
  std::unique_ptr<placement::GangSearch> search_;
  policy::JobQueue queue_;
  policy::QueueShares shares_;
  PromiseWatch promises_;
  std::optional<policy::Room> stop_others(model::ClusterState& state, model::JobIx job,
                                          const policy::Rights& rights, base::Instant now,
                                          policy::Refusal& refusal);
  policy::VictimPool& victims(const model::ClusterState& state, base::Instant now);
  // Of this cycle, made when it is first needed.
  std::unique_ptr<policy::VictimPool> victims_;
  // By signature: the answer that every job of the line has.
  std::vector<Answer> answers_;
  // By job slot: the gains at which a repair or growth was last tried in vain.
  std::vector<uint64_t> tried_at_gains_;
  CycleCounts counts_;
};

}  // namespace mainspring::engine
