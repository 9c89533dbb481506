// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mainspring/base/json.h"
#include "mainspring/base/result.h"
#include "mainspring/kube/objects.h"

// From the API server's JSON to what is kept of it (objects.h). Everything that does not decide is
// dropped, managedFields and the statuses of containers among it. Items of a list may come without
// apiVersion and kind. Errors name the field: "spec.containers[0].resources.requests.cpu: ...".

namespace mainspring::kube {

base::Result<PodObject> decode_pod(const base::Json& object);
base::Result<NodeObject> decode_node(const base::Json& object);
base::Result<PodGroupObject> decode_pod_group(const base::Json& object);  // each version
base::Result<BatchJobObject> decode_batch_job(const base::Json& object);
base::Result<BudgetObject> decode_budget(const base::Json& object);
base::Result<NamespaceObject> decode_namespace(const base::Json& object);
base::Result<VolumeObject> decode_volume(const base::Json& object);
base::Result<ClaimObject> decode_claim(const base::Json& object);
base::Result<StorageClassObject> decode_storage_class(const base::Json& object);
base::Result<CsiNodeObject> decode_csi_node(const base::Json& object);

}  // namespace mainspring::kube
