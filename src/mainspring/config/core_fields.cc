// SPDX-License-Identifier: Apache-2.0
#include "mainspring/config/core_fields.h"

#include "mainspring/config/field_limits.h"
#include "mainspring/model/queue_spec.h"

namespace mainspring::config {
namespace {

using enum FieldType;

constexpr Field kTopology[] = {
    {.name = "name", .type = kId, .doc = "a name for the tree", .required = true},
    {.name = "levels",
     .type = kLabels,
     .doc = "name of each level to the node label that carries its domain, the widest level first; "
            "the level `node` comes by itself",
     .required = true},
};

constexpr Field kTimeouts[] = {
    {.name = "gang_start",
     .type = kDuration,
     .doc = "a gang whose pods have not all started by then is released whole",
     .fallback = "60s",
     .min = 1,
     .max = kTimeMax},
    {.name = "retry_first",
     .type = kDuration,
     .doc = "wait before the next try after a failed start",
     .fallback = "10s",
     .min = 0,
     .max = kTimeMax},
    {.name = "retry_max",
     .type = kDuration,
     .doc = "the wait doubles with each failed start, up to this",
     .fallback = "10m",
     .min = 0,
     .max = kTimeMax},
};

constexpr Field kSharing[] = {
    {.name = "usage_half_life",
     .type = kDuration,
     .doc = "what a queue used in the past counts half after so long; 0: it does not count",
     .fallback = "0s",
     .min = 0,
     .max = kTimeMax},
    {.name = "promise_timeout",
     .type = kDuration,
     .doc = "what is made free for a job is held for it so long",
     .fallback = "5m",
     .min = 1,
     .max = kTimeMax},
    {.name = "displacements_max",
     .type = kCount,
     .doc = "how often work beyond its own quota may displace the same job within "
            "`displacements_window`",
     .fallback = "2",
     .min = 0,
     .max = kPodsMax},
    {.name = "displacements_window",
     .type = kDuration,
     .doc = "see `displacements_max`",
     .fallback = "12h",
     .min = 0,
     .max = kTimeMax},
    {.name = "consolidate_lost_max",
     .type = kDuration,
     .doc = "jobs are moved to make a hole where that loses at most so much work for each GPU of "
            "the job that waits; 0: never",
     .fallback = "15m",
     .min = 0,
     .max = kTimeMax},
};

constexpr Field kQueue[] = {
    {.name = "name", .type = kName, .doc = "what jobs call it", .required = true},
    {.name = "parent",
     .type = kName,
     .doc = "the queue above it, where it is not written inside that one; left out: a root"},
    {.name = "priority",
     .type = kCount,
     .doc = "among its siblings: the higher one takes first of what is left over",
     .fallback = "0",
     .min = 0,
     .max = kPriorityMax},
    {.name = "gpu", .type = kOne, .doc = "GPUs of any model", .section = "queue resource"},
    {.name = "gpu_models",
     .type = kNamed,
     .doc = "GPUs of one model, for each model named",
     .section = "queue resource"},
    {.name = "cpu", .type = kOne, .doc = "CPUs", .section = "queue resource"},
    {.name = "memory", .type = kOne, .doc = "memory", .section = "queue resource"},
    {.name = "tenants",
     .type = kNames,
     .doc = "who may use it and the queues below it; left out: everyone"},
    {.name = "min_run_before_preempt",
     .type = kDuration,
     .doc = "a job of it runs at least so long before one of its own queue displaces it",
     .fallback = "0s",
     .min = 0,
     .max = kTimeMax},
    {.name = "min_run_before_reclaim",
     .type = kDuration,
     .doc = "a job of it runs at least so long before one of another queue displaces it",
     .fallback = "0s",
     .min = 0,
     .max = kTimeMax},
    {.name = "displace_after",
     .type = kDuration,
     .doc = "a job of it waits so long before others are displaced for it",
     .fallback = "0s",
     .min = 0,
     .max = kTimeMax},
    {.name = "queues",
     .type = kMany,
     .doc = "the queues below it; then only those take jobs",
     .section = "queue"},
};

constexpr Field kQueueResource[] = {
    {.name = "quota",
     .type = kQuota,
     .doc = "what it owns; a part is of its parent's quota, and of the cluster for a root; left "
            "out: nothing"},
    {.name = "limit", .type = kLimit, .doc = "what it never exceeds; left out: `unlimited`"},
    {.name = "weight",
     .type = kCount,
     .doc = "its part of what others leave, compared to its siblings",
     .fallback = "1",
     .min = 1,
     .max = model::kWeightMax},
};

}  // namespace

#define MAINSPRING_TABLE(function, title, fields, doc)      \
  const FieldTable& function() {                            \
    static constexpr FieldTable kTable{title, doc, fields}; \
    return kTable;                                          \
  }

MAINSPRING_TABLE(topology_table, "topology", kTopology,
                 "A tree of domains (zones, racks, switches ...) that node labels describe.")
MAINSPRING_TABLE(timeouts_table, "timeouts", kTimeouts, "How long the scheduler waits.")
MAINSPRING_TABLE(sharing_table, "sharing", kSharing,
                 "How queues share over time, and what may be done to running jobs.")
MAINSPRING_TABLE(queue_table, "queue", kQueue,
                 "A queue owns a part of the cluster and lends what it does not use.")
MAINSPRING_TABLE(queue_resource_table, "queue resource", kQueueResource,
                 "What a queue says of one resource. Amounts are GPUs (`8`, `1.5`), CPUs or bytes; "
                 "`unlimited` may be written `-1`.")

#undef MAINSPRING_TABLE

}  // namespace mainspring::config
