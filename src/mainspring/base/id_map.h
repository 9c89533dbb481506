// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

// Stable ids to table slots, with removal. Nothing iterates over it. O(length) per call.

namespace mainspring::base {

class IdMap {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  IdMap();
  ~IdMap();
  IdMap(IdMap&&) noexcept;
  IdMap& operator=(IdMap&&) noexcept;

  // `id` must not be there.
  void insert(std::string_view id, uint32_t slot);
  // `id` must be there.
  void erase(std::string_view id);
  // The slot, or kNone.
  [[nodiscard]] uint32_t find(std::string_view id) const;
  [[nodiscard]] size_t size() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mainspring::base
