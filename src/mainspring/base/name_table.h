// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

// Names to small numbers and back. Numbers are given in order of first sight and never reused, so
// tables may be indexed by them; nothing iterates over the hash table behind it. Look-ups are
// O(length).

namespace mainspring::base {

class NameTable {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  NameTable();
  ~NameTable();
  NameTable(NameTable&&) noexcept;
  NameTable& operator=(NameTable&&) noexcept;

  // The number of `name`, given now if it is new.
  uint32_t intern(std::string_view name);
  // The number of `name`, or kNone.
  [[nodiscard]] uint32_t find(std::string_view name) const;
  // Valid as long as the table.
  [[nodiscard]] const std::string& name(uint32_t number) const;
  [[nodiscard]] size_t size() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mainspring::base
