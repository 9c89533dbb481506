// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mainspring/base/rng.h"
#include "mainspring/config/scenario.h"
#include "mainspring/model/plan.h"
#include "mainspring/sim/agenda.h"
#include "mainspring/sim/delivery.h"
#include "mainspring/sim/true_world.h"

// Executes plans in the true world and lets pods live: bound, starting, running, stopping, gone;
// and tells of it. A decision whose precondition no longer holds is refused, by an event.
//
// A pod's work takes the job's run time from when the job's minimum runs, or from its own start if
// that is later. When the minimum breaks, what was done since the last checkpoint is lost: a job
// saves its work every `checkpoint_interval` while its minimum runs, or never. When it runs again,
// it first spends its restart time and then does the rest. A pod above the minimum that comes later
// works as long as the others of its job that began to run now.

namespace mainspring::sim {

// What became of a job.
struct JobRecord {
  std::string id;
  std::string name;
  base::Instant submitted_at;
  base::Instant started_at = base::Instant::never();   // its minimum ran for the first time
  base::Instant finished_at = base::Instant::never();  // all its pods have succeeded
  bool removed = false;
  int64_t gpu_milli = 0;  // asked for by all its pods together
  int64_t releases = 0;
  int64_t repairs = 0;  // pods bound anew after they were lost; not those that were displaced
  std::vector<std::string> displaced_by;  // the job for which it stopped, whole or in part
  // Device-milliseconds that displacement cost it: work done anew, and restarts.
  int64_t lost_gpu_ms = 0;
  std::vector<std::pair<std::string, std::string>> first_places;  // (pod, node), at the first start
};

class PodLives {
 public:
  PodLives(TrueWorld& world, Agenda& agenda, Delivery& delivery, const config::PodTimes& times,
           const config::FaultChances& chances, base::Rng rng);

  // The job arrives now.
  void submit(const config::ScenarioJob& job);
  void execute(const model::Plan& plan);

  // --- Faults ---
  // Ends every pod on the node, or only those that use the device.
  void kill_on_node(uint32_t node);
  void kill_on_device(uint32_t node, uint32_t device);
  // The next `count` binds of the job are refused, or its next `count` pods never come up.
  void refuse_binds(uint32_t job, int64_t count) { jobs_[job].refuse_next += count; }
  void stall_starts(uint32_t job, int64_t count) { jobs_[job].stall_next += count; }
  void fail_running(uint32_t job, int64_t count);
  // The next `count` pods of the job that are asked to stop do not go until they are let go.
  void hold_stops(uint32_t job, int64_t count) { jobs_[job].stuck_next += count; }
  void let_stops_go(uint32_t job);
  // The next `count` pods of the job that are asked to stop succeed while they do.
  void finish_stops(uint32_t job, int64_t count) { jobs_[job].done_next += count; }
  // The job saves its work now, besides every `checkpoint_interval`, and tells of it.
  void save(uint32_t job);
  void remove(uint32_t job);

  // --- Reading ---
  [[nodiscard]] const std::vector<JobRecord>& records() const { return records_; }
  // Jobs that have arrived and are neither finished nor removed.
  [[nodiscard]] int64_t unfinished_jobs() const { return unfinished_; }
  [[nodiscard]] int64_t refused_binds() const { return refused_binds_; }
  [[nodiscard]] int64_t running_pods(uint32_t job) const { return jobs_[job].running; }

 private:
  struct Life {
    model::JobSpec spec;
    bool has_run = false;
    base::Duration run;
    uint32_t first_pod = 0;
    int64_t running = 0;
    int64_t done = 0;
    bool minimum_runs = false;
    base::Instant works_since;  // the minimum runs, and the restart is over
    base::Duration saved;       // of its work
    base::Duration restart;     // what it has to spend before it works again
    bool displaced = false;     // its minimum broke last for somebody else's sake
    int64_t restart_milli = 0;  // what its pods held when they began that restart
    uint64_t epoch = 0;         // grows when work is lost
    int64_t refuse_next = 0;
    int64_t stall_next = 0;
    int64_t stuck_next = 0;
    int64_t done_next = 0;
    base::Duration told;  // of its work, what it saved when it said so
    bool over = false;
  };

  void bind(const model::PodBinding& binding);
  void finish_bind(uint32_t pod, const model::PodBinding& binding);
  void start(uint32_t pod);
  void release(const model::PodRelease& release);
  void displace(const model::Victim& victim, const std::string& winner);
  // Asks the pod to go; it ends as `end` after its grace.
  void stop(uint32_t pod, model::PodEnd end);
  void end(uint32_t pod, model::PodEnd end, base::Duration notice = {});
  void end_life(uint32_t pod, model::EventBody news, base::Duration notice);
  // What work is kept if the minimum breaks now.
  [[nodiscard]] base::Duration saved_by_now(const Life& job) const;
  void begin_work(uint32_t job);
  void break_work(uint32_t job);
  // Milli-GPU that its running pods hold.
  [[nodiscard]] int64_t running_milli(const Life& job) const;
  // Brings the job's work up to date after one of its pods started or ended.
  void settle(uint32_t job);
  void schedule_end(uint32_t pod);
  [[nodiscard]] bool minimum_runs(const Life& job) const;
  base::Duration draw(const config::DurationRange& range);
  bool drawn(int32_t of_a_million);

  TrueWorld& world_;
  Agenda& agenda_;
  Delivery& delivery_;
  config::PodTimes times_;
  config::FaultChances chances_;
  base::Rng rng_;
  std::vector<Life> jobs_;
  std::vector<JobRecord> records_;
  int64_t unfinished_ = 0;
  int64_t refused_binds_ = 0;
};

}  // namespace mainspring::sim
