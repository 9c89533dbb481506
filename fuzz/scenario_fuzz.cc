// SPDX-License-Identifier: Apache-2.0
// Whatever the bytes: a complete scenario, or an error of one line that names its place.

#include <cstdint>
#include <string>
#include <string_view>

#include "mainspring/base/check.h"
#include "mainspring/config/scenario.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto scenario = mainspring::config::parse_scenario(text, "fuzz.yaml");
  if (!scenario) {
    const std::string& message = scenario.error().message;
    MAINSPRING_CHECK(message.starts_with("fuzz.yaml:"), "an error does not name its place");
    MAINSPRING_CHECK(message.find('\n') == std::string::npos, "an error has more than one line");
    return 0;
  }
  for (const auto& node : scenario->nodes) {
    MAINSPRING_CHECK(mainspring::model::validate(node).has_value(), "a node that is not valid");
  }
  for (const auto& job : scenario->jobs) {
    MAINSPRING_CHECK(mainspring::model::validate(job.spec).has_value(), "a job that is not valid");
  }
  return 0;
}
