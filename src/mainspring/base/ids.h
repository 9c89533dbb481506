// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>

// Strong indexes into the dense tables of the model.
//
// An index names a slot together with the generation of its occupant, so that an index kept past
// the occupant's end is recognised. Indexes never leave the process: events, plans and files use
// stable ids.

namespace mainspring::base {

template <class Tag>
struct Index {
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  uint32_t slot = kNone;
  uint32_t generation = 0;

  [[nodiscard]] constexpr bool valid() const { return slot != kNone; }
  friend constexpr auto operator<=>(const Index&, const Index&) = default;
};

// A slot of a table whose rows are never reused (interned names, shapes).
template <class Tag>
struct Symbol {
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  uint32_t slot = kNone;

  [[nodiscard]] constexpr bool valid() const { return slot != kNone; }
  friend constexpr auto operator<=>(const Symbol&, const Symbol&) = default;
};

}  // namespace mainspring::base
