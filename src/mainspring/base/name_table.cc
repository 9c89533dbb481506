// SPDX-License-Identifier: Apache-2.0
#include "mainspring/base/name_table.h"

#include <deque>

#include <boost/unordered/unordered_flat_map.hpp>

#include "mainspring/base/check.h"

namespace mainspring::base {

// The deque keeps the strings where they are, so that the keys may view them.
struct NameTable::Impl {
  std::deque<std::string> names;
  boost::unordered_flat_map<std::string_view, uint32_t> numbers;
};

NameTable::NameTable() : impl_(std::make_unique<Impl>()) {}
NameTable::~NameTable() = default;
NameTable::NameTable(NameTable&&) noexcept = default;
NameTable& NameTable::operator=(NameTable&&) noexcept = default;

uint32_t NameTable::intern(std::string_view name) {
  const auto found = impl_->numbers.find(name);
  if (found != impl_->numbers.end()) return found->second;
  const auto number = static_cast<uint32_t>(impl_->names.size());
  MAINSPRING_CHECK(number != kNone, "more names than a table can number");
  impl_->names.emplace_back(name);
  impl_->numbers.emplace(impl_->names.back(), number);
  return number;
}

uint32_t NameTable::find(std::string_view name) const {
  const auto found = impl_->numbers.find(name);
  return found == impl_->numbers.end() ? kNone : found->second;
}

const std::string& NameTable::name(uint32_t number) const {
  MAINSPRING_CHECK(number < impl_->names.size(), "no name has this number");
  return impl_->names[number];
}

size_t NameTable::size() const { return impl_->names.size(); }

}  // namespace mainspring::base
