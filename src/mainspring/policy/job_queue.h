// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "mainspring/model/cluster_state.h"
#include "mainspring/policy/job_order.h"

// The jobs that want something, kept in order from the state's change log.
//
// Waiting jobs stand in lines by signature: when the head of a line cannot be placed, nobody behind
// it can, so a cycle asks once per line and not once per job. Derived data; `sync` costs O(changed
// jobs × log jobs).

namespace mainspring::policy {

// What a job wants of the next cycle.
enum class Want : uint8_t {
  kNothing,
  kStart,   // holds nothing; wants its minimum
  kRepair,  // holds something, but less than its minimum
  kGrow,    // has its minimum; wants more
};

struct Line {
  std::set<JobKey> jobs;
  // The inventory's `gains` when the head was last refused; nothing to try again until it has
  // grown.
  std::optional<uint64_t> refused_at_gains;
};

class JobQueue {
 public:
  // Catches up with the state. Jobs whose back-off ends by `now` join their lines.
  void sync(const model::ClusterState& state, base::Instant now);

  [[nodiscard]] const std::set<JobKey>& repairs() const { return repairs_; }
  [[nodiscard]] const std::set<JobKey>& growing() const { return growing_; }

  // The best head of a line that may be tried at `gains`, with the line's signature. Lines that
  // were refused are passed over; call until it returns nothing. Amortised O(log lines).
  std::optional<std::pair<JobKey, uint32_t>> next_open(uint64_t gains);
  // The head of the line was refused at `gains`.
  void refuse(uint32_t signature, uint64_t gains);
  [[nodiscard]] const std::map<uint32_t, Line>& lines() const { return lines_; }

  // Jobs whose claimed pods must have started by then, soonest first.
  [[nodiscard]] const std::set<std::pair<base::Instant, uint32_t>>& deadlines() const {
    return deadlines_;
  }
  // When the first job that backs off may be tried again.
  [[nodiscard]] base::Instant first_backoff_end() const;
  // Jobs that entered a line since the last call.
  std::vector<uint32_t> take_arrivals() { return std::exchange(arrivals_, {}); }

 private:
  struct Place {
    Want want = Want::kNothing;
    JobKey key;
    uint32_t signature = 0;
    base::Instant deadline = base::Instant::never();
    base::Instant backoff_until;
    bool backing_off = false;
    uint64_t round = 0;  // the last sync that looked at the job
  };

  void reset(const model::ClusterState& state);
  void update(const model::ClusterState& state, uint32_t slot, base::Instant now);
  void remove(Place& place, uint32_t slot);
  void insert(Place& place, uint32_t slot);

  bool started_ = false;
  uint64_t cursor_ = 0;
  uint64_t round_ = 0;
  std::vector<Place> places_;  // by job slot
  std::map<uint32_t, Line> lines_;
  std::set<JobKey> repairs_;
  std::set<JobKey> growing_;
  std::set<std::pair<base::Instant, uint32_t>> deadlines_;
  std::set<std::pair<base::Instant, uint32_t>> backoffs_;
  std::vector<uint32_t> arrivals_;
  // Heads of lines not yet refused, best first; built when gains grow, kept up by inserts.
  std::set<std::pair<JobKey, uint32_t>> open_;
  uint64_t open_gains_ = 0;
};

}  // namespace mainspring::policy
