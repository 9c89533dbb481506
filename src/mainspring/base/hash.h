// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

// A running 64-bit hash of what happened, for comparing runs: FNV-1a (Fowler, Noll, Vo), fed byte
// by byte so that it is the same in every build. Not for security and not for hash tables.

namespace mainspring::base {

class RunHash {
 public:
  void add(std::string_view text) {
    add(static_cast<uint64_t>(text.size()));
    for (const char character : text) step(static_cast<unsigned char>(character));
  }
  template <class Int>
    requires std::is_integral_v<Int>
  void add(Int number) {
    auto bits = static_cast<uint64_t>(number);
    for (int byte = 0; byte < 8; ++byte) {
      step(static_cast<unsigned char>(bits & 0xff));
      bits >>= 8;
    }
  }

  [[nodiscard]] uint64_t value() const { return value_; }
  // Sixteen lower-case hexadecimal digits.
  [[nodiscard]] std::string hex() const;

 private:
  void step(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3ULL; }
  uint64_t value_ = 0xcbf29ce484222325ULL;
};

}  // namespace mainspring::base
