// SPDX-License-Identifier: Apache-2.0
#include "mainspring/base/id_map.h"

#include <functional>
#include <string>

#include <boost/unordered/unordered_flat_map.hpp>

#include "mainspring/base/check.h"

namespace mainspring::base {
namespace {

// Lets a string_view look up a std::string key without making one.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

}  // namespace

struct IdMap::Impl {
  boost::unordered_flat_map<std::string, uint32_t, TextHash, std::equal_to<>> slots;
};

IdMap::IdMap() : impl_(std::make_unique<Impl>()) {}
IdMap::~IdMap() = default;
IdMap::IdMap(IdMap&&) noexcept = default;
IdMap& IdMap::operator=(IdMap&&) noexcept = default;

void IdMap::insert(std::string_view id, uint32_t slot) {
  const bool inserted = impl_->slots.emplace(std::string(id), slot).second;
  MAINSPRING_CHECK(inserted, "an id was inserted twice");
}

void IdMap::erase(std::string_view id) {
  const auto found = impl_->slots.find(id);
  MAINSPRING_CHECK(found != impl_->slots.end(), "an unknown id was erased");
  impl_->slots.erase(found);
}

uint32_t IdMap::find(std::string_view id) const {
  const auto found = impl_->slots.find(id);
  return found == impl_->slots.end() ? kNone : found->second;
}

size_t IdMap::size() const { return impl_->slots.size(); }

}  // namespace mainspring::base
