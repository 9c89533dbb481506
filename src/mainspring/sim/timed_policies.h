// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/model/cluster_state.h"
#include "mainspring/model/plan.h"
#include "mainspring/model/trial.h"
#include "mainspring/sim/waiting_lines.h"

// What others would decide in a scenario with time. Each works on the same state as the engine and
// by its Trials, and is executed by the same simulator; a job is placed whole or not at all, pod
// after pod, without topology.
//
//   first-fit  who came first goes first, and nobody passes: a head that does not fit blocks all
//              behind it. Each pod on the first node with room. Nobody is displaced.
//   best-fit   the same; each pod on the node that it leaves least room on.
//   fifo       who came first goes first; who does not fit is passed over, but takes what it lacks
//              from those who came later, the latest first ("first-come preemption").
//   priority   higher priority first, then who came first; who does not fit is passed over, but
//              displaces jobs of lower priority, the lowest and then the latest first.
//   static     a tenant never has more GPUs than the quota of its queue; nobody is displaced.
//   periodic   the whole cluster once a second, as KAI and Volcano do: the queue that holds least
//              of its quota goes first; a job that fits into its queue's quota takes what it lacks
//              from queues beyond theirs, of which nothing more is stopped than it needs. What was
//              evicted in one cycle is placed in a later one. A cycle costs time for each pod that
//              is bound or evicted, and takes effect when that time is over.

namespace mainspring::sim {

// What one pod costs the periodic scheduler.
struct PeriodicCosts {
  base::Duration period = base::seconds(1);
  int64_t bind_us = 0;
  int64_t evict_us = 0;
};

// As KAI was measured on a real API server of 2 cores: reclaiming 2,000 GPUs for a gang of 250 pods
// took 14.7 s to the first eviction and 4.6 s from there to the last (together 9.6 ms each), and
// from the last one 12.4 s until 250 pods were bound (9.3 s to the first: 45 ms each, with the
// search). Binding alone costs it 11 ms.
inline constexpr PeriodicCosts kMeasuredCosts{.bind_us = 45'000, .evict_us = 9'600};

// Every policy above, in that order.
std::span<const std::string_view> timed_baselines();

class TimedPolicy {
 public:
  // Nothing when there is no policy of that name.
  static std::optional<TimedPolicy> of_name(std::string_view name,
                                            PeriodicCosts costs = kMeasuredCosts);

  model::Plan decide(model::ClusterState& state, base::Instant now);

 private:
  enum class Order : uint8_t { kArrival, kPriority, kLeastShare };
  enum class Takes : uint8_t { kNothing, kLaterCome, kLowerPriority, kBeyondQuota };
  struct Rules {
    bool best_fit = false;
    bool head_blocks = false;
    bool within_quota = false;
    Order order = Order::kArrival;
    Takes takes = Takes::kNothing;
    std::optional<PeriodicCosts> cycles;
  };
  struct Owed {
    std::vector<std::string> victims;  // their pods
    int64_t from_free = 0;             // GPUs that it needs besides those of its victims
  };

  explicit TimedPolicy(Rules rules) : rules_(rules), lines_(rules.order == Order::kPriority) {}

  void decide_now(model::ClusterState& state, base::Instant now, model::Plan& plan);
  WaitingLines::Line* next_line(const model::ClusterState& state);
  [[nodiscard]] int64_t rank_of(const model::ClusterState& state, const ArrivalKey& head) const;
  bool start(model::ClusterState& state, model::JobIx job, base::Instant now, model::Plan& plan);
  bool place(model::Trial& trial, model::JobIx job, base::Instant now) const;
  [[nodiscard]] model::NodeIx choose_node(const model::ClusterState& state,
                                          const model::Shape& shape) const;
  void displace_for(model::ClusterState& state, model::JobIx job, base::Instant now,
                    model::Plan& plan);
  [[nodiscard]] std::vector<model::JobIx> candidates(const model::ClusterState& state,
                                                     const model::Job& winner) const;
  [[nodiscard]] std::vector<model::JobIx> choose_victims(
      model::ClusterState& state, model::JobIx winner, const std::vector<model::JobIx>& candidates,
      base::Instant now) const;
  [[nodiscard]] bool fits_when_empty(model::ClusterState& state, model::JobIx job,
                                     base::Instant now);
  [[nodiscard]] base::Duration cost_of_cycle(const model::ClusterState& state);
  void settle_owed(const model::ClusterState& state);

  Rules rules_;
  WaitingLines lines_;
  std::map<std::string, Owed> owed_;          // by job
  std::map<uint32_t, bool> fits_when_empty_;  // by signature
  uint64_t layouts_ = 0;
  // Of the periodic one.
  std::optional<base::Instant> acts_at_;
  base::Instant idle_from_;
  uint64_t seen_changes_ = 0;
};

}  // namespace mainspring::sim
