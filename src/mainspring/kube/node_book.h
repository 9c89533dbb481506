// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mainspring/kube/objects.h"
#include "mainspring/kube/pod_wishes.h"
#include "mainspring/model/spec.h"

// A node as the model sees it. A stock device plugin tells only how many GPUs there are, so they
// are numbered: "gpu-0", "gpu-1" and on; of a second GPU resource "RESOURCE/gpu-0".

namespace mainspring::kube {

model::NodeSpec node_spec_of(const NodeObject& node, const Naming& naming);

}  // namespace mainspring::kube
