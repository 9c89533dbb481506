// SPDX-License-Identifier: Apache-2.0
// Whatever the bytes: a configuration that the scheduler can run with, or an error of one line that
// names its place.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "mainspring/base/check.h"
#include "mainspring/config/scheduler_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = config::parse_scheduler_config(text, "fuzz.yaml");
  if (!config) {
    const std::string& message = config.error().message;
    MAINSPRING_CHECK(message.starts_with("fuzz.yaml:"), "an error does not name its place");
    MAINSPRING_CHECK(message.find('\n') == std::string::npos, "an error has more than one line");
    return 0;
  }
  MAINSPRING_CHECK(model::validate(config->core).has_value(), "settings that are not valid");
  MAINSPRING_CHECK(model::validate(std::span<const model::QueueSpec>(config->queues)).has_value(),
                   "a tree that is not valid");
  MAINSPRING_CHECK(!config->schedulers.empty(), "it schedules nothing");
  MAINSPRING_CHECK(config->binds_parallel >= 1, "it binds nothing");
  for (const config::NamespaceQueue& pair : config->namespace_queues) {
    const auto named = [&](const model::QueueSpec& queue) { return queue.name == pair.queue; };
    MAINSPRING_CHECK(std::ranges::any_of(config->queues, named), "a queue that is not there");
    MAINSPRING_CHECK(config->queue_of(pair.name) == pair.queue, "a namespace is not found");
  }
  (void)config::warnings(*config);
  return 0;
}
