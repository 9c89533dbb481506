// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/base/result.h"
#include "mainspring/model/queue_spec.h"
#include "mainspring/model/spec.h"

// The file of `mainspring scheduler --config`: plain data, as docs/reference/configuration.md has
// it. What is left out has the value that stands here; an empty file is one open queue `default`.

namespace mainspring::config {

enum class SchedulerMode : uint8_t {
  kBind,
  kShadow,  // decisions are recorded, nothing is written
};

// The pods of a namespace belong to this queue unless they say otherwise.
struct NamespaceQueue {
  std::string name;  // of the namespace
  std::string queue;
  friend auto operator<=>(const NamespaceQueue&, const NamespaceQueue&) = default;
};

// What holds for the pods of one Kubernetes PriorityClass, whose value the API server knows.
struct PriorityClassRule {
  std::string name;
  bool preemptible = true;
  bool may_displace = true;
  friend auto operator<=>(const PriorityClassRule&, const PriorityClassRule&) = default;
};

struct LeaderElection {
  bool enabled = true;
  std::string namespace_name;  // empty: the one that the scheduler runs in
  std::string name = "mainspring";
  // lease_duration > renew_deadline > 1.2 × retry_period.
  base::Duration lease_duration = base::seconds(15);
  base::Duration renew_deadline = base::seconds(10);
  base::Duration retry_period = base::seconds(2);
  friend auto operator<=>(const LeaderElection&, const LeaderElection&) = default;
};

struct SchedulerConfig {
  std::vector<std::string> schedulers = {"mainspring"};
  SchedulerMode mode = SchedulerMode::kBind;
  model::CoreConfig core;
  // Parents before what is below them.
  // Without a quota it would have no room for pods that cannot be displaced.
  std::vector<model::QueueSpec> queues = {
      {.name = "default", .resources = {{.name = "gpu", .quota_ppm = 1'000'000}}}};
  // Of pods whose namespace has no queue. It may be missing from the tree: then they wait, with a
  // reason, until they name a queue.
  std::string default_queue = "default";
  std::vector<NamespaceQueue> namespace_queues;     // by name
  std::vector<PriorityClassRule> priority_classes;  // by name
  std::string gpu_model_label = "nvidia.com/gpu.product";
  std::string gpu_memory_label = "nvidia.com/gpu.memory";  // its value is in MiB
  size_t binds_parallel = 16;
  base::Duration cycle_delay_min = base::milliseconds(2);
  base::Duration batch_wait = base::milliseconds(5);
  bool events_for_single_pods = false;
  LeaderElection leader_election;
  friend auto operator<=>(const SchedulerConfig&, const SchedulerConfig&) = default;

  // Where the pods of a namespace go when they name no queue. O(log n).
  [[nodiscard]] const std::string& queue_of(std::string_view namespace_name) const;
  // nullptr: nothing is said of this class. O(log n).
  [[nodiscard]] const PriorityClassRule* rule_of(std::string_view priority_class) const;
};

// Reads a configuration. `text` is the content, `file` only names it in messages. An error is one
// line: file, line, column, the field, what is wrong, and what was expected.
base::Result<SchedulerConfig> parse_scheduler_config(std::string_view text,
                                                     const std::string& file);
// The same from a file.
base::Result<SchedulerConfig> read_scheduler_config(const std::string& path);

// What is legal but perhaps not meant, one sentence each.
std::vector<std::string> warnings(const SchedulerConfig& config);

// The fields that differ and are read at the start only: a running scheduler keeps its own.
std::vector<std::string_view> changed_until_restart(const SchedulerConfig& running,
                                                    const SchedulerConfig& next);

}  // namespace mainspring::config
