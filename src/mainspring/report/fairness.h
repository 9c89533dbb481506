// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/model/cluster_state.h"
#include "mainspring/model/event.h"
#include "mainspring/policy/queue_shares.h"
#include "mainspring/report/percentiles.h"

// How the queues and tenants fared: how long their jobs took, and what they owned, used, lent and
// borrowed.
//
// Times are of jobs that ended, by themselves, within the last 24 hours:
//   completion   from entry to end
//   waiting      the part of it in which the job's minimum did not run, after a displacement too
//
// GPU time is counted from the beginning of the observation, between cycles, exactly:
//   owned      the quota over time; nothing where there is none, or where it is unlimited
//   used       what is held by pods that were not asked to stop, or promised
//   borrowed   used beyond the quota, by a queue that has a finite one
//   lent       of what is owned and idle, what others borrow. Among siblings, what is borrowed
//              beyond what their parent borrows itself, and what their parent lends, comes from
//              those with idle quota, in proportion to it; what nobody owns is borrowed first-hand
// A tenant uses what its jobs use and borrows its part of what its queues borrow; it owns and lends
// what queues do that are bound to it alone. Rounding: parts are rounded down to a milli-GPU.

namespace mainspring::report {

struct GpuTime {
  int64_t owned_ms = 0;  // device-milliseconds
  int64_t used_ms = 0;
  int64_t lent_ms = 0;
  int64_t borrowed_ms = 0;
};

struct FairnessRow {
  std::string name;
  uint32_t depth = 0;  // of a queue in its tree
  bool owns = false;   // a quota of GPUs is known
  Percentiles completion;
  Percentiles waiting;
  Spread spread = Spread::kNoData;  // of completion
  int64_t waiting_now = 0;          // jobs whose minimum does not run
  base::Duration longest_wait;      // of these
  GpuTime gpu;
};

struct FairnessReport {
  base::Instant since;
  base::Instant at;
  base::Duration window;
  std::vector<FairnessRow> queues;   // along the tree, then those that are in none
  std::vector<FairnessRow> tenants;  // by name
  int64_t forgotten = 0;             // ended jobs of the window that memory did not hold
};

class Fairness {
 public:
  static constexpr base::Duration kWindow = base::seconds(24 * 3600);
  // Ended jobs that are remembered; the oldest are forgotten first.
  static constexpr size_t kEndsMax = 1'000'000;
  explicit Fairness(size_t ends_max = kEndsMax) : ends_max_(ends_max) {}

  // Directly after the state has applied the event. O(jobs that it changed).
  void observe(const model::Event& event, const model::ClusterState& state);
  // Directly after the cycle; `shares` as the cycle saw them. O(changed jobs + queues).
  void observe(const model::ClusterState& state, const policy::QueueShares& shares,
               base::Instant now);

  // O((queues + ends) × log).
  [[nodiscard]] FairnessReport report(const model::ClusterState& state, base::Instant now) const;

 private:
  struct SeenJob {
    bool alive = false;
    bool removed = false;
    uint32_t generation = 0;
    std::string id;
    model::QueueIx queue;
    model::NameIx tenant = 0;
    base::Instant submitted_at;
    base::Instant running_since = base::Instant::never();
    int64_t ran_ms = 0;
    int64_t held_milli = 0;
    std::pair<uint32_t, model::NameIx> charged;  // where it counts
  };
  struct End {
    base::Instant at;
    model::QueueIx queue;
    model::NameIx tenant = 0;
    int64_t completion_ms = 0;
    int64_t waiting_ms = 0;
  };
  __extension__ using Wide = __int128;
  // Milli-GPU now, and milli-GPU × ms so far.
  struct Account {
    int64_t owned = 0, used = 0, lent = 0, borrowed = 0;
    Wide owned_sum = 0, used_sum = 0, lent_sum = 0, borrowed_sum = 0;
    bool owns = false;

    void pass(int64_t span_ms);
    [[nodiscard]] GpuTime until(int64_t span_ms) const;
  };
  struct Group;

  void catch_up(const model::ClusterState& state, const std::string* taken_away);
  void look_at(const model::ClusterState& state, uint32_t slot, const std::string* taken_away);
  void count_held(const model::ClusterState& state);
  void set_rates(const model::ClusterState& state, const policy::QueueShares& shares);
  void lend(const model::ClusterState& state, std::span<const model::QueueIx> siblings,
            int64_t borrowed_above, int64_t lent_above);
  void set_tenant_rates(const model::ClusterState& state);

  size_t ends_max_;
  std::vector<SeenJob> jobs_;  // by slot
  std::deque<End> ends_;       // in order
  std::vector<Account> queues_;
  std::map<std::string, Account> tenants_;
  std::map<std::pair<uint32_t, model::NameIx>, int64_t> held_;  // by queue and tenant, milli-GPU
  bool started_ = false;
  base::Instant since_;
  base::Instant counted_until_;
  base::Instant forgotten_until_ = base::Instant{INT64_MIN};
  int64_t forgotten_ = 0;
  uint64_t cursor_ = 0;
  uint64_t held_cursor_ = 0;
  bool counted_ = false;
  uint64_t claims_ = 0;
  uint64_t shares_version_ = 0;
};

}  // namespace mainspring::report
