// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/model/cluster_state.h"
#include "mainspring/sim/ledger.h"
#include "mainspring/sim/placed_pods.h"
#include "mainspring/sim/true_world.h"

// What must hold after every step of a run, looked at from outside.
//
// It keeps its own ledger of events and decisions and compares: each decision against the ledger
// before it is executed, the state against the ledger, and the true world against itself. What
// changed is checked at every step, everything at every `sweep_every`-th. A violation is counted
// and told in a sentence; the run goes on.

namespace mainspring::sim {

enum class Rule : uint8_t {
  kWorldOverCommitted,  // pods together use more of a device or node than it has
  kStateOverCommitted,  // the same in what the scheduler believes
  kNegativeAmount,
  kStateDiffers,    // the state is not what the events and decisions make it
  kEventRefused,    // the state refused a report of the outside
  kUnknownName,     // a decision names a job, pod, node or device that is not there
  kPodNotPending,   // a decision binds a pod that holds a place, is gone, or is in another life
  kNodeNotUsable,   // … to a node that left, is cordoned or not ready, or does not admit the pod
  kDoesNotFit,      // … to a node without the room
  kWrongDevice,     // … to devices that do not suit it, are taken, or are too many or too few
  kLevelBroken,     // … so that a group lies in two domains of its required level
  kBelowMinimum,    // a gang was bound below its minimum
  kBackoffIgnored,  // a job was bound before the time that its release named
  kWrongRelease,  // a release of what holds nothing or lives another life, or not of the whole job
  kHeldBelowMinimum,  // a gang stayed below its minimum longer than the start timeout
  kStartOverdue,      // a gang that did not start in time was not released
  kWakeNotAhead,      // the next wake-up is not in the future
  kWrongVictim,  // a displacement of what is not there, cannot be displaced, or stops already; or
                 // of too much or too little of a job
  kWrongRight,   // … for a job that has no right to it
  kDisplacedTooOften,  // … once more within the window, by work beyond its quota
  kWrongPromise,       // a promise without a victim, of places that cannot be had, or ended early
  kPromiseNotKept,     // a job with a promise was bound otherwise
  kPromiseOverdue,     // a promise was neither kept nor ended in time
  kQueueLimit,         // a queue was given more than its limit
  kPodRules,           // a bind against a rule among pods
  kQueueQuota,         // work that cannot be displaced was given more than the quota of its queue
};
inline constexpr size_t kRuleCount = 26;
std::string_view to_string(Rule rule);

struct Violation {
  Rule rule = Rule::kStateDiffers;
  base::Instant at;
  std::string sentence;
};

class Checker {
 public:
  explicit Checker(int64_t sweep_every = 256) : sweep_every_(sweep_every) {}

  // An event was delivered to the state.
  void observe(const model::Event& event, bool accepted, base::Instant now);
  // A plan was made and is going to be executed.
  void judge(const model::Plan& plan, base::Instant now);
  // A step is over. `world` may be nullptr when a recording is replayed.
  void inspect(const model::ClusterState& state, TrueWorld* world, base::Instant now);
  // Everything, once more.
  void sweep(const model::ClusterState& state, const TrueWorld* world, base::Instant now);

  [[nodiscard]] int64_t violation_count() const { return total_; }
  [[nodiscard]] int64_t count(Rule rule) const { return counts_[static_cast<size_t>(rule)]; }
  // The first hundred.
  [[nodiscard]] const std::vector<Violation>& violations() const { return violations_; }
  [[nodiscard]] int64_t steps() const { return steps_; }

 private:
  // The pods that hold a place, and with `promised` those that are promised one.
  [[nodiscard]] std::vector<PlacedPod> placed_pods(bool promised);
  void report(Rule rule, base::Instant at, std::string sentence);
  void judge_bind(const model::Bind& bind, base::Instant now);
  // `kept`: the place was promised to the pod, so what is promised to others is not in its way.
  bool judge_binding(const model::PodBinding& binding, const LedgerJob& job, LedgerPod& pod,
                     bool kept, base::Instant now);
  // The pods of one decision, in some order in which each obeys the rules.
  void judge_rules(const std::vector<model::PodBinding>& pods, base::Instant now);
  // `kept` as above.
  void judge_besides(const model::PodBinding& binding, const LedgerNode& node,
                     const model::PodShape& shape, bool kept, base::Instant now);
  bool judge_devices(const model::PodBinding& binding, LedgerNode& node, const LedgerPod& pod,
                     bool kept, base::Instant now);
  void judge_levels(const LedgerJob& job, const std::set<std::string>& bound, base::Instant now);
  void judge_release(const model::Release& release, base::Instant now);
  void judge_displace(const model::Displace& displace, base::Instant now);
  void judge_victim(const model::Displace& displace, const model::Victim& victim,
                    base::Instant now);
  void judge_right(const LedgerJob& winner, const model::Victim& victim, const LedgerJob& job,
                   bool beyond_quota, base::Instant now);
  void judge_promised(const model::Displace& displace, base::Instant now);
  void judge_room(const model::Displace& displace, base::Instant now);
  bool judge_promise_kept(const model::Bind& bind, LedgerJob& job, base::Instant now);
  void judge_promise_end(const model::PromiseEnded& ended, base::Instant now);
  // Limits and quotas of the job's queue and those above it.
  void judge_queues(const LedgerJob& job, base::Instant now);
  void inspect_promises(base::Instant now);
  void inspect_job(const std::string& id, base::Instant now);
  void inspect_pod(const model::ClusterState& state, const std::string& id, base::Instant now);
  void inspect_node(const model::ClusterState& state, const std::string& name, base::Instant now);
  void inspect_world_node(const TrueWorld& world, uint32_t node, base::Instant now);
  void inspect_domains(const model::ClusterState& state, base::Instant now);

  Ledger ledger_;
  int64_t sweep_every_;
  int64_t steps_ = 0;
  int64_t total_ = 0;
  std::array<int64_t, kRuleCount> counts_{};
  std::vector<Violation> violations_;
  std::set<std::string> watched_jobs_;  // below their minimum, or not started yet
  std::set<std::string> promised_jobs_;
};

}  // namespace mainspring::sim
