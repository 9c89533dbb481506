// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace mainspring::kube {

// The JSON text with 0 in place of the arrays called "managedFields": up to half of an object,
// which nobody here reads, is not worth its parsing. `kept` holds the result where it differs from
// `text`. Text that is no JSON comes out as some other text that is none. O(bytes).
std::string_view without_managed_fields(std::string_view text, std::string& kept);

}  // namespace mainspring::kube
