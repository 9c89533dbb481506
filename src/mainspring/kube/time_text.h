// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mainspring/base/instant.h"

// Times as the API server writes them (RFC 3339), to the millisecond.

namespace mainspring::kube {

// "2026-01-31T12:00:00Z", with a fraction of a second or another offset too. Nothing if it is no
// such time, or before 1970 or after 9999.
std::optional<base::Instant> parse_time(std::string_view text);

// "2026-01-31T12:00:00Z": metav1.Time.
std::string time_text(base::Instant time);

// "2026-01-31T12:00:00.000000Z": metav1.MicroTime.
std::string micro_time_text(base::Instant time);

}  // namespace mainspring::kube
