// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mainspring/base/check.h"
#include "mainspring/kube/http.h"

// A network without a network: the test says what comes back, and when.

namespace mainspring::kube {

class ManualClock final : public Clock {
 public:
  [[nodiscard]] base::Instant now() const override { return now_; }
  void advance(base::Duration span) { now_ = now_ + span; }

 private:
  base::Instant now_{1'800'000'000'000};
};

class ScriptedTransport final : public Transport {
 public:
  struct Sent {
    HttpRequest request;
    OnReply on_reply;
  };
  struct Stream {
    StreamId id = 0;
    HttpRequest request;
    StreamSink* sink = nullptr;
  };

  void send(HttpRequest request, OnReply on_reply) override {
    sent.push_back({std::move(request), std::move(on_reply)});
  }
  StreamId open(HttpRequest request, StreamSink& sink) override {
    opened.push_back(request.target);
    streams.push_back({++last_, std::move(request), &sink});
    return last_;
  }
  void close(StreamId stream) override {
    std::erase_if(streams, [&](const Stream& each) { return each.id == stream; });
  }
  void poll(base::Duration) override {}
  void wake() override {}
  [[nodiscard]] size_t in_flight() const override { return sent.size(); }

  // The oldest request that waits is answered.
  void answer(base::Result<HttpReply> reply) {
    MAINSPRING_CHECK(!sent.empty(), "no request waits for an answer");
    const Sent first = std::move(sent.front());
    sent.pop_front();
    first.on_reply(std::move(reply));
  }

  // What the only stream's server does. Bytes come in pieces of at most `piece` bytes.
  void status(int code, std::optional<base::Duration> retry_after = std::nullopt) {
    only().sink->on_status(code, retry_after);
  }
  void bytes(std::string_view text, size_t piece = 1000) {
    const StreamId id = only().id;
    while (!text.empty() && !streams.empty() && streams.front().id == id) {
      streams.front().sink->on_bytes(text.substr(0, piece));
      text.remove_prefix(std::min(piece, text.size()));
    }
  }
  void end(const base::Status& how = {}) {
    StreamSink* sink = only().sink;
    streams.clear();
    sink->on_end(how);
  }
  void cut() { end(base::failure(base::ErrorCode::kUnavailable, "the connection was cut")); }
  void reply(int code, std::string_view body,
             std::optional<base::Duration> retry_after = std::nullopt) {
    status(code, retry_after);
    bytes(body);
    if (!streams.empty()) end();
  }

  std::vector<std::string> opened;  // every target
  std::vector<Stream> streams;      // that are open
  std::deque<Sent> sent;

 private:
  Stream& only() {
    MAINSPRING_CHECK(streams.size() == 1, "there is not exactly one stream");
    return streams.front();
  }

  StreamId last_ = 0;
};

}  // namespace mainspring::kube
