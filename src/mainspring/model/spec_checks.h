// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "mainspring/base/result.h"
#include "mainspring/model/pod_shape.h"

// What several kinds of specs are checked for. Errors name the field and what is wrong with it.

namespace mainspring::model {

inline constexpr size_t kNameLengthMax = 253;
// Of resources that are known by name: the sum over all pods that there can be stays countable.
inline constexpr int64_t kNamedAmountMax = int64_t{1} << 43;

base::Status check_name(std::string_view field, std::string_view name,
                        size_t length_max = kNameLengthMax);
// Not negative, and at most kAmountMax.
base::Status check_amount(std::string_view field, int64_t amount);
base::Status check_resources(const std::string& field, const Resources& resources);
// Sorted by name and without doubles; amounts in least..kNamedAmountMax.
base::Status check_named(const std::string& field, std::span<const NamedAmount> amounts,
                         int64_t least);

}  // namespace mainspring::model
