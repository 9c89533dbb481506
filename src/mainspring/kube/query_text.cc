// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/query_text.h"

namespace mainspring::kube {

std::string query_text(std::string_view value) {
  std::string out;
  out.reserve(value.size());
  for (const char character : value) {
    const bool plain = (character >= 'a' && character <= 'z') ||
                       (character >= 'A' && character <= 'Z') ||
                       (character >= '0' && character <= '9') || character == '-' ||
                       character == '.' || character == '_' || character == '~';
    if (plain) {
      out += character;
      continue;
    }
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(character);
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 0xf];
  }
  return out;
}

}  // namespace mainspring::kube
