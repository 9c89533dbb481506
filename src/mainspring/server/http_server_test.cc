// SPDX-License-Identifier: Apache-2.0
#include "mainspring/server/http_server.h"

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace mainspring::server {
namespace {

// A client that sends what it likes.
class RawClient {
 public:
  explicit RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    EXPECT_EQ(::connect(socket_, generic, sizeof(address)), 0);
  }
  ~RawClient() { ::close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // All until the server closes the connection.
  [[nodiscard]] std::string receive() const {
    std::string text;
    char bytes[4096];
    while (true) {
      const ssize_t got = ::recv(socket_, bytes, sizeof(bytes), 0);
      if (got <= 0) return text;
      text.append(bytes, static_cast<size_t>(got));
    }
  }

 private:
  int socket_;
};

std::string ask(int port, const std::string& request) {
  const RawClient client(port);
  client.send(request);
  return client.receive();
}

std::string get(int port, const std::string& target, const std::string& headers = {}) {
  return ask(port, "GET " + target + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n");
}

HttpAnswer echo(const HttpQuestion& question) {
  std::string text = question.method + " " + question.path;
  for (const auto& [name, value] : question.query) {
    text += ' ';
    text += name;
    text += '=';
    text += value;
  }
  return {.body = text};
}

class Running : public testing::Test {
 protected:
  void start(HttpLimits limits = {}) {
    server_ = std::make_unique<HttpServer>(limits);
    server_->route("/echo", echo);
    const auto started = server_->start("127.0.0.1:0");
    ASSERT_TRUE(started.has_value()) << started.error().message;
    port_ = server_->port();
  }
  std::unique_ptr<HttpServer> server_;
  int port_ = 0;
};

TEST_F(Running, AnswersItsRoutes) {
  start();
  EXPECT_EQ(server_->address(), "127.0.0.1:" + std::to_string(port_));
  const std::string reply = get(port_, "/echo?b=2&a=%20x");
  EXPECT_TRUE(reply.starts_with("HTTP/1.1 200 OK\r\n")) << reply;
  EXPECT_NE(reply.find("Connection: close\r\n"), std::string::npos) << reply;
  EXPECT_TRUE(reply.ends_with("\r\n\r\nGET /echo a= x b=2")) << reply;
}

TEST_F(Running, RefusesWhatItDoesNotAnswer) {
  start();
  EXPECT_TRUE(get(port_, "/other").starts_with("HTTP/1.1 404 "));
  EXPECT_TRUE(get(port_, "/echo/..").starts_with("HTTP/1.1 404 "));
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS"}) {
    const std::string reply =
        ask(port_, std::string(method) + " /echo HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
    EXPECT_TRUE(reply.starts_with("HTTP/1.1 405 ")) << reply;
  }
  const std::string head = ask(port_, "HEAD /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(head.starts_with("HTTP/1.1 200 ")) << head;
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
}

TEST_F(Running, NonsenseIsRefusedOrCutOff) {
  start();
  for (const std::string& request :
       {std::string("\r\n\r\n"), std::string("GET\r\n\r\n"), std::string("\0\0\0\n\n", 5),
        "GET /" + std::string(10'000, 'a') + " HTTP/1.1\r\n\r\n",
        "GET /echo HTTP/1.1\r\nA: " + std::string(100'000, 'a') + "\r\n\r\n",
        std::string("GET /echo HTTP/9.9\r\n\r\n"),
        std::string("GET /echo HTTP/1.1\r\nContent-Length: -1\r\n\r\n"),
        std::string("POST /echo HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n") +
            std::string(100'000, 'x')}) {
    const std::string reply = ask(port_, request);
    EXPECT_FALSE(reply.starts_with("HTTP/1.1 5")) << reply.substr(0, 100);
  }
  EXPECT_TRUE(get(port_, "/echo").starts_with("HTTP/1.1 200 "));
}

TEST_F(Running, ManyRangesDoNotMultiplyTheAnswer) {
  start();
  std::string ranges = "Range: bytes=0-";
  while (ranges.size() < 8000) ranges += ",0-";
  const std::string reply = get(port_, "/echo", ranges + "\r\n");
  EXPECT_LT(reply.size(), 1000U);
}

TEST_F(Running, WhoIsSlowIsCutOffAndOthersAreServed) {
  start({.threads = 2, .connections_waiting = 2, .connection_ms_max = 300});
  std::vector<std::unique_ptr<RawClient>> slow;
  slow.reserve(6);
  for (int i = 0; i < 6; ++i) {
    slow.push_back(std::make_unique<RawClient>(port_));
    slow.back()->send("GET /echo HTTP/1.1\r\n");
  }
  EXPECT_TRUE(get(port_, "/echo").starts_with("HTTP/1.1 200 "));
  for (const auto& client : slow) (void)client->receive();
}

TEST_F(Running, ManyAtOnce) {
  start({.threads = 3, .connections_waiting = 1});
  std::atomic<int> good = 0;
  std::vector<std::thread> clients;
  clients.reserve(8);
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      for (int n = 0; n < 20; ++n) {
        if (get(port_, "/echo").ends_with("GET /echo")) ++good;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(good, 160);
}

TEST_F(Running, StopCutsOffWhoIsConnected) {
  start({.connection_ms_max = 600'000});
  const RawClient client(port_);
  client.send("GET /echo HTTP/1.1\r\n");
  EXPECT_TRUE(get(port_, "/echo").starts_with("HTTP/1.1 200 "));
  server_->stop();
  (void)client.receive();
  server_->stop();
  HttpServer second;
  EXPECT_TRUE(second.start("127.0.0.1:" + std::to_string(port_)).has_value());
}

TEST_F(Running, APortIsNotSharedUnnoticed) {
  start();
  HttpServer second;
  const auto started = second.start("127.0.0.1:" + std::to_string(port_));
  ASSERT_FALSE(started.has_value());
  EXPECT_EQ(started.error().message,
            "cannot listen on 127.0.0.1:" + std::to_string(port_) + ": Address already in use");
}

TEST(HttpServer, StoppedWithoutAStart) {
  HttpServer server;
  server.stop();
}

TEST(ListenAddress, HostsAndPorts) {
  EXPECT_EQ(parse_listen_address(":9095")->host, "0.0.0.0");
  EXPECT_EQ(parse_listen_address("127.0.0.1:0")->port, 0);
  EXPECT_EQ(parse_listen_address("[::1]:65535")->host, "::1");
  EXPECT_EQ(parse_listen_address("localhost:80")->port, 80);
  for (const char* text : {"", "9095", "host", "host:", "host:x", "host:65536", "host:-1", "::1:80",
                           "[::1]", "[]:80", "host:80x"}) {
    const auto refused = parse_listen_address(text);
    ASSERT_FALSE(refused.has_value()) << text;
    EXPECT_TRUE(refused.error().message.starts_with("'" + std::string(text) + "' has "))
        << refused.error().message;
  }
}

}  // namespace
}  // namespace mainspring::server
