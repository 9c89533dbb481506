// SPDX-License-Identifier: Apache-2.0
#include "mainspring/config/field_limits.h"
#include "mainspring/config/scenario_fields.h"

namespace mainspring::config {
namespace {

using enum FieldType;

constexpr Field kMin{.name = "min",
                     .type = kCount,
                     .doc = "how many of its pods and groups must run together; left out: all",
                     .min = 1,
                     .max = kPodsPerJobMax};
constexpr Field kRequired{
    .name = "required", .type = kId, .doc = "level: all of it inside one domain of this level"};
constexpr Field kPreferred{
    .name = "preferred", .type = kId, .doc = "level: in as few domains of this level as possible"};
constexpr Field kPods{.name = "pods", .type = kOneOrMany, .doc = "its own pods", .section = "pods"};
constexpr Field kGroups{
    .name = "groups", .type = kMany, .doc = "groups inside it", .section = "group"};
constexpr Field kQueue{.name = "queue", .type = kName, .doc = "whose it is", .fallback = "default"};
constexpr Field kTenant{
    .name = "tenant", .type = kName, .doc = "who submits it; a queue may be for some tenants only"};
constexpr Field kPriorityField{.name = "priority",
                               .type = FieldType::kPriority,
                               .doc = "higher goes first; or one of `priority_classes`",
                               .fallback = "0",
                               .min = 0,
                               .max = kPriorityMax};

constexpr Field kPreemptible{
    .name = "preemptible",
    .type = kFlag,
    .doc =
        "`false`: never displaced, but then it may not exceed its queue's quota; left out: as "
        "its priority class says, or `true`"};
constexpr Field kMayDisplace{
    .name = "may_displace",
    .type = kFlag,
    .doc =
        "whether others may be displaced for it; left out: as its priority class says, or "
        "`true`"};
constexpr Field kCheckpointEvery{.name = "checkpoint_every",
                                 .type = kDuration,
                                 .doc = "it saves its work so often; left out: never",
                                 .min = 1,
                                 .max = kTimeMax};
constexpr Field kRestartTime{.name = "restart_time",
                             .type = kDuration,
                             .doc = "what being stopped costs it besides the work not saved",
                             .fallback = "0s",
                             .min = 0,
                             .max = kTimeMax};

constexpr Field kWorkload[] = {
    {.name = "jobs", .type = kMany, .doc = "jobs one by one", .section = "job"},
    {.name = "generate",
     .type = kOneOrMany,
     .doc = "jobs drawn from the seed",
     .section = "generated jobs"},
    {.name = "trace", .type = kOne, .doc = "jobs from a file", .section = "trace"},
    {.name = "openb",
     .type = kOne,
     .doc = "pods of a public trace, for `cluster.openb`",
     .section = "openb pods"},
    {.name = "philly", .type = kOne, .doc = "jobs of a public trace", .section = "philly jobs"},
};

constexpr Field kJob[] = {
    {.name = "id", .type = kId, .doc = "its name", .required = true},
    {.name = "copies",
     .type = kCount,
     .doc = "so many of them, called `id-0`, `id-1` ...",
     .min = 1,
     .max = kPodsMax},
    {.name = "every",
     .type = kDuration,
     .doc = "time between the arrivals of copies",
     .fallback = "0s",
     .min = 0,
     .max = kTimeMax},
    {.name = "at",
     .type = kDuration,
     .doc = "when it arrives",
     .fallback = "0s",
     .min = 0,
     .max = kTimeMax},
    kQueue,
    kTenant,
    kPriorityField,
    kPreemptible,
    kMayDisplace,
    kCheckpointEvery,
    kRestartTime,
    {.name = "duration",
     .type = kDuration,
     .doc = "how long its pods run once its minimum runs; left out: to the end of the run",
     .min = 1,
     .max = kTimeMax},
    {.name = "expected_duration",
     .type = kDuration,
     .doc = "what its owner believes; left out: `duration`",
     .min = 1,
     .max = kTimeMax},
    kMin,
    kRequired,
    kPreferred,
    kPods,
    kGroups,
};

constexpr Field kGroup[] = {
    {.name = "name", .type = kId, .doc = "its name", .required = true},
    {.name = "copies",
     .type = kCount,
     .doc = "so many of them, called `name-0`, `name-1` ...",
     .min = 1,
     .max = kPodsPerJobMax},
    kMin,
    kRequired,
    kPreferred,
    kPods,
    kGroups,
};

constexpr Field kPodsFields[] = {
    {.name = "count",
     .type = kCount,
     .doc = "how many",
     .fallback = "1",
     .min = 1,
     .max = kPodsPerJobMax},
    {.name = "cpu",
     .type = kCpu,
     .doc = "CPUs of each",
     .fallback = "0",
     .min = 0,
     .max = kCpuMilliMax},
    {.name = "memory",
     .type = kBytes,
     .doc = "memory of each",
     .fallback = "0",
     .min = 0,
     .max = kBytesMax},
    {.name = "ephemeral_storage",
     .type = kBytes,
     .doc = "local disk of each",
     .fallback = "0",
     .min = 0,
     .max = kBytesMax},
    {.name = "gpus",
     .type = kCount,
     .doc = "devices of each; left out: none, or one where a share is asked for",
     .min = 0,
     .max = kGpusPerNodeMost},
    {.name = "gpu_share",
     .type = kShare,
     .doc = "only this part of each device",
     .min = 1,
     .max = 999},
    {.name = "gpu_memory",
     .type = kBytes,
     .doc = "only this much memory of each device, and the part of it that goes along",
     .min = 1,
     .max = kBytesMax},
    {.name = "gpu_memory_min",
     .type = kBytes,
     .doc = "devices with at least this much memory",
     .min = 1,
     .max = kBytesMax},
    {.name = "gpu_models", .type = kNames, .doc = "devices of one of these models; left out: any"},
    {.name = "gpu_resource",
     .type = kName,
     .doc = "resource name of the devices",
     .fallback = "nvidia.com/gpu"},
    {.name = "node_selector", .type = kLabels, .doc = "labels that the node must have"},
    {.name = "node_requirements",
     .type = kMany,
     .doc = "more about the node's labels",
     .section = "node requirement"},
    {.name = "tolerations",
     .type = kMany,
     .doc = "taints that do not keep it away",
     .section = "toleration"},
    {.name = "tags", .type = kNames, .doc = "by which the rules of pods speak of it"},
    {.name = "rules",
     .type = kMany,
     .doc = "what it demands of the pods around it",
     .section = "pod rule"},
    {.name = "volumes",
     .type = kNames,
     .doc = "attached to its node; pods that share one count once"},
};

constexpr Field kRequirement[] = {
    {.name = "key", .type = kName, .doc = "the label", .required = true},
    {.name = "op",
     .type = kChoice,
     .doc = "how it is compared",
     .fallback = "In",
     .words = "In NotIn Exists DoesNotExist Gt Lt"},
    {.name = "values", .type = kNames, .doc = "with what; one whole number for `Gt` and `Lt`"},
};

constexpr Field kToleration[] = {
    {.name = "key", .type = kName, .doc = "the taint's key; left out with `exists`: every taint"},
    {.name = "value", .type = kName, .doc = "the taint's value"},
    {.name = "exists", .type = kFlag, .doc = "any value", .fallback = "false"},
    {.name = "effect",
     .type = kChoice,
     .doc = "only this effect",
     .fallback = "any",
     .words = "any NoSchedule PreferNoSchedule NoExecute"},
};

constexpr Field kPodRule[] = {
    {.name = "kind",
     .type = kChoice,
     .doc = "near to one of them, apart from all of them, or spread with them",
     .required = true,
     .words = "near apart spread"},
    {.name = "tag", .type = kName, .doc = "the tag of those pods", .required = true},
    {.name = "level",
     .type = kName,
     .doc = "a node label whose equal values make a domain, or `node` for each by itself",
     .fallback = "node"},
    {.name = "max_skew",
     .type = kCount,
     .doc = "of `spread`: so many more than in the domain with the fewest",
     .fallback = "1",
     .min = 1,
     .max = kPodsPerJobMax},
    {.name = "min_domains",
     .type = kCount,
     .doc = "of `spread`: with fewer domains the fewest counts as none",
     .fallback = "1",
     .min = 1,
     .max = kPodsPerJobMax},
    {.name = "honor_requirements",
     .type = kFlag,
     .doc = "of `spread`: only nodes count whose labels it asks for",
     .fallback = "true"},
    {.name = "honor_taints",
     .type = kFlag,
     .doc = "of `spread`: only nodes count whose taints it tolerates",
     .fallback = "false"},
};

constexpr Field kGenerated[] = {
    {.name = "name", .type = kId, .doc = "the ids begin with it", .required = true},
    {.name = "from",
     .type = kDuration,
     .doc = "first arrival not before",
     .fallback = "0s",
     .min = 0,
     .max = kTimeMax},
    {.name = "until",
     .type = kDuration,
     .doc = "no arrival from then on",
     .required = true,
     .min = 1,
     .max = kTimeMax},
    {.name = "jobs_per_hour",
     .type = kCount,
     .doc = "on average",
     .required = true,
     .min = 1,
     .max = kPodsMax},
    {.name = "arrivals",
     .type = kChoice,
     .doc =
         "gaps between arrivals: random, equal, or random with quiet nights and a busy afternoon",
     .fallback = "poisson",
     .words = "poisson even daily"},
    {.name = "seed",
     .type = kCount,
     .doc = "added to the seed of the run, so that two blocks differ",
     .fallback = "0",
     .min = 0,
     .max = kCountMax},
    {.name = "mix", .type = kMany, .doc = "kinds of jobs", .required = true, .section = "mix"},
};

constexpr Field kMix[] = {
    {.name = "name", .type = kId, .doc = "its name, part of the ids", .required = true},
    {.name = "weight",
     .type = kCount,
     .doc = "how often, compared to the others",
     .fallback = "1",
     .min = 1,
     .max = kPodsMax},
    kQueue,
    kTenant,
    kPriorityField,
    kPreemptible,
    kMayDisplace,
    kCheckpointEvery,
    kRestartTime,
    {.name = "duration_mean",
     .type = kDuration,
     .doc = "mean of the exponential distribution that run times are drawn from",
     .required = true,
     .min = 1,
     .max = kTimeMax},
    {.name = "duration",
     .type = kDurations,
     .doc = "run times are cut to this range",
     .fallback = "1s..3650d",
     .min = 1,
     .max = kTimeMax},
    kMin,
    kRequired,
    kPreferred,
    kPods,
    kGroups,
};

constexpr Field kTrace[] = {
    {.name = "csv",
     .type = kText,
     .doc = "a job list in our own CSV, relative to the scenario; see [its columns](#job-list-csv)",
     .required = true},
};

constexpr Field kOpenbPods[] = {
    {.name = "pods",
     .type = kId,
     .doc = "the list's name, such as `default` or `cpu250`",
     .required = true},
    {.name = "orders",
     .type = kChoice,
     .doc = "the published order of arrivals where there is one for the seed, or one of our own",
     .fallback = "published",
     .words = "published generated"},
    {.name = "inflate",
     .type = kRatio,
     .doc = "GPUs asked for, as a ratio to those that exist",
     .fallback = "1.3",
     .min = 1,
     .max = 10'000},
    {.name = "distinct",
     .type = kCount,
     .doc = "so many pods of which no two are alike, made from those of the list, replace it",
     .min = 1,
     .max = kPodsPerJobMax},
};

}  // namespace

#define MAINSPRING_TABLE(function, title, fields, doc)      \
  const FieldTable& function() {                            \
    static constexpr FieldTable kTable{title, doc, fields}; \
    return kTable;                                          \
  }

MAINSPRING_TABLE(workload_table, "workload", kWorkload,
                 "What arrives: any mixture of the first three, or `openb`.")
MAINSPRING_TABLE(
    job_table, "job", kJob,
    "One job. It is the root of a tree of groups: whatever has a `min` runs with at least "
    "so many of its pods and groups, or not at all.")
MAINSPRING_TABLE(group_table, "group", kGroup,
                 "A part of a job, with a minimum and a place of its own.")
MAINSPRING_TABLE(pods_table, "pods", kPodsFields, "Pods of one shape.")
MAINSPRING_TABLE(requirement_table, "node requirement", kRequirement,
                 "A condition on a label of the node, as in a node affinity of Kubernetes.")
MAINSPRING_TABLE(toleration_table, "toleration", kToleration, "As in Kubernetes.")
MAINSPRING_TABLE(pod_rule_table, "pod rule", kPodRule,
                 "As pod affinity, anti-affinity and topology spread of Kubernetes.")
MAINSPRING_TABLE(generated_jobs_table, "generated jobs", kGenerated,
                 "Jobs drawn from the seed: each arrival is one kind of the mix.")
MAINSPRING_TABLE(mix_table, "mix", kMix, "One kind of generated job.")
MAINSPRING_TABLE(trace_table, "trace", kTrace, "Jobs from a file.")
MAINSPRING_TABLE(
    openb_pods_table, "openb pods", kOpenbPods,
    "A pod list of the public GPU trace of 2023. Pods arrive one after another and never "
    "end, so jobs, faults and times have no meaning beside it.")

#undef MAINSPRING_TABLE

}  // namespace mainspring::config
