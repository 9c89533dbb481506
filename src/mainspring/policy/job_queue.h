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
#include "mainspring/policy/queue_order.h"

// The jobs that want something, kept in order from the state's change log.
//
// Waiting jobs stand in lines by signature: when the head of a line cannot start, nobody behind it
// can, so a cycle asks once per line and not once per job. Derived data; `sync` costs O(changed
// jobs × log jobs).

namespace mainspring::policy {

// What a job wants of the next cycle.
enum class Want : uint8_t {
  kNothing,
  kStart,   // holds nothing; wants its minimum
  kRepair,  // holds something, but less than its minimum
  kGrow,    // has its minimum; wants more
};

// When the head of a line was refused: what has to change before it is worth another try.
struct Refusal {
  uint64_t gains = 0;                               // more came free
  uint64_t claims = 0;                              // who may displace whom has changed …
  bool may_displace = false;                        // … which matters to it
  base::Instant retry_at = base::Instant::never();  // time has passed
};

struct Line {
  std::set<JobKey> jobs;
  model::QueueIx queue;
  std::optional<Refusal> refused;
  // The gains at which its head found no place as things were.
  std::optional<uint64_t> unplaceable_at;
};

class JobQueue {
 public:
  // Catches up with the state. Jobs whose back-off ends by `now` join their lines.
  void sync(const model::ClusterState& state, base::Instant now);

  [[nodiscard]] const std::set<JobKey>& repairs() const { return repairs_; }
  [[nodiscard]] const std::set<JobKey>& growing() const { return growing_; }

  // What there is to try with.
  struct Moment {
    uint64_t gains = 0;
    uint64_t claims = 0;
    base::Instant now;
  };
  // The head of a line that may be tried at this moment, with the line's signature: the best queue
  // first, in it the best job. Lines that were refused are passed over; call until it returns
  // nothing. O(queues that wait × depth), and O(lines) when the moment is another one.
  std::optional<std::pair<JobKey, uint32_t>> next_open(const Moment& moment,
                                                       const QueueOrder& order);
  // The head of the line was refused.
  void refuse(uint32_t signature, const Refusal& refusal);
  // Nobody in the line finds a place before gains have grown.
  void set_unplaceable(uint32_t signature, uint64_t gains) {
    lines_.at(signature).unplaceable_at = gains;
  }
  [[nodiscard]] const std::map<uint32_t, Line>& lines() const { return lines_; }

  // Jobs whose claimed pods must have started by then, soonest first.
  [[nodiscard]] const std::set<std::pair<base::Instant, uint32_t>>& deadlines() const {
    return deadlines_;
  }
  // Jobs to which places are promised until then, soonest first.
  [[nodiscard]] const std::set<std::pair<base::Instant, uint32_t>>& promised() const {
    return promised_;
  }
  // When the first job that backs off, or was refused for some time, may be tried again.
  [[nodiscard]] base::Instant first_retry() const;
  // The lowest priority among the preemptible jobs that hold something: of this queue, or of all
  // where there is no tree.
  [[nodiscard]] std::optional<int32_t> lowest_held(const model::ClusterState& state,
                                                   model::QueueIx queue) const;
  // Jobs that entered a line since the last call.
  std::vector<uint32_t> take_arrivals() { return std::exchange(arrivals_, {}); }

 private:
  struct Place {
    Want want = Want::kNothing;
    JobKey key;
    uint32_t signature = 0;
    model::QueueIx queue;
    bool displaceable = false;  // it holds something that it could lose
    base::Instant promise_until = base::Instant::never();
    base::Instant deadline = base::Instant::never();
    base::Instant backoff_until;
    bool backing_off = false;
    uint64_t round = 0;  // the last sync that looked at the job
  };

  void reset(const model::ClusterState& state);
  void update(const model::ClusterState& state, uint32_t slot, base::Instant now);
  void remove(Place& place, uint32_t slot);
  void insert(Place& place, uint32_t slot);
  void open(uint32_t signature, const Line& line);
  void close(uint32_t signature, const Line& line);
  void reopen(uint32_t signature, Line& line);
  void count_displaceable(const Place& place, int64_t by);

  bool started_ = false;
  uint64_t cursor_ = 0;
  uint64_t round_ = 0;
  std::vector<Place> places_;  // by job slot
  std::map<uint32_t, Line> lines_;
  std::set<JobKey> repairs_;
  std::set<JobKey> growing_;
  std::set<std::pair<base::Instant, uint32_t>> deadlines_;
  std::set<std::pair<base::Instant, uint32_t>> backoffs_;
  std::set<std::pair<base::Instant, uint32_t>> promised_;
  std::set<std::pair<base::Instant, uint32_t>> retries_;  // of refused lines
  std::vector<uint32_t> arrivals_;
  // How many displaceable jobs there are, by queue and priority.
  std::map<std::pair<uint32_t, int32_t>, int64_t> displaceable_;
  std::map<int32_t, int64_t> displaceable_of_all_;
  // By queue: heads of lines that are not refused, best first.
  std::map<uint32_t, std::set<std::pair<JobKey, uint32_t>>> open_;
  Moment opened_at_;
};

}  // namespace mainspring::policy
