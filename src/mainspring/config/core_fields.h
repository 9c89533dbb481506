// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mainspring/config/field.h"

// The fields that say what the core is told, in whatever file they stand: topologies, how long it
// waits, how queues share, and the queues themselves.

namespace mainspring::config {

const FieldTable& topology_table();
const FieldTable& timeouts_table();
const FieldTable& sharing_table();
const FieldTable& queue_table();
const FieldTable& queue_resource_table();

}  // namespace mainspring::config
