// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mainspring/base/check.h"

// An HTTP server on loopback that misbehaves as it is told: each connection is played by a script
// on a thread of its own.

namespace mainspring::kube {

class ScriptedServer {
 public:
  struct Request {
    std::string head;
    std::string body;
    // "GET /api/v1/pods?x=y"
    [[nodiscard]] std::string line() const { return head.substr(0, head.find(" HTTP/")); }
  };

  class Connection {
   public:
    explicit Connection(int socket) : socket_(socket) {}
    // Nothing once the client has gone.
    std::optional<Request> read() {
      size_t end = 0;
      while ((end = kept_.find("\r\n\r\n")) == std::string::npos) {
        if (!receive()) return std::nullopt;
      }
      Request request{kept_.substr(0, end), {}};
      kept_.erase(0, end + 4);
      const size_t length_at = request.head.find("Content-Length: ");
      const size_t length =
          length_at == std::string::npos ? 0 : std::stoul(request.head.substr(length_at + 16));
      while (kept_.size() < length) {
        if (!receive()) return std::nullopt;
      }
      request.body = kept_.substr(0, length);
      kept_.erase(0, length);
      return request;
    }
    void send(std::string_view bytes) const {
      while (!bytes.empty()) {
        const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count <= 0) return;
        bytes.remove_prefix(static_cast<size_t>(count));
      }
    }
    void reply(int status, std::string_view body, std::string_view headers = {}) const {
      send("HTTP/1.1 " + std::to_string(status) + " Word\r\n" + std::string(headers) +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
    }
    void begin_stream(int status = 200) const {
      send("HTTP/1.1 " + std::to_string(status) + " Word\r\nTransfer-Encoding: chunked\r\n\r\n");
    }
    void chunk(std::string_view bytes) const {
      constexpr std::string_view kDigits = "0123456789abcdef";
      std::string size;
      for (size_t left = bytes.size(); left > 0; left /= 16) size.insert(0, 1, kDigits[left % 16]);
      send(size + "\r\n" + std::string(bytes) + "\r\n");
    }
    void end_stream() const { send("0\r\n\r\n"); }
    // Says nothing more, and reads what comes, until the client or the test gives up.
    void fall_silent() {
      while (receive()) kept_.clear();
    }

   private:
    bool receive() {
      char buffer[4096];
      const ssize_t count = recv(socket_, buffer, sizeof(buffer), 0);
      if (count <= 0) return false;
      kept_.append(buffer, static_cast<size_t>(count));
      return true;
    }

    int socket_;
    std::string kept_;
  };
  using Script = std::function<void(Connection&)>;

  explicit ScriptedServer(Script script) : script_(std::move(script)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    MAINSPRING_CHECK(bind(listener_, plain, length) == 0 && listen(listener_, 64) == 0,
                     "a test server cannot listen");
    getsockname(listener_, plain, &length);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;
  ~ScriptedServer() {
    stop_ = true;
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int each : open_) shutdown(each, SHUT_RDWR);
    }
    for (std::thread& each : threads_) each.join();
    close(listener_);
  }

  [[nodiscard]] std::string address() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] size_t connections() const { return connections_; }

 private:
  void accept_all() {
    while (!stop_) {
      const int accepted = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (accepted < 0) return;
      ++connections_;
      const std::lock_guard lock(mutex_);
      open_.insert(accepted);
      threads_.emplace_back([this, accepted] { play(accepted); });
    }
  }
  void play(int accepted) {
    Connection connection(accepted);
    script_(connection);
    const std::lock_guard lock(mutex_);
    open_.erase(accepted);
    close(accepted);
  }

  Script script_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stop_ = false;
  std::atomic<size_t> connections_ = 0;
  std::thread acceptor_;
  std::mutex mutex_;
  std::set<int> open_;
  std::vector<std::thread> threads_;
};

}  // namespace mainspring::kube
