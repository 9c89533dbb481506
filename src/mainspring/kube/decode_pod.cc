// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "mainspring/kube/decode.h"
#include "mainspring/kube/decode_fields.h"

// The sum of requests: kubernetes.io/docs, "Sidecar containers", and KEP-753. In-place resize
// (KEP-1287): a running container holds the largest of what it asks for, was allotted and has.

namespace mainspring::kube {
namespace {

using base::Json;
using Amounts = std::map<std::string, int64_t>;

void add(FieldReader& fields, Amounts& sum, const Amounts& more) {
  for (const auto& [name, amount] : more) {
    int64_t& total = sum[name];
    if (amount > std::numeric_limits<int64_t>::max() - total) {
      fields.fail({}, "the requests for " + name + " add up to more than 2^63 - 1");
      return;
    }
    total += amount;
  }
}

void raise(Amounts& highest, const Amounts& other) {
  for (const auto& [name, amount] : other) {
    int64_t& value = highest[name];
    value = std::max(value, amount);
  }
}

// What the kubelet says that the containers have, by their names.
std::map<std::string, Amounts> read_actual(FieldReader& fields, const Json& status) {
  std::map<std::string, Amounts> actual;
  for (const std::string_view list : {"containerStatuses", "initContainerStatuses"}) {
    fields.each(status, list, [&](const Json& container) {
      if (container.find("resources") == nullptr) return;
      std::string name;
      Amounts amounts;
      fields.text(container, "name", name);
      fields.within(container, "resources", [&](const Json& resources) {
        fields.resources(resources, "requests", amounts);
      });
      Amounts allocated;
      fields.resources(container, "allocatedResources", allocated);
      raise(amounts, allocated);
      actual.emplace(std::move(name), std::move(amounts));
    });
  }
  return actual;
}

Amounts container_requests(FieldReader& fields, const Json& container,
                           const std::map<std::string, Amounts>& actual) {
  Amounts requests;
  fields.within(container, "resources",
                [&](const Json& resources) { fields.resources(resources, "requests", requests); });
  if (actual.empty()) return requests;
  std::string name;
  fields.text(container, "name", name);
  const auto found = actual.find(name);
  if (found != actual.end()) raise(requests, found->second);
  return requests;
}

bool is_sidecar(FieldReader& fields, const Json& container) {
  std::string policy;
  fields.text(container, "restartPolicy", policy);
  return policy == "Always";
}

void read_requests(FieldReader& fields, const Json& spec,
                   const std::map<std::string, Amounts>& actual, PodObject& pod) {
  Amounts sum;
  fields.each(spec, "containers", [&](const Json& container) {
    add(fields, sum, container_requests(fields, container, actual));
  });
  // While an init container runs, the sidecars that were started before it run too.
  Amounts sidecars;
  Amounts starting;
  fields.each(spec, "initContainers", [&](const Json& container) {
    const Amounts own = container_requests(fields, container, actual);
    if (is_sidecar(fields, container)) {
      add(fields, sum, own);
      add(fields, sidecars, own);
      raise(starting, sidecars);
    } else {
      Amounts together = sidecars;
      add(fields, together, own);
      raise(starting, together);
    }
  });
  raise(sum, starting);
  // Requests of the pod as a whole stand in place of its containers'.
  fields.within(spec, "resources", [&](const Json& resources) {
    Amounts whole;
    fields.resources(resources, "requests", whole);
    for (const auto& [name, amount] : whole) {
      if (name == "cpu" || name == "memory" || name.starts_with("hugepages-")) sum[name] = amount;
    }
  });
  Amounts overhead;
  fields.resources(spec, "overhead", overhead);
  add(fields, sum, overhead);
  pod.requests = std::move(sum);
}

void read_host_ports(FieldReader& fields, const Json& container, PodObject& pod) {
  fields.each(container, "ports", [&](const Json& item) {
    HostPort port;
    fields.integer(item, "hostPort", 0, port.port);
    if (port.port == 0) return;
    fields.text(item, "protocol", port.protocol);
    std::string address;
    fields.text(item, "hostIP", address);
    if (!address.empty()) port.address = std::move(address);
    pod.host_ports.push_back(std::move(port));
  });
}

void read_ports(FieldReader& fields, const Json& spec, PodObject& pod) {
  fields.each(spec, "containers",
              [&](const Json& container) { read_host_ports(fields, container, pod); });
  fields.each(spec, "initContainers", [&](const Json& container) {
    if (is_sidecar(fields, container)) read_host_ports(fields, container, pod);
  });
}

void read_tolerations(FieldReader& fields, const Json& spec, PodObject& pod) {
  fields.each(spec, "tolerations", [&](const Json& item) {
    model::Toleration toleration;
    std::string op;
    std::string effect;
    fields.text(item, "key", toleration.key);
    fields.text(item, "value", toleration.value);
    fields.text(item, "operator", op);
    fields.text(item, "effect", effect);
    toleration.exists = op == "Exists";
    toleration.any_effect = effect.empty();
    if (effect == "PreferNoSchedule") toleration.effect = model::TaintEffect::kPreferNoSchedule;
    if (effect == "NoExecute") toleration.effect = model::TaintEffect::kNoExecute;
    // Operators of later versions tolerate nothing that we could judge.
    if (op.empty() || op == "Exists" || op == "Equal") {
      pod.tolerations.push_back(std::move(toleration));
    }
  });
}

void read_pod_terms(FieldReader& fields, const Json& affinity, const PodObject& pod,
                    std::vector<PodAffinityTerm>& out) {
  fields.each(affinity, "requiredDuringSchedulingIgnoredDuringExecution", [&](const Json& item) {
    PodAffinityTerm term;
    read_label_selector(fields, item, "labelSelector", term.selector);
    fields.texts(item, "namespaces", term.namespaces);
    fields.text(item, "topologyKey", term.topology_key);
    if (const Json* found = item.find("namespaceSelector");
        found && !found->is(Json::Kind::kNull)) {
      read_label_selector(fields, item, "namespaceSelector", term.namespace_selector.emplace());
    }
    if (term.namespaces.empty() && !term.namespace_selector) {
      term.namespaces.push_back(pod.meta.namespace_name);
    }
    out.push_back(std::move(term));
  });
}

void read_affinity(FieldReader& fields, const Json& spec, PodObject& pod) {
  fields.within(spec, "affinity", [&](const Json& affinity) {
    fields.within(affinity, "nodeAffinity", [&](const Json& node) {
      fields.within(node, "requiredDuringSchedulingIgnoredDuringExecution", [&](const Json& wish) {
        read_node_terms(fields, wish, "nodeSelectorTerms", pod.node_terms);
        pod.impossible_terms = pod.node_terms.empty();
      });
    });
    fields.within(affinity, "podAffinity",
                  [&](const Json& terms) { read_pod_terms(fields, terms, pod, pod.affinity); });
    fields.within(affinity, "podAntiAffinity", [&](const Json& terms) {
      read_pod_terms(fields, terms, pod, pod.anti_affinity);
    });
  });
}

void read_spread(FieldReader& fields, const Json& spec, PodObject& pod) {
  fields.each(spec, "topologySpreadConstraints", [&](const Json& item) {
    SpreadConstraint constraint;
    std::string otherwise;
    std::string affinity_policy;
    std::string taints_policy;
    std::vector<std::string> keys;
    fields.text(item, "whenUnsatisfiable", otherwise);
    if (otherwise != "DoNotSchedule") return;
    fields.integer(item, "maxSkew", 1, constraint.max_skew);
    fields.integer(item, "minDomains", 1, constraint.min_domains);
    fields.text(item, "topologyKey", constraint.topology_key);
    fields.text(item, "nodeAffinityPolicy", affinity_policy);
    fields.text(item, "nodeTaintsPolicy", taints_policy);
    fields.texts(item, "matchLabelKeys", keys);
    read_label_selector(fields, item, "labelSelector", constraint.selector);
    constraint.honor_affinity = affinity_policy != "Ignore";
    constraint.honor_taints = taints_policy == "Honor";
    for (const std::string& key : keys) {
      const auto label = pod.meta.labels.find(key);
      if (label == pod.meta.labels.end()) continue;
      model::NodeRequirement same{key, model::SelectorOp::kIn, {label->second}};
      // The API server may have added it already.
      auto& all = constraint.selector.requirements;
      if (std::ranges::find(all, same) == all.end()) all.push_back(std::move(same));
    }
    pod.spread.push_back(std::move(constraint));
  });
}

void read_claims(FieldReader& fields, const Json& spec, PodObject& pod) {
  fields.each(spec, "volumes", [&](const Json& volume) {
    fields.within(volume, "persistentVolumeClaim", [&](const Json& source) {
      fields.text(source, "claimName", pod.claims.emplace_back());
    });
    fields.within(volume, "ephemeral", [&](const Json&) {
      std::string name;
      fields.text(volume, "name", name);
      pod.claims.push_back(pod.meta.name + "-" + name);
    });
  });
}

void read_resource_claims(FieldReader& fields, const Json& spec, const Json* status,
                          PodObject& pod) {
  StringMap made;
  if (status != nullptr) {
    fields.each(*status, "resourceClaimStatuses", [&](const Json& item) {
      std::string name;
      fields.text(item, "name", name);
      fields.text(item, "resourceClaimName", made[name]);
    });
  }
  fields.each(spec, "resourceClaims", [&](const Json& item) {
    std::string name;
    std::string claim;
    fields.text(item, "name", name);
    fields.text(item, "resourceClaimName", claim);
    if (claim.empty()) claim = made[name];
    pod.resource_claims.push_back(std::move(claim));
  });
}

void read_spec(FieldReader& fields, const Json& spec, PodObject& pod) {
  fields.text(spec, "schedulerName", pod.scheduler_name);
  fields.text(spec, "nodeName", pod.node_name);
  fields.integer(spec, "priority", std::numeric_limits<int32_t>::min(), pod.priority);
  std::string policy;
  fields.text(spec, "preemptionPolicy", policy);
  pod.never_preempts = policy == "Never";
  fields.each(spec, "schedulingGates", [&](const Json&) { ++pod.scheduling_gates; });
  fields.within(spec, "schedulingGroup",
                [&](const Json& group) { fields.text(group, "podGroupName", pod.pod_group); });
  fields.map(spec, "nodeSelector", pod.node_selector);
  int64_t grace_seconds = pod.grace.ms / 1000;
  fields.integer(spec, "terminationGracePeriodSeconds", -1, int64_t{1} << 40, grace_seconds);
  pod.grace = base::seconds(std::max<int64_t>(grace_seconds, 1));
  read_tolerations(fields, spec, pod);
  read_affinity(fields, spec, pod);
  read_spread(fields, spec, pod);
  read_ports(fields, spec, pod);
  read_claims(fields, spec, pod);
}

PodPhaseWord phase_of(const std::string& word) {
  if (word == "Running") return PodPhaseWord::kRunning;
  if (word == "Succeeded") return PodPhaseWord::kSucceeded;
  if (word == "Failed") return PodPhaseWord::kFailed;
  if (word.empty() || word == "Pending") return PodPhaseWord::kPending;
  return PodPhaseWord::kUnknown;
}

void read_status(FieldReader& fields, const Json& status, PodObject& pod) {
  std::string phase;
  fields.text(status, "phase", phase);
  pod.phase = phase_of(phase);
  fields.text(status, "reason", pod.status_reason);
  fields.text(status, "nominatedNodeName", pod.nominated_node);
  fields.each(status, "conditions", [&](const Json& item) {
    std::string type;
    std::string is;
    fields.text(item, "type", type);
    fields.text(item, "status", is);
    if (type == "Ready") pod.ready = is == "True";
    if (type != "PodScheduled") return;
    ScheduledCondition& condition = pod.scheduled.emplace();
    condition.is_true = is == "True";
    fields.text(item, "reason", condition.reason);
    fields.text(item, "message", condition.message);
  });
}

}  // namespace

base::Result<PodObject> decode_pod(const Json& object) {
  FieldReader fields;
  PodObject pod;
  read_meta(fields, object, pod.meta);
  std::map<std::string, Amounts> actual;
  const Json* status = object.find("status");
  fields.within(object, "status", [&](const Json& part) {
    read_status(fields, part, pod);
    // A pod that has ended holds nothing, and one that waits holds what it asks for.
    if (pod.phase == PodPhaseWord::kRunning) actual = read_actual(fields, part);
  });
  fields.within(object, "spec", [&](const Json& spec) {
    read_spec(fields, spec, pod);
    read_requests(fields, spec, actual, pod);
    read_resource_claims(fields, spec, status, pod);
  });
  if (object.find("spec") == nullptr) fields.fail("spec", "is missing");
  if (!fields.good()) return tl::unexpected<base::Error>(fields.error());
  return pod;
}

}  // namespace mainspring::kube
