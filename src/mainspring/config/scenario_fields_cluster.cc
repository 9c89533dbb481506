// SPDX-License-Identifier: Apache-2.0
#include "mainspring/config/field_limits.h"
#include "mainspring/config/scenario_fields.h"

namespace mainspring::config {
namespace {

using enum FieldType;

constexpr Field kNodeCpu{.name = "cpu",
                         .type = kCpu,
                         .doc = "CPUs to give away",
                         .fallback = "64",
                         .min = 0,
                         .max = kCpuMilliMax};
constexpr Field kMemory{.name = "memory",
                        .type = kBytes,
                        .doc = "memory to give away",
                        .fallback = "512Gi",
                        .min = 0,
                        .max = kBytesMax};
constexpr Field kEphemeral{.name = "ephemeral_storage",
                           .type = kBytes,
                           .doc = "local disk to give away",
                           .fallback = "1Ti",
                           .min = 0,
                           .max = kBytesMax};
constexpr Field kPods{.name = "pods",
                      .type = kCount,
                      .doc = "pods that may run at once",
                      .fallback = "110",
                      .min = 0,
                      .max = kPodsPerNodeMax};
constexpr Field kGpus{
    .name = "gpus", .type = kOneOrMany, .doc = "its devices; left out: none", .section = "gpus"};
constexpr Field kNodeLabels{.name = "labels", .type = kLabels, .doc = "labels of the node"};
constexpr Field kTaints{
    .name = "taints", .type = kMany, .doc = "taints of the node", .section = "taint"};
constexpr Field kVolumesMax{.name = "volumes_max",
                            .type = kCount,
                            .doc = "different volumes that may be attached; left out: any number",
                            .min = 0,
                            .max = kPodsPerNodeMax};

constexpr Field kCluster[] = {
    {.name = "generate",
     .type = kOneOrMany,
     .doc = "many nodes of one kind",
     .section = "generated nodes"},
    {.name = "nodes", .type = kMany, .doc = "nodes one by one", .section = "node"},
    {.name = "openb",
     .type = kOne,
     .doc = "the node list of a public trace, for `workload.openb`",
     .section = "openb nodes"},
};

constexpr Field kGenerated[] = {
    {.name = "count",
     .type = kCount,
     .doc = "how many; left out: as many as the tree has leaves",
     .min = 1,
     .max = kNodesMax},
    {.name = "name",
     .type = kText,
     .doc = "their names; `{}` becomes 0, 1, 2 ...",
     .fallback = "node-{}"},
    {.name = "tree",
     .type = kCounts,
     .doc = "how many domains of each level lie in one of the level before, the widest first, then "
            "`node`; gives every node the labels of its domains",
     .min = 1,
     .max = kNodesMax},
    {.name = "domain_prefix",
     .type = kId,
     .doc = "put before the names of the tree's domains, so that two trees differ"},
    kNodeCpu,
    kMemory,
    kEphemeral,
    kPods,
    kGpus,
    kNodeLabels,
    kTaints,
    kVolumesMax,
};

constexpr Field kNode[] = {
    {.name = "name", .type = kId, .doc = "its name", .required = true},
    kNodeCpu,
    kMemory,
    kEphemeral,
    kPods,
    kGpus,
    kNodeLabels,
    kTaints,
    kVolumesMax,
    {.name = "schedulable", .type = kFlag, .doc = "false: cordoned", .fallback = "true"},
    {.name = "ready", .type = kFlag, .doc = "false: it does not answer", .fallback = "true"},
};

constexpr Field kGpusFields[] = {
    {.name = "count",
     .type = kCount,
     .doc = "how many; their ids are `gpu-0`, `gpu-1` ...",
     .required = true,
     .min = 1,
     .max = kGpusPerNodeMost},
    {.name = "model",
     .type = kName,
     .doc = "what pods ask for with `gpu_models`",
     .fallback = "H100"},
    {.name = "memory",
     .type = kBytes,
     .doc = "of each",
     .fallback = "80Gi",
     .min = 1,
     .max = kBytesMax},
    {.name = "resource",
     .type = kName,
     .doc = "the resource name under which the node offers them",
     .fallback = "nvidia.com/gpu"},
};

constexpr Field kTaint[] = {
    {.name = "key", .type = kName, .doc = "its key", .required = true},
    {.name = "value", .type = kName, .doc = "its value; left out: empty"},
    {.name = "effect",
     .type = kChoice,
     .doc = "what it does to pods that do not tolerate it",
     .fallback = "NoSchedule",
     .words = "NoSchedule PreferNoSchedule NoExecute"},
};

constexpr Field kOpenbNodes[] = {
    {.name = "nodes",
     .type = kChoice,
     .doc = "which of the trace's node lists: the 1,213 nodes with GPUs",
     .fallback = "gpu_nodes",
     .words = "gpu_nodes"},
};

}  // namespace

const FieldTable& cluster_table() {
  static constexpr FieldTable kTable{
      "cluster", "The nodes: any mixture of the first two, or `openb`.", kCluster};
  return kTable;
}

const FieldTable& generated_nodes_table() {
  static constexpr FieldTable kTable{"generated nodes",
                                     "Nodes that differ in name and place only. With `tree: {zone: "
                                     "2, rack: 4, node: 8}` there are "
                                     "64 of them; the domains are called `zone-0`, `rack-0-0` (the "
                                     "first rack of the first zone) and "
                                     "so on.",
                                     kGenerated};
  return kTable;
}

const FieldTable& node_table() {
  static constexpr FieldTable kTable{"node", "One node.", kNode};
  return kTable;
}

const FieldTable& gpus_table() {
  static constexpr FieldTable kTable{"gpus", "Devices of one kind in a node.", kGpusFields};
  return kTable;
}

const FieldTable& taint_table() {
  static constexpr FieldTable kTable{"taint", "As in Kubernetes.", kTaint};
  return kTable;
}

const FieldTable& openb_nodes_table() {
  static constexpr FieldTable kTable{"openb nodes", "Nodes of the public GPU trace of 2023.",
                                     kOpenbNodes};
  return kTable;
}

}  // namespace mainspring::config
