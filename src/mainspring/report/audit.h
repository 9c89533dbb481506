// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/model/cluster_state.h"
#include "mainspring/model/event.h"
#include "mainspring/model/plan.h"

// Every displacement with what became of it: who, for whom, by which rule, at which cost, what else
// was looked at, and whether the winner really ran afterwards.

namespace mainspring::report {

// How a displacement went out for the job that others were displaced for.
enum class Outcome : uint8_t {
  kOpen,       // it has not started yet
  kStarted,    // its minimum ran
  kLate,       // what was to be freed was not free in time
  kBroken,     // a promised node went away, or the job became another one
  kReleased,   // it took its places, but did not start in time
  kWithdrawn,  // its owner took it away before it ran
};
std::string_view to_string(Outcome outcome);

struct Displacement {
  base::Instant at;
  std::string winner;
  std::string winner_queue;
  std::string winner_tenant;
  model::DisplaceRule rule = model::DisplaceRule::kPreempt;  // the strongest that was needed
  std::vector<model::Victim> victims;
  std::vector<model::Alternative> alternatives;
  base::Instant until;  // the promise ends then
  Outcome outcome = Outcome::kOpen;
  base::Instant settled_at = base::Instant::never();
};

// Over everything that was seen, whether it is still kept or not.
struct AuditTotals {
  int64_t displacements = 0;
  int64_t victims = 0;
  int64_t victims_kept = 0;
  int64_t lost_gpu_ms = 0;
  int64_t by_rule[3] = {};     // victims, by DisplaceRule
  int64_t by_outcome[6] = {};  // displacements, by Outcome
};

class Audit {
 public:
  // The oldest displacements are forgotten when there are more of them, or more victims, than that.
  static constexpr int64_t kVictimsMax = 100'000;
  explicit Audit(int64_t victims_max = kVictimsMax) : victims_max_(victims_max) {}

  // Directly after the state has applied the event. O(log open displacements).
  void observe(const model::Event& event, const model::ClusterState& state);
  // Directly after the cycle. O(decisions + open displacements).
  void observe(const model::Plan& plan, const model::ClusterState& state, base::Instant now);

  // Oldest first.
  [[nodiscard]] const std::deque<Displacement>& displacements() const { return kept_; }
  [[nodiscard]] const AuditTotals& totals() const { return totals_; }

 private:
  void add(const model::Displace& decision, const model::ClusterState& state, base::Instant now);
  // Settled when the winner runs, or is there no more.
  void look_at(const std::string& winner, const model::ClusterState& state, base::Instant now);
  void settle(const std::string& winner, Outcome outcome, base::Instant now);

  int64_t victims_max_;
  std::deque<Displacement> kept_;
  uint64_t first_ = 0;                    // number of the oldest that is kept
  std::map<std::string, uint64_t> open_;  // by winner: the number of its displacement
  AuditTotals totals_;
};

}  // namespace mainspring::report
