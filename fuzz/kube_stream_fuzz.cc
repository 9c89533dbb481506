// SPDX-License-Identifier: Apache-2.0
// Lists and watches from arbitrary bytes: the first byte says how they are cut. The same comes out
// however that is, and a whole reflector lives through it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/check.h"
#include "mainspring/kube/decode.h"
#include "mainspring/kube/list_stream.h"
#include "mainspring/kube/reflector.h"
#include "mainspring/kube/scripted_transport_for_tests.h"

namespace {

using namespace mainspring;

struct Sink final : kube::ObjectSink<kube::NamespaceObject> {
  void seen(kube::NamespaceObject object) override { uids[object.meta.key()] = object.meta.uid; }
  void gone(const kube::NamespaceObject& last) override {
    MAINSPRING_CHECK(uids.erase(last.meta.key()) == 1, "what was never seen is gone");
  }
  void synced() override {}
  std::map<std::string, std::string> uids;
};

struct Outcome {
  std::vector<std::string> items;
  std::string end;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome read_list(std::string_view text, size_t piece) {
  Outcome outcome;
  kube::ListStream list([&](std::string_view item) { outcome.items.emplace_back(item); },
                        {.item_bytes_max = size_t{1} << 30, .rest_bytes_max = size_t{1} << 30});
  for (size_t at = 0; at < text.size(); at += piece) {
    if (const auto fed = list.feed(text.substr(at, piece)); !fed) {
      outcome.end = fed.error().message;
      return outcome;
    }
  }
  const auto end = list.finish();
  outcome.end = end ? end->resource_version + "|" + end->continue_token : end.error().message;
  return outcome;
}

void reflect(std::string_view text, size_t piece) {
  kube::ManualClock clock;
  kube::ScriptedTransport transport;
  Sink sink;
  kube::Reflector<kube::NamespaceObject> reflector(transport, clock, sink, kube::decode_namespace,
                                                   {.paths = {"/things"}, .may_be_absent = true});
  for (int round = 0; round < 3; ++round) {
    clock.advance(std::max(reflector.next_deadline(), clock.now()) == base::Instant::never()
                      ? base::seconds(1)
                      : base::seconds(60));
    reflector.tick(clock.now());
    if (transport.streams.empty()) continue;
    transport.status(200);
    transport.bytes(text, piece);
    if (!transport.streams.empty()) transport.end();
    MAINSPRING_CHECK(reflector.size() == sink.uids.size(), "the sink knows what there is");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const size_t piece = size_t{data[0]} % 16 + 1;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  MAINSPRING_CHECK(read_list(text, piece) == read_list(text, size), "cuts change nothing");
  reflect(text, piece);
  return 0;
}
