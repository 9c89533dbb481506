// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "mainspring/base/instant.h"
#include "mainspring/base/result.h"

// The one seam between Mainspring and a network: requests out, replies and streams in.
//
// Everything happens on one thread. Nothing is called back except from `poll`, and never from
// inside `send` or `open`, so that a caller may send from a callback.

namespace mainspring::kube {

struct HttpRequest {
  std::string method = "GET";
  std::string target;  // path and query: "/api/v1/pods?limit=500"
  std::string content_type;
  std::string body;
  // From sending to the whole reply; of a stream, the longest silence that is endured.
  base::Duration timeout = base::seconds(30);
};

struct HttpReply {
  int status = 0;
  std::string body;
  std::optional<base::Duration> retry_after;

  [[nodiscard]] bool ok() const { return status >= 200 && status < 300; }
};

// An error means that no reply came: it is not known whether the request was carried out.
using OnReply = std::function<void(base::Result<HttpReply>)>;

// Whoever reads a stream. After `on_end` nothing more comes.
class StreamSink {
 public:
  virtual ~StreamSink() = default;
  // Once, before the first bytes. A reply that is no success streams its body like any other.
  virtual void on_status(int status, std::optional<base::Duration> retry_after) = 0;
  // Bytes as they come, cut anywhere.
  virtual void on_bytes(std::string_view bytes) = 0;
  // The server closed the stream, or it broke, or was silent for too long.
  virtual void on_end(const base::Status& how) = 0;
};

using StreamId = uint64_t;

class Transport {
 public:
  virtual ~Transport() = default;
  virtual void send(HttpRequest request, OnReply on_reply) = 0;
  // Each stream has a connection of its own. `sink` must live until `on_end` or `close`.
  virtual StreamId open(HttpRequest request, StreamSink& sink) = 0;
  // Nothing more is called back for the stream. Closing twice does nothing.
  virtual void close(StreamId stream) = 0;
  // Waits for news up to `wait_max`, and calls back for what came. Returns early after `wake`.
  virtual void poll(base::Duration wait_max) = 0;
  // From any thread or signal handler: makes `poll` return.
  virtual void wake() = 0;
  // Requests that were sent and not yet answered; streams are not counted.
  [[nodiscard]] virtual size_t in_flight() const = 0;
};

// The time of day, handed in so that tests own it.
class Clock {
 public:
  virtual ~Clock() = default;
  // Milliseconds since the Unix epoch; never runs backwards.
  [[nodiscard]] virtual base::Instant now() const = 0;
};

}  // namespace mainspring::kube
