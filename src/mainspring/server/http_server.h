// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "mainspring/base/result.h"

// A small HTTP server for questions without a body.
//
// Handlers run on its threads, several at once. Everything that a stranger can do is bounded by
// `HttpLimits`; whoever is too slow or too long is cut off.

namespace mainspring::server {

struct HttpQuestion {
  std::string method;  // GET or HEAD; of a HEAD, the body of the answer is dropped
  std::string path;    // decoded, without the query
  std::map<std::string, std::string> query;
};

struct HttpAnswer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

using HttpHandler = std::function<HttpAnswer(const HttpQuestion&)>;

struct HttpLimits {
  size_t threads = 8;
  size_t connections_waiting = 64;  // beyond that they wait in the kernel, or are refused there
  int connection_ms_max = 5000;     // from accepting it until the last byte of the answer
};

// "HOST:PORT", "[HOST]:PORT" or ":PORT", which is every address of the machine. Port 0: any that is
// free.
struct ListenAddress {
  std::string host;
  int port = 0;
};
base::Result<ListenAddress> parse_listen_address(std::string_view text);

class HttpServer {
 public:
  explicit HttpServer(HttpLimits limits = {});
  ~HttpServer();  // stops
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Exactly this path; before `start`.
  void route(std::string path, HttpHandler handler);
  // Listens and answers from now on. Errors name the address. Once.
  base::Status start(std::string_view address);
  // The address with the port that it really has; after `start`.
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] int port() const { return port_; }
  // Cuts off who is still connected. Twice does nothing.
  void stop();

 private:
  class Listener;

  HttpLimits limits_;
  std::map<std::string, HttpHandler> routes_;
  std::unique_ptr<Listener> listener_;
  std::string address_;
  int port_ = 0;
};

}  // namespace mainspring::server
