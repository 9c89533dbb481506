// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/result.h"

// A YAML document as a plain tree that remembers where each thing stood.
//
// Only what a file written by hand needs: one document of mappings, sequences and scalars. Anchors,
// aliases, tags and keys that are not plain words are refused, so that a small file cannot unfold
// into a large tree.

namespace mainspring::config {

struct YamlNode {
  enum class Kind : uint8_t { kNull, kScalar, kSequence, kMap };

  Kind kind = Kind::kNull;
  int line = 1;  // both from 1
  int column = 1;
  std::string text;             // of a scalar
  std::vector<YamlNode> keys;   // of a map, scalars, no two alike
  std::vector<YamlNode> items;  // of a sequence, or the values of a map

  // The value of a key of a map, or nullptr.
  [[nodiscard]] const YamlNode* find(std::string_view key) const;
};

// "a mapping", "a list", "nothing", or the scalar in quotes, shortened: for messages.
std::string describe(const YamlNode& node);

// `file` names the text in messages. Errors: not YAML, or more than the subset above; also text
// over 8 MiB, nesting over 32 levels, or more than a million nodes. A file without content is one
// node of kind `kNull`.
base::Result<YamlNode> parse_yaml(std::string_view text, const std::string& file);

// The content of a file; the error reads "PATH: cannot be read; expected EXPECTED".
base::Result<std::string> read_text(const std::string& path, std::string_view expected);

// "file:line:column".
std::string place(const std::string& file, const YamlNode& node);

}  // namespace mainspring::config
