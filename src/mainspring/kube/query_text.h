// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace mainspring::kube {

// For the value of a query: everything but letters, digits and "-._~" becomes %XX.
std::string query_text(std::string_view value);

}  // namespace mainspring::kube
