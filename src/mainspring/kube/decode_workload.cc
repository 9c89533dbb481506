// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/decode.h"
#include "mainspring/kube/decode_fields.h"

namespace mainspring::kube {

using base::Json;

// Both versions of PodGroup keep the minimum in the same place.
base::Result<PodGroupObject> decode_pod_group(const Json& object) {
  FieldReader fields;
  PodGroupObject group;
  read_meta(fields, object, group.meta);
  fields.within(object, "spec", [&](const Json& spec) {
    fields.within(spec, "schedulingPolicy", [&](const Json& policy) {
      fields.within(policy, "gang", [&](const Json& gang) {
        fields.integer(gang, "minCount", 1, group.min_count);
      });
    });
  });
  if (!fields.good()) return tl::unexpected<base::Error>(fields.error());
  return group;
}

base::Result<BatchJobObject> decode_batch_job(const Json& object) {
  FieldReader fields;
  BatchJobObject job;
  read_meta(fields, object, job.meta);
  fields.within(object, "spec",
                [&](const Json& spec) { fields.integer(spec, "parallelism", 0, job.parallelism); });
  fields.within(object, "status", [&](const Json& status) {
    fields.each(status, "conditions", [&](const Json& item) {
      std::string type;
      std::string is;
      fields.text(item, "type", type);
      fields.text(item, "status", is);
      if ((type == "Complete" || type == "Failed") && is == "True") job.finished = true;
    });
  });
  if (!fields.good()) return tl::unexpected<base::Error>(fields.error());
  return job;
}

base::Result<BudgetObject> decode_budget(const Json& object) {
  FieldReader fields;
  BudgetObject budget;
  read_meta(fields, object, budget.meta);
  budget.selector.matches_nothing = true;
  fields.within(object, "spec", [&](const Json& spec) {
    read_label_selector(fields, spec, "selector", budget.selector);
  });
  fields.within(object, "status", [&](const Json& status) {
    fields.integer(status, "disruptionsAllowed", 0, budget.disruptions_allowed);
  });
  if (!fields.good()) return tl::unexpected<base::Error>(fields.error());
  return budget;
}

base::Result<NamespaceObject> decode_namespace(const Json& object) {
  FieldReader fields;
  NamespaceObject name_space;
  read_meta(fields, object, name_space.meta);
  if (!fields.good()) return tl::unexpected<base::Error>(fields.error());
  return name_space;
}

}  // namespace mainspring::kube
