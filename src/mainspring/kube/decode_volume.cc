// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "mainspring/kube/decode.h"
#include "mainspring/kube/decode_fields.h"

namespace mainspring::kube {
namespace {

using base::Json;

void read_storage(FieldReader& fields, const Json& amounts, int64_t& bytes) {
  fields.quantity(amounts, "storage", bytes);
}

}  // namespace

base::Result<VolumeObject> decode_volume(const Json& object) {
  FieldReader fields;
  VolumeObject volume;
  read_meta(fields, object, volume.meta);
  fields.within(object, "spec", [&](const Json& spec) {
    fields.text(spec, "storageClassName", volume.storage_class);
    fields.texts(spec, "accessModes", volume.access_modes);
    fields.within(spec, "capacity", [&](const Json& amounts) {
      read_storage(fields, amounts, volume.capacity_bytes);
    });
    fields.within(spec, "csi",
                  [&](const Json& csi) { fields.text(csi, "driver", volume.csi_driver); });
    fields.within(spec, "claimRef", [&](const Json& claim) {
      std::string name;
      fields.text(claim, "namespace", volume.claim);
      fields.text(claim, "name", name);
      volume.claim += "/" + name;
    });
    fields.within(spec, "nodeAffinity", [&](const Json& affinity) {
      fields.within(affinity, "required", [&](const Json& required) {
        read_node_terms(fields, required, "nodeSelectorTerms", volume.node_terms);
      });
    });
  });
  fields.within(object, "status",
                [&](const Json& status) { fields.text(status, "phase", volume.phase); });
  if (!fields.good()) return tl::unexpected<base::Error>(fields.error());
  return volume;
}

base::Result<ClaimObject> decode_claim(const Json& object) {
  FieldReader fields;
  ClaimObject claim;
  read_meta(fields, object, claim.meta);
  fields.within(object, "spec", [&](const Json& spec) {
    fields.text(spec, "storageClassName", claim.storage_class);
    fields.text(spec, "volumeName", claim.volume_name);
    fields.texts(spec, "accessModes", claim.access_modes);
    fields.within(spec, "resources", [&](const Json& resources) {
      fields.within(resources, "requests", [&](const Json& amounts) {
        read_storage(fields, amounts, claim.request_bytes);
      });
    });
  });
  fields.within(object, "status",
                [&](const Json& status) { fields.text(status, "phase", claim.phase); });
  // The annotation of old claims that came before the field.
  if (claim.storage_class.empty()) {
    claim.storage_class = claim.meta.annotation("volume.beta.kubernetes.io/storage-class");
  }
  claim.selected_node = claim.meta.annotation("volume.kubernetes.io/selected-node");
  if (!fields.good()) return tl::unexpected<base::Error>(fields.error());
  return claim;
}

base::Result<StorageClassObject> decode_storage_class(const Json& object) {
  FieldReader fields;
  StorageClassObject storage;
  read_meta(fields, object, storage.meta);
  std::string mode;
  fields.text(object, "provisioner", storage.provisioner);
  fields.text(object, "volumeBindingMode", mode);
  storage.waits_for_consumer = mode == "WaitForFirstConsumer";
  fields.each(object, "allowedTopologies", [&](const Json& item) {
    NodeTerm term;
    fields.each(item, "matchLabelExpressions", [&](const Json& expression) {
      model::NodeRequirement requirement;
      fields.text(expression, "key", requirement.key);
      fields.texts(expression, "values", requirement.values);
      term.labels.push_back(std::move(requirement));
    });
    if (!term.labels.empty()) storage.allowed_topologies.push_back(std::move(term));
  });
  if (!fields.good()) return tl::unexpected<base::Error>(fields.error());
  return storage;
}

}  // namespace mainspring::kube
