// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

// Base64 (RFC 4648, section 4), as kubeconfigs carry certificates.

namespace mainspring::kube {

std::string encode_base64(std::string_view bytes);

// Blanks and line breaks are skipped. Nothing if the text is not Base64.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace mainspring::kube
