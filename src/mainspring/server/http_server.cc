// SPDX-License-Identifier: Apache-2.0
#include "mainspring/server/http_server.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <httplib.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mainspring/base/check.h"

namespace mainspring::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPortMax = 65535;

// A connection that ends at its deadline, however slowly the other side sends or reads. The
// library's own limits hold for single reads and writes only.
class DeadlineStream : public httplib::Stream {
 public:
  DeadlineStream(int socket, int time_ms_max)
      : socket_(socket), deadline_(Clock::now() + std::chrono::milliseconds(time_ms_max)) {}

  [[nodiscard]] bool is_readable() const override { return wait(POLLIN); }
  [[nodiscard]] bool is_writable() const override { return wait(POLLOUT); }
  ssize_t read(char* bytes, size_t size) override {
    return wait(POLLIN) ? ::recv(socket_, bytes, size, MSG_DONTWAIT) : -1;
  }
  ssize_t write(const char* bytes, size_t size) override {
    return wait(POLLOUT) ? ::send(socket_, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) : -1;
  }
  // Handlers are not told who asks.
  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  [[nodiscard]] int socket() const override { return socket_; }

 private:
  [[nodiscard]] bool wait(short what) const {
    while (true) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
      if (left <= 0) return false;
      pollfd entry{.fd = socket_, .events = what, .revents = 0};
      const int ready = ::poll(&entry, 1, static_cast<int>(left));
      if (ready < 0 && errno == EINTR) continue;
      return ready > 0;
    }
  }

  int socket_;
  Clock::time_point deadline_;
};

// Threads, and a queue before them that lets nobody in while it is full: then the caller, which is
// the thread that accepts connections, waits.
class BoundedPool : public httplib::TaskQueue {
 public:
  explicit BoundedPool(const HttpLimits& limits) : waiting_max_(limits.connections_waiting) {
    for (size_t i = 0; i < limits.threads; ++i) {
      threads_.emplace_back([this] { work(); });
    }
  }

  void enqueue(std::function<void()> task) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return tasks_.size() < waiting_max_; });
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }

  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void work() {
    while (true) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ended_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      changed_.notify_all();
      task();
    }
  }

  size_t waiting_max_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool ended_ = false;
};

void answer(const std::map<std::string, HttpHandler>& routes, const httplib::Request& request,
            httplib::Response& response) {
  const auto reply = [&](const HttpAnswer& answer) {
    response.status = answer.status;
    response.set_content(answer.body, answer.content_type);
  };
  response.set_header("X-Content-Type-Options", "nosniff");
  if (request.method != "GET" && request.method != "HEAD") {
    response.set_header("Allow", "GET, HEAD");
    return reply({.status = 405, .body = "only GET is answered here\n"});
  }
  const auto found = routes.find(request.path);
  if (found == routes.end()) {
    return reply({.status = 404, .body = "there is nothing at this path\n"});
  }
  HttpQuestion question{.method = request.method, .path = request.path, .query = {}};
  for (const auto& [name, value] : request.params) question.query.emplace(name, value);
  reply(found->second(question));
}

}  // namespace

class HttpServer::Listener : public httplib::Server {
 public:
  Listener(const HttpLimits& limits, const std::map<std::string, HttpHandler>& routes)
      : limits_(limits) {
    new_task_queue = [limits] { return new BoundedPool(limits); };
    // The library's default would let a second process listen on the same port unnoticed.
    set_socket_options([](int socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
    // Before the library matches paths against patterns or reads a body.
    set_pre_routing_handler(
        [&routes](const httplib::Request& request, httplib::Response& response) {
          answer(routes, request, response);
          return HandlerResponse::Handled;
        });
  }

  void run() {
    thread_ = std::thread([this] { listen_after_bind(); });
    while (!is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  void end() {
    httplib::Server::stop();
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  bool process_and_close_socket(int socket) override {
    {
      const std::lock_guard lock(mutex_);
      open_.insert(socket);
      if (ended_) ::shutdown(socket, SHUT_RDWR);
    }
    DeadlineStream stream(socket, limits_.connection_ms_max);
    bool closed = false;
    // Parts of an answer are not served: a request for many of them would multiply it.
    const bool done = process_request(stream, /*close_connection=*/true, closed,
                                      [](httplib::Request& request) { request.ranges.clear(); });
    const std::lock_guard lock(mutex_);
    open_.erase(socket);
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return done;
  }

  HttpLimits limits_;
  std::thread thread_;
  std::mutex mutex_;
  std::set<int> open_;
  bool ended_ = false;
};

base::Result<ListenAddress> parse_listen_address(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return base::invalid("'" + std::string(text.substr(0, 100)) + "' " + std::string(why) +
                         "; expected an address such as 0.0.0.0:9095, [::]:9095 or :9095");
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return refuse("has no port");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']') && host.size() > 2) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find_first_of(":[]") != std::string_view::npos) {
    return refuse("has an IPv6 address without brackets around it");
  }
  ListenAddress address{.host = std::string(host.empty() ? "0.0.0.0" : host)};
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size() || address.port < 0 ||
      address.port > kPortMax) {
    return refuse("has no port from 0 to 65535");
  }
  return address;
}

HttpServer::HttpServer(HttpLimits limits) : limits_(limits) {
  MAINSPRING_CHECK(limits.threads > 0 && limits.connections_waiting > 0, "nobody would answer");
}

HttpServer::~HttpServer() { stop(); }

void HttpServer::route(std::string path, HttpHandler handler) {
  MAINSPRING_CHECK(listener_ == nullptr, "routes are added before the start");
  routes_[std::move(path)] = std::move(handler);
}

base::Status HttpServer::start(std::string_view address) {
  MAINSPRING_CHECK(listener_ == nullptr, "a server is started once");
  const auto parsed = parse_listen_address(address);
  if (!parsed) return tl::unexpected(parsed.error());
  auto listener = std::make_unique<Listener>(limits_, routes_);
  errno = 0;
  port_ = parsed->port;
  if (parsed->port == 0) {
    port_ = listener->bind_to_any_port(parsed->host);
  } else if (!listener->bind_to_port(parsed->host, parsed->port)) {
    port_ = -1;
  }
  if (port_ <= 0) {
    const std::string why = errno == 0 ? "no such address" : std::strerror(errno);
    return base::failure(base::ErrorCode::kUnavailable,
                         "cannot listen on " + std::string(address) + ": " + why);
  }
  const bool brackets = parsed->host.find(':') != std::string::npos;
  address_ = (brackets ? '[' + parsed->host + ']' : parsed->host) + ':' + std::to_string(port_);
  listener_ = std::move(listener);
  listener_->run();
  return {};
}

void HttpServer::stop() {
  if (listener_ != nullptr) listener_->end();
}

}  // namespace mainspring::server
