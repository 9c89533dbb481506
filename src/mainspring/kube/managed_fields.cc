// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/managed_fields.h"

namespace mainspring::kube {
namespace {

constexpr std::string_view kMember = "\"managedFields\":[";

// The end of the array that begins at `from`; npos where it does not end.
size_t end_of_array(std::string_view text, size_t from) {
  size_t depth = 0;
  bool in_text = false;
  for (size_t at = from; at < text.size(); ++at) {
    const char byte = text[at];
    if (in_text) {
      if (byte == '\\') {
        ++at;
      } else if (byte == '"') {
        in_text = false;
      }
    } else if (byte == '"') {
      in_text = true;
    } else if (byte == '[' || byte == '{') {
      ++depth;
    } else if (byte == ']' || byte == '}') {
      if (--depth == 0) return at + 1;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::string_view without_managed_fields(std::string_view text, std::string& kept) {
  kept.clear();
  size_t from = 0;
  while (true) {
    const size_t found = text.find(kMember, from);
    if (found == std::string_view::npos) break;
    const size_t array = found + kMember.size() - 1;
    // Within a text, the quotes have backslashes before them: the second one is not found, and the
    // first one is looked at here.
    const bool is_member = found == 0 || text[found - 1] != '\\';
    const size_t end = is_member ? end_of_array(text, array) : array;
    if (end == std::string_view::npos) break;
    kept += text.substr(from, array - from);
    if (is_member) kept += '0';
    from = end;
  }
  if (from == 0) return text;
  kept += text.substr(from);
  return kept;
}

}  // namespace mainspring::kube
