// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Amounts in words. Whole numbers throughout; what is not exact in the larger unit keeps the
// smaller.

namespace mainspring::engine {

// "1 node", "3 nodes", "2 GPUs".
std::string counted(int64_t count, std::string_view noun);

// "2 CPUs", "1.5 CPUs", "0.001 CPUs".
std::string cpus_text(int64_t milli);

// "12 GiB", "1.5 GiB", "300 MiB", "17 bytes"; exact.
std::string bytes_text(int64_t bytes);

// An amount of a Shortage or a Change that is measured in the model's units (bytes, not MiB).
std::string amount_text(std::string_view what, int64_t amount);

}  // namespace mainspring::engine
