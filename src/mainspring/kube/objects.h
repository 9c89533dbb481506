// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/model/spec.h"

// What Mainspring keeps of the API server's objects: the fields that decide, and nothing else.
// Amounts are whole numbers in the units of the model (milli-CPU, bytes, counts).

namespace mainspring::kube {

using StringMap = std::map<std::string, std::string>;

struct Owner {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  friend auto operator<=>(const Owner&, const Owner&) = default;
};

struct Meta {
  std::string namespace_name;  // empty where the kind has none
  std::string name;
  std::string uid;
  std::string resource_version;
  StringMap labels;
  StringMap annotations;            // without what kubectl keeps there for itself
  std::optional<Owner> controller;  // the owner with controller: true
  base::Instant created_at;
  bool deleting = false;  // it has a deletion timestamp

  // The value; empty where it is not there.
  [[nodiscard]] std::string_view annotation(std::string_view key) const {
    const auto found = annotations.find(std::string(key));
    return found == annotations.end() ? std::string_view{} : std::string_view(found->second);
  }
  [[nodiscard]] std::string key() const {
    return namespace_name.empty() ? name : namespace_name + "/" + name;
  }
  friend bool operator==(const Meta&, const Meta&) = default;
};

// matchLabels and matchExpressions, all of which must hold. `kGt` and `kLt` do not occur.
struct LabelSelector {
  bool matches_nothing = false;  // a selector that is absent
  std::vector<model::NodeRequirement> requirements;
  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
};
bool matches(const LabelSelector& selector, const StringMap& labels);

// One term of nodeSelectorTerms: every requirement must hold.
struct NodeTerm {
  std::vector<model::NodeRequirement> labels;
  std::vector<model::NodeRequirement> fields;  // of metadata.name only
  friend bool operator==(const NodeTerm&, const NodeTerm&) = default;
};

struct PodAffinityTerm {
  LabelSelector selector;
  std::vector<std::string> namespaces;
  std::optional<LabelSelector> namespace_selector;
  std::string topology_key;
  friend bool operator==(const PodAffinityTerm&, const PodAffinityTerm&) = default;
};

struct SpreadConstraint {
  int32_t max_skew = 1;
  std::string topology_key;
  LabelSelector selector;  // matchLabelKeys included
  int32_t min_domains = 1;
  bool honor_affinity = true;
  bool honor_taints = false;
  friend bool operator==(const SpreadConstraint&, const SpreadConstraint&) = default;
};

struct HostPort {
  std::string address = "0.0.0.0";
  std::string protocol = "TCP";
  int32_t port = 0;
  friend auto operator<=>(const HostPort&, const HostPort&) = default;
};

enum class PodPhaseWord : uint8_t { kPending, kRunning, kSucceeded, kFailed, kUnknown };

// A condition of type PodScheduled.
struct ScheduledCondition {
  bool is_true = false;
  std::string reason;
  std::string message;
  friend bool operator==(const ScheduledCondition&, const ScheduledCondition&) = default;
};

struct PodObject {
  Meta meta;
  std::string scheduler_name;
  std::string node_name;
  std::string nominated_node;
  PodPhaseWord phase = PodPhaseWord::kPending;
  bool ready = false;
  std::string status_reason;  // such as UnexpectedAdmissionError, Evicted
  int32_t priority = 0;
  bool never_preempts = false;  // preemptionPolicy: Never
  int32_t scheduling_gates = 0;
  std::string pod_group;  // spec.schedulingGroup.podGroupName
  // What the pod needs on its node: the larger of the sum of its containers (restartable init
  // containers among them) and each of its init containers, and its overhead. By resource name;
  // cpu in milli, memory and storage in bytes, all else in counts.
  std::map<std::string, int64_t> requests;
  StringMap node_selector;
  std::vector<NodeTerm> node_terms;  // any of them; empty: no wish
  bool impossible_terms = false;     // required node affinity without a term matches no node
  std::vector<model::Toleration> tolerations;
  std::vector<PodAffinityTerm> affinity;       // required ones
  std::vector<PodAffinityTerm> anti_affinity;  // required ones
  std::vector<SpreadConstraint> spread;        // whenUnsatisfiable: DoNotSchedule
  std::vector<HostPort> host_ports;
  std::vector<std::string> claims;  // names of persistent volume claims, ephemeral ones too
  std::vector<std::string> resource_claims;  // names of DRA claims
  std::optional<ScheduledCondition> scheduled;
  base::Duration grace = base::seconds(30);
  friend bool operator==(const PodObject&, const PodObject&) = default;

  [[nodiscard]] bool finished() const {
    return phase == PodPhaseWord::kSucceeded || phase == PodPhaseWord::kFailed;
  }
};

struct NodeObject {
  Meta meta;
  bool unschedulable = false;
  bool ready = false;
  std::vector<model::Taint> taints;
  std::map<std::string, int64_t> allocatable;  // as PodObject::requests
  friend bool operator==(const NodeObject&, const NodeObject&) = default;
};

// scheduling.k8s.io PodGroup, of either version.
struct PodGroupObject {
  Meta meta;
  int32_t min_count = 0;  // 0: the group has no gang policy
  friend bool operator==(const PodGroupObject&, const PodGroupObject&) = default;
};

// batch/v1 Job: what its pods do not say themselves.
struct BatchJobObject {
  Meta meta;
  int32_t parallelism = 1;
  bool finished = false;
  friend bool operator==(const BatchJobObject&, const BatchJobObject&) = default;
};

struct BudgetObject {
  Meta meta;
  LabelSelector selector;
  int32_t disruptions_allowed = 0;
  friend bool operator==(const BudgetObject&, const BudgetObject&) = default;
};

struct NamespaceObject {
  Meta meta;
  friend bool operator==(const NamespaceObject&, const NamespaceObject&) = default;
};

struct VolumeObject {
  Meta meta;
  std::string storage_class;
  std::string phase;  // Available, Bound, ...
  std::string claim;  // namespace/name it is bound or promised to
  std::string csi_driver;
  int64_t capacity_bytes = 0;
  std::vector<std::string> access_modes;
  std::vector<NodeTerm> node_terms;
  friend bool operator==(const VolumeObject&, const VolumeObject&) = default;
};

struct ClaimObject {
  Meta meta;
  std::string storage_class;
  std::string volume_name;
  std::string phase;
  int64_t request_bytes = 0;
  std::vector<std::string> access_modes;
  std::string selected_node;  // annotation volume.kubernetes.io/selected-node
  friend bool operator==(const ClaimObject&, const ClaimObject&) = default;
};

struct StorageClassObject {
  Meta meta;
  std::string provisioner;
  bool waits_for_consumer = false;
  std::vector<NodeTerm> allowed_topologies;
  friend bool operator==(const StorageClassObject&, const StorageClassObject&) = default;
};

struct CsiNodeObject {
  Meta meta;
  std::vector<std::pair<std::string, int32_t>> volume_limits;  // driver, count
  friend bool operator==(const CsiNodeObject&, const CsiNodeObject&) = default;
};

}  // namespace mainspring::kube
