// SPDX-License-Identifier: Apache-2.0
// Events from arbitrary lines of JSON, into the state and the engine: what is accepted must leave
// both sound.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mainspring/base/check.h"
#include "mainspring/base/json.h"
#include "mainspring/config/event_json.h"
#include "mainspring/engine/cycle.h"
#include "mainspring/model/snapshot.h"

namespace {

using namespace mainspring;

void run(std::string_view text) {
  model::ClusterState state;
  engine::Engine engine;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const auto json = base::parse_json(text.substr(0, end), {.depth_max = 16});
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!json) continue;
    MAINSPRING_CHECK(*base::parse_json(json->dump()) == *json, "JSON reads back as it was written");
    const auto event = config::decode_event(*json);
    if (!event) continue;
    const base::Json written = config::encode(*event);
    const auto again = config::decode_event(written);
    MAINSPRING_CHECK(again.has_value() && config::encode(*again) == written,
                     "an event reads back as it was written");
    const uint64_t before = state.hash();
    const bool accepted = state.apply(*event).has_value();
    MAINSPRING_CHECK(accepted || state.hash() == before, "a refused event leaves no trace");
    if (accepted) engine.run_cycle(state, state.now());
  }
  state.check();
  model::ClusterState restored;
  for (const model::Event& event : model::take_snapshot(state)) {
    MAINSPRING_CHECK(restored.apply(event).has_value(), "a snapshot is refused");
  }
  MAINSPRING_CHECK(restored.hash() == state.hash(), "a snapshot gives another state");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  run(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
