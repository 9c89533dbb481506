// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "mainspring/base/hash.h"
#include "mainspring/model/event.h"
#include "mainspring/model/plan.h"

// What a run is hashed over.

namespace mainspring::sim {

// Who was told what when, in short: kind, names, lives and amounts of the event.
void fold(base::RunHash& hash, const model::Event& event);

// Every decision with all that it says. Explanations are not part of it: a process that is new to a
// restored state tells them anew.
void fold(base::RunHash& hash, const model::Plan& plan);

// Of one plan alone.
[[nodiscard]] uint64_t digest_of_decisions(const model::Plan& plan);

}  // namespace mainspring::sim
