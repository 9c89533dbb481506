// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/base/result.h"
#include "mainspring/config/expectation.h"
#include "mainspring/config/fault.h"
#include "mainspring/model/queue_spec.h"
#include "mainspring/model/spec.h"

// A scenario: a cluster, what arrives, what goes wrong, and what must come of it. Plain data, as
// read from a file (docs/reference/scenario-format.md). Names and amounts have been checked one by
// one and against each other; what is left to chance is drawn later, from a seed.

namespace mainspring::config {

// Both ends included; each pod draws its own.
struct DurationRange {
  base::Duration min;
  base::Duration max;
};

// How long the simulated nodes take.
struct PodTimes {
  DurationRange bind{base::milliseconds(50), base::milliseconds(500)};  // decided until bound
  DurationRange start{base::seconds(1), base::seconds(10)};             // bound until running
  DurationRange stop{base::seconds(0), base::seconds(60)};              // asked to stop until gone
};

struct ScenarioJob {
  // As written in the file; copies of one job share it and differ in `spec.id`.
  std::string name;
  model::JobSpec spec;  // `submitted_at` is when it arrives
  // How long each pod runs, counted from when the job's minimum runs (or from its own start, if
  // that is later). Nothing: until the scenario ends.
  std::optional<base::Duration> run;
};

// One kind of job among those that a generated workload draws.
struct JobMix {
  std::string name;
  int64_t weight = 1;
  // A job of this kind without id and arrival; the same pods and groups for each that is drawn.
  model::JobSpec form;
  // Drawn from an exponential distribution of this mean, cut to the range.
  base::Duration run_mean;
  DurationRange run;
};

// What jobs say with one word.
struct PriorityClass {
  std::string name;
  int32_t value = 0;
  bool preemptible = true;
  bool may_displace = true;
};

// The owner of a queue changes or deletes it during the run.
struct TimedQueueChange {
  base::Instant at;
  model::QueueSpec queue;
  bool gone = false;  // then only the queue's name counts
};

enum class ArrivalProcess : uint8_t {
  kPoisson,  // exponential gaps
  kEven,     // equal gaps
  kDaily,    // exponential gaps whose rate follows a working day: calm nights, a busy afternoon
};

// Jobs drawn from a seed. Their ids are `name-kind-number`; those of one kind share the name
// `name-kind`.
struct GeneratedWorkload {
  std::string name;
  base::Instant from;
  base::Instant until;
  int64_t jobs_per_hour = 0;
  ArrivalProcess process = ArrivalProcess::kPoisson;
  std::vector<JobMix> mix;
  // Added to the seed of the run, so that two blocks differ.
  uint64_t seed = 0;
};

enum class OrderSource : uint8_t {
  kPublished,  // of the traces folder where it has one for the seed, otherwise generated
  kGenerated,
};

// A list of the public GPU trace of 2023, arriving in a static world: nothing ever ends.
struct OpenbWorkload {
  std::string list;  // "default", "cpu250", …
  OrderSource orders = OrderSource::kPublished;
  int64_t inflate_milli = 1300;  // requested GPUs in thousandths of the capacity
  // Not 0: so many pods of which no two are alike, made from those of the list, replace it.
  int64_t distinct_pods = 0;
};

// Jobs of the public trace of Microsoft's Philly cluster of 2017, on the scenario's nodes.
struct PhillyWorkload {
  int64_t jobs_max = 0;    // the first so many, by arrival; 0: all
  bool by_tenant = false;  // a queue for each virtual cluster, with its part of the GPUs as quota
  base::Duration checkpoint_interval;  // of every job
  base::Duration restart_time;
};

struct Scenario {
  std::string name;
  std::string description;
  std::string file;  // where it was read from, for messages
  uint64_t seed = 42;
  // The run ends then, or when nothing can happen any more.
  base::Duration length = base::seconds(24 * 3600);

  model::CoreConfig config;
  PodTimes pod_times;

  std::vector<model::NodeSpec> nodes;  // generated and listed ones, in the order of the file
  // Parents before their children, except where the file names a parent that comes later.
  std::vector<model::QueueSpec> queues;
  std::vector<TimedQueueChange> queue_changes;  // by time
  std::vector<PriorityClass> priority_classes;
  std::vector<ScenarioJob> jobs;  // in the order of the file, copies expanded
  std::vector<GeneratedWorkload> generated;
  // A job list in our own plain CSV, relative to the scenario's folder; empty: none.
  std::string trace_csv;
  std::optional<PhillyWorkload> philly;
  // Then everything above but names and seed is empty.
  std::optional<OpenbWorkload> openb;

  std::vector<TimedFault> faults;  // in the order of the file
  FaultChances chances;
  std::vector<Expectation> expectations;
  // What is legal but perhaps not meant, one sentence each.
  std::vector<std::string> warnings;
};

// Reads a scenario. `text` is the content, `file` only names it in messages. An error is one line:
// file, line, column, the field, what is wrong, and what was expected. O(size of what it
// describes).
base::Result<Scenario> parse_scenario(std::string_view text, const std::string& file);
// The same from a file.
base::Result<Scenario> read_scenario(const std::string& path);

// All jobs of one run in order of arrival (ties: in the order of the file): the inline ones and
// those drawn from `seed`. Those of `trace_csv` are not among them.
std::vector<ScenarioJob> draw_jobs(const Scenario& scenario, uint64_t seed);

}  // namespace mainspring::config
