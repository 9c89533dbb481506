// SPDX-License-Identifier: Apache-2.0
#include "mainspring/base/hash.h"

namespace mainspring::base {

std::string RunHash::hex() const {
  std::string text(16, '0');
  uint64_t rest = value_;
  for (size_t position = 16; position-- > 0; rest >>= 4) {
    text[position] = "0123456789abcdef"[rest & 0xf];
  }
  return text;
}

}  // namespace mainspring::base
