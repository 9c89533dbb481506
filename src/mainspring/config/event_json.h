// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mainspring/base/json.h"
#include "mainspring/base/result.h"
#include "mainspring/model/event.h"

// Events as JSON (docs/reference/event-files.md). In config/, the lowest room that knows formats,
// since every edge reads or writes events and the edges do not see each other.
//
// What has its default value is left out, so that files stay small; a field that is not known is an
// error, so that a misspelt one does not become a default.

namespace mainspring::config {

[[nodiscard]] base::Json encode(const model::Event& event);

// Errors name the field and what was expected. Bounds and references are not checked here: the
// state does that when the event is applied.
base::Result<model::Event> decode_event(const base::Json& json);

}  // namespace mainspring::config
