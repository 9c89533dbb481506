// SPDX-License-Identifier: Apache-2.0
#include "mainspring/engine/amount_text.h"

#include <array>
#include <utility>

namespace mainspring::engine {
namespace {

// `thousandths` of a whole, without zeros at the end: "1.5", "2", "0.001".
std::string decimal(int64_t thousandths) {
  std::string text = std::to_string(thousandths / 1000);
  const int64_t rest = thousandths % 1000;
  if (rest == 0) return text;
  std::string digits = std::to_string(1000 + rest).substr(1);
  while (digits.back() == '0') digits.pop_back();
  return text + "." + digits;
}

}  // namespace

std::string counted(int64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string cpus_text(int64_t milli) { return decimal(milli) + (milli == 1000 ? " CPU" : " CPUs"); }

std::string bytes_text(int64_t bytes) {
  constexpr std::array<std::pair<int, const char*>, 4> kUnits = {
      {{40, " TiB"}, {30, " GiB"}, {20, " MiB"}, {10, " KiB"}}};
  for (const auto& [shift, name] : kUnits) {
    const int64_t unit = int64_t{1} << shift;
    // Halves and quarters read well; anything else is told in a smaller unit.
    if (bytes >= unit && bytes % (unit / 4) == 0) {
      return decimal(bytes / (unit / 4) * 250) + name;
    }
  }
  return counted(bytes, "byte");
}

std::string amount_text(std::string_view what, int64_t amount) {
  if (what == "gpu") return counted(amount, "GPU");
  if (what == "gpu-milli") return decimal(amount) + " of a GPU";
  if (what == "gpu-memory") return bytes_text(amount) + " of GPU memory";
  if (what == "cpu") return cpus_text(amount);
  if (what == "memory") return bytes_text(amount) + " of memory";
  if (what == "ephemeral-storage") return bytes_text(amount) + " of ephemeral storage";
  if (what == "pods") return counted(amount, "pod slot");
  if (what == "places") return counted(amount, "place") + " for pods";
  if (what == "volumes") return counted(amount, "volume");
  return std::to_string(amount) + " of " + std::string(what);
}

}  // namespace mainspring::engine
