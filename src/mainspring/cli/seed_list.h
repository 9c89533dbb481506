// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/result.h"

// Lists on the command line.

namespace mainspring::cli {

// "42", "42..51", "1,2,7..9": in the order given, at most 10,000, none twice.
base::Result<std::vector<uint64_t>> parse_seeds(std::string_view text);

// "fgd,best-fit": each one of `known`, none twice. `what` names them in errors.
base::Result<std::vector<std::string>> parse_names(std::string_view text, std::string_view what,
                                                   const std::vector<std::string_view>& known);

}  // namespace mainspring::cli
