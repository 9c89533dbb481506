// SPDX-License-Identifier: Apache-2.0
#include "mainspring/config/scheduler_fields.h"

#include "mainspring/config/field_limits.h"

namespace mainspring::config {
namespace {

using enum FieldType;

constexpr int64_t kMinuteMs = 60'000;
constexpr int64_t kHourMs = 60 * kMinuteMs;

constexpr Field kScheduler[] = {
    {.name = "schedulers",
     .type = kNames,
     .doc = "it schedules the pods whose `schedulerName` is one of these; left out: "
            "`[mainspring]`. Read at the start only"},
    {.name = "mode",
     .type = kChoice,
     .doc = "`shadow`: what it would do is recorded and compared with what happens, and nothing "
            "is written. Read at the start only",
     .fallback = "bind",
     .words = "bind shadow"},
    {.name = "queues",
     .type = kMany,
     .doc = "who owns what, from the roots down; left out: one open queue `default` that owns all "
            "GPUs",
     .section = "queue"},
    {.name = "default_queue",
     .type = kName,
     .doc = "of pods that name no queue and whose namespace has none",
     .fallback = "default"},
    {.name = "namespace_queues",
     .type = kLabels,
     .doc = "namespace to the queue of its pods that name none. Which namespaces may use a queue "
            "is said by its `tenants`"},
    {.name = "priority_classes",
     .type = kNamed,
     .doc = "what holds for the pods of a Kubernetes PriorityClass of this name, whose value is "
            "their priority",
     .section = "priority class rule"},
    {.name = "topologies",
     .type = kMany,
     .doc = "trees of domains above the nodes",
     .section = "topology"},
    {.name = "gpu_resources",
     .type = kNames,
     .doc = "resource names that mean GPUs; left out: `nvidia.com/gpu`, `amd.com/gpu`, "
            "`gpu.intel.com/i915`, `gpu.intel.com/xe`"},
    {.name = "gpu_model_label",
     .type = kName,
     .doc = "the node label that says which model its GPUs are",
     .fallback = "nvidia.com/gpu.product"},
    {.name = "gpu_memory_label",
     .type = kName,
     .doc = "the node label that says how much memory each of its GPUs has, in MiB",
     .fallback = "nvidia.com/gpu.memory"},
    {.name = "timeouts",
     .type = kOne,
     .doc = "how long the scheduler waits",
     .section = "timeouts"},
    {.name = "sharing",
     .type = kOne,
     .doc = "how long past use counts, and what may be done to running jobs",
     .section = "sharing"},
    {.name = "cycle_delay_min",
     .type = kDuration,
     .doc = "so long after one cycle the next begins at the earliest",
     .fallback = "2ms",
     .min = 0,
     .max = kMinuteMs},
    {.name = "batch_wait",
     .type = kDuration,
     .doc = "after news that may let something start, so long more of it is gathered before a "
            "cycle",
     .fallback = "5ms",
     .min = 0,
     .max = kMinuteMs},
    {.name = "binds_parallel",
     .type = kCount,
     .doc = "binds that may be on their way to the API server at once",
     .fallback = "16",
     .min = 1,
     .max = 1024},
    {.name = "events_for_single_pods",
     .type = kFlag,
     .doc = "`true`: a pod that is a job by itself gets an Event when it is bound; a gang always "
            "gets one",
     .fallback = "false"},
    {.name = "leader_election",
     .type = kOne,
     .doc = "how several replicas agree on the one that acts. Read at the start only",
     .section = "leader_election"},
};

constexpr Field kClassRule[] = {
    {.name = "preemptible",
     .type = kFlag,
     .doc = "`false`: its pods are never displaced, but then they may not exceed their queue's "
            "quota",
     .fallback = "true"},
    {.name = "may_displace",
     .type = kFlag,
     .doc = "`false`: nothing is displaced for its pods, as with `preemptionPolicy: Never`",
     .fallback = "true"},
};

constexpr Field kLeaderElection[] = {
    {.name = "enabled",
     .type = kFlag,
     .doc = "`false`: it acts at once. Then nothing else may schedule the same pods",
     .fallback = "true"},
    {.name = "namespace",
     .type = kId,
     .doc = "of the Lease; left out: the one that the scheduler runs in"},
    {.name = "name",
     .type = kId,
     .doc = "of the Lease; schedulers for different pods need different names",
     .fallback = "mainspring"},
    {.name = "lease_duration",
     .type = kDuration,
     .doc = "so long after the last renewal another replica may take over; more than "
            "`renew_deadline`",
     .fallback = "15s",
     .min = 1000,
     .max = kHourMs},
    {.name = "renew_deadline",
     .type = kDuration,
     .doc = "a leader that could not renew for so long stops; more than 1.2 times `retry_period`",
     .fallback = "10s",
     .min = 500,
     .max = kHourMs},
    {.name = "retry_period",
     .type = kDuration,
     .doc = "between two tries to take or renew the Lease",
     .fallback = "2s",
     .min = 100,
     .max = kHourMs},
};

}  // namespace

#define MAINSPRING_TABLE(function, title, fields, doc)      \
  const FieldTable& function() {                            \
    static constexpr FieldTable kTable{title, doc, fields}; \
    return kTable;                                          \
  }

MAINSPRING_TABLE(scheduler_table, "configuration", kScheduler, "The file itself.")
MAINSPRING_TABLE(class_rule_table, "priority class rule", kClassRule,
                 "What a Kubernetes PriorityClass cannot say.")
MAINSPRING_TABLE(leader_election_table, "leader_election", kLeaderElection,
                 "Of all replicas that share a Lease, one acts and the others are ready to.")

#undef MAINSPRING_TABLE

std::span<const FieldTable* const> scheduler_tables() {
  static const FieldTable* const kTables[] = {
      &scheduler_table(), &queue_table(),    &queue_resource_table(), &class_rule_table(),
      &topology_table(),  &timeouts_table(), &sharing_table(),        &leader_election_table(),
  };
  return kTables;
}

}  // namespace mainspring::config
