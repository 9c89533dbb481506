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
// that is later. When the minimum breaks, the work of those that still run is lost and begins anew.

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
  int64_t repairs = 0;  // pods bound anew after they were lost
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
    base::Instant minimum_since;
    uint64_t epoch = 0;  // grows when work is lost
    int64_t refuse_next = 0;
    int64_t stall_next = 0;
    bool over = false;
  };

  void bind(const model::PodBinding& binding);
  void finish_bind(uint32_t pod, const model::PodBinding& binding);
  void start(uint32_t pod);
  void release(const model::PodRelease& release);
  // Asks the pod to go; it ends as `end` after its grace.
  void stop(uint32_t pod, model::PodEnd end);
  void end(uint32_t pod, model::PodEnd end, base::Duration notice = {});
  void end_life(uint32_t pod, model::EventBody news, base::Duration notice);
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
