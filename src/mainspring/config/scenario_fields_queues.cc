// SPDX-License-Identifier: Apache-2.0
#include "mainspring/config/field_limits.h"
#include "mainspring/config/scenario_fields.h"
#include "mainspring/model/queue_spec.h"

namespace mainspring::config {
namespace {

using enum FieldType;

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

constexpr Field kPriorityClass[] = {
    {.name = "value",
     .type = kCount,
     .doc = "the priority; higher goes first",
     .required = true,
     .min = 0,
     .max = kPriorityMax},
    {.name = "preemptible",
     .type = kFlag,
     .doc = "`false`: its jobs are never displaced, but then they may not exceed their queue's "
            "quota",
     .fallback = "true"},
    {.name = "may_displace",
     .type = kFlag,
     .doc = "`false`: nothing is displaced for its jobs",
     .fallback = "true"},
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

constexpr Field kQueueChange[] = {
    {.name = "at",
     .type = kDuration,
     .doc = "when, from the start of the run",
     .required = true,
     .min = 0,
     .max = kTimeMax},
    {.name = "queue",
     .type = kOne,
     .doc = "this queue is added, or is from now on as written here; its parent is named by "
            "`parent`",
     .section = "queue"},
    {.name = "remove",
     .type = kName,
     .doc = "this queue is deleted; refused while it has queues below it or jobs that hold "
            "something"},
};

}  // namespace

#define MAINSPRING_TABLE(function, title, fields, doc)      \
  const FieldTable& function() {                            \
    static constexpr FieldTable kTable{title, doc, fields}; \
    return kTable;                                          \
  }

MAINSPRING_TABLE(sharing_table, "sharing", kSharing,
                 "How queues share over time, and what may be done to running jobs.")
MAINSPRING_TABLE(priority_class_table, "priority class", kPriorityClass,
                 "What jobs say with one word; what a job says itself goes before it.")
MAINSPRING_TABLE(queue_table, "queue", kQueue,
                 "A queue owns a part of the cluster and lends what it does not use.")
MAINSPRING_TABLE(queue_resource_table, "queue resource", kQueueResource,
                 "What a queue says of one resource. Amounts are GPUs (`8`, `1.5`), CPUs or bytes; "
                 "`unlimited` may be written `-1`.")
MAINSPRING_TABLE(queue_change_table, "queue change", kQueueChange,
                 "What the owner of a queue does during the run: `at`, and one of the others.")

#undef MAINSPRING_TABLE

}  // namespace mainspring::config
