// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "mainspring/config/core_fields.h"
#include "mainspring/config/field.h"

// The fields of the scheduler's configuration file. The reference page is printed from these.

namespace mainspring::config {

const FieldTable& scheduler_table();
const FieldTable& class_rule_table();
const FieldTable& leader_election_table();

// All of them, in the order of the reference page.
std::span<const FieldTable* const> scheduler_tables();

}  // namespace mainspring::config
