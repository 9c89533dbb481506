// SPDX-License-Identifier: Apache-2.0
// The client on real sockets, against a server that does what a good one does not.

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mainspring/kube/curl_transport.h"
#include "mainspring/kube/decode.h"
#include "mainspring/kube/lease.h"
#include "mainspring/kube/reflector.h"
#include "mainspring/kube/scripted_server_for_tests.h"
#include "mainspring/kube/system_clock.h"

namespace mainspring::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Connection = ScriptedServer::Connection;

std::unique_ptr<Transport> connect(const ScriptedServer& server, TransportOptions options = {},
                                   std::shared_ptr<CredentialSource> credentials = nullptr) {
  ClusterAccess access;
  access.server = server.address();
  access.credentials = std::move(credentials);
  auto transport = open_transport(std::move(access), std::move(options));
  MAINSPRING_CHECK(transport.has_value(), "the transport opens");
  return std::move(*transport);
}

void poll_until(Transport& transport, const std::function<bool()>& done) {
  while (!done()) transport.poll(base::milliseconds(100));
}

base::Result<HttpReply> exchange(Transport& transport, HttpRequest request) {
  std::optional<base::Result<HttpReply>> reply;
  transport.send(std::move(request),
                 [&](base::Result<HttpReply> came) { reply = std::move(came); });
  poll_until(transport, [&] { return reply.has_value(); });
  return std::move(*reply);
}

struct Told final : StreamSink {
  void on_status(int code, std::optional<base::Duration> wait) override {
    status = code;
    retry_after = wait;
  }
  void on_bytes(std::string_view bytes) override {
    text += bytes;
    if (then) then();
  }
  void on_end(const base::Status& how) override { end = how ? "well" : how.error().message; }

  int status = 0;
  std::optional<base::Duration> retry_after;
  std::string text;
  std::string end;
  std::function<void()> then;
};

void echo(Connection& connection) {
  while (const auto request = connection.read()) {
    connection.reply(200, request->line() + "|" + request->body);
  }
}

TEST(CurlTransportTest, ManyRequestsShareFewConnections) {
  ScriptedServer server(echo);
  const auto transport = connect(server, {.connections_max = 4});
  size_t right = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string target = "/things/" + std::to_string(i);
    const bool with_body = i % 2 == 0;
    HttpRequest request{.method = with_body ? "PATCH" : "DELETE",
                        .target = target,
                        .body = with_body ? "body of " + target : ""};
    const std::string expected = request.method + " " + target + "|" + request.body;
    transport->send(std::move(request), [&right, expected](const base::Result<HttpReply>& reply) {
      if (reply && reply->body == expected) ++right;
    });
  }
  EXPECT_EQ(transport->in_flight(), 200);
  poll_until(*transport, [&] { return transport->in_flight() == 0; });
  EXPECT_EQ(right, 200);
  EXPECT_LE(server.connections(), 4);
}

TEST(CurlTransportTest, CallbacksMaySendAndOpenAndClose) {
  ScriptedServer server(echo);
  const auto transport = connect(server);
  Told first;
  Told second;
  StreamId open = 0;
  int replies = 0;
  first.then = [&] {
    transport->close(open);
    transport->close(open);
    transport->open({.target = "/second"}, second);
    transport->send({.target = "/x"}, [&](const base::Result<HttpReply>&) {
      transport->send({.target = "/y"}, [&](const base::Result<HttpReply>&) { ++replies; });
    });
  };
  open = transport->open({.target = "/first"}, first);
  poll_until(*transport, [&] { return replies == 1 && !second.end.empty(); });
  EXPECT_EQ(first.text, "GET /first|");
  EXPECT_EQ(first.end, "");
  EXPECT_EQ(second.text, "GET /second|");
}

TEST(CurlTransportTest, RepliesAreReadWithTheirWaits) {
  ScriptedServer server([](Connection& connection) {
    while (const auto request = connection.read()) {
      const bool asks = request->line() == "GET /wait";
      connection.reply(429, "later", asks ? "Retry-After: 7\r\n" : "");
    }
  });
  const auto transport = connect(server);
  const auto with = exchange(*transport, {.target = "/wait"});
  ASSERT_TRUE(with);
  EXPECT_EQ(with->status, 429);
  EXPECT_EQ(with->body, "later");
  EXPECT_EQ(with->retry_after, base::seconds(7));
  EXPECT_EQ(exchange(*transport, {.target = "/"})->retry_after, std::nullopt);
  Told stream;
  transport->open({.target = "/wait"}, stream);
  poll_until(*transport, [&] { return !stream.end.empty(); });
  EXPECT_EQ(stream.status, 429);
  EXPECT_EQ(stream.retry_after, base::seconds(7));
  EXPECT_EQ(stream.text, "later");
}

TEST(CurlTransportTest, ARedirectIsNotFollowed) {
  std::atomic<int> requests = 0;
  ScriptedServer server([&](Connection& connection) {
    while (connection.read()) {
      ++requests;
      connection.reply(302, "", "Location: http://169.254.169.254/secrets\r\n");
    }
  });
  const auto transport = connect(server);
  EXPECT_EQ(exchange(*transport, {.target = "/"})->status, 302);
  EXPECT_EQ(requests, 1);
}

TEST(CurlTransportTest, FailuresAreErrorsThatNameTheRequest) {
  ScriptedServer server([](Connection& connection) {
    const auto request = connection.read();
    if (!request) return;
    const std::string line = request->line();
    if (line == "GET /cut") {
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    } else if (line == "GET /long") {
      connection.reply(200, std::string(5000, 'x'));
    } else if (line == "GET /endless") {
      connection.begin_stream();
      for (int i = 0; i < 10'000; ++i) connection.chunk(std::string(100, 'x'));
    } else if (line == "GET /nonsense") {
      connection.send("220 smtp.example.com ESMTP\r\n\r\n");
    } else if (line == "GET /silent") {
      connection.fall_silent();
    }
  });
  const auto transport = connect(server, {.reply_bytes_max = 1000});
  for (const auto& [target, message] :
       std::vector<std::pair<std::string, std::string>>{{"/cut", "GET /cut: "},
                                                        {"/long", "more than 1000 bytes"},
                                                        {"/endless", "more than 1000 bytes"},
                                                        {"/nonsense", "GET /nonsense: "},
                                                        {"/closed", "GET /closed: "},
                                                        {"/silent?with=query", "GET /silent: "}}) {
    const auto reply = exchange(*transport, {.target = target, .timeout = base::milliseconds(300)});
    ASSERT_FALSE(reply) << target;
    EXPECT_THAT(reply.error().message, HasSubstr(message));
    EXPECT_EQ(reply.error().code, base::ErrorCode::kUnavailable);
  }
}

TEST(CurlTransportTest, RequestsThatWaitForAConnectionTimeOutToo) {
  ScriptedServer server([](Connection& connection) { connection.fall_silent(); });
  const auto transport = connect(server, {.connections_max = 1});
  int errors = 0;
  for (int i = 0; i < 5; ++i) {
    transport->send({.target = "/", .timeout = base::milliseconds(50)},
                    [&](const base::Result<HttpReply>& reply) { errors += reply ? 0 : 1; });
  }
  poll_until(*transport, [&] { return transport->in_flight() == 0; });
  EXPECT_EQ(errors, 5);
}

TEST(CurlTransportTest, NobodyListens) {
  std::string address;
  {
    const ScriptedServer server(echo);
    address = server.address();
  }
  ClusterAccess access;
  access.server = address;
  const auto transport = open_transport(access);
  EXPECT_FALSE(exchange(**transport, {.target = "/"}));
  Told stream;
  (*transport)->open({.target = "/"}, stream);
  poll_until(**transport, [&] { return !stream.end.empty(); });
  EXPECT_EQ(stream.status, 0);
  EXPECT_THAT(stream.end, HasSubstr("GET /: "));
}

TEST(CurlTransportTest, AStreamIsToldPieceByPieceAndHowItEnded) {
  ScriptedServer server([](Connection& connection) {
    const auto request = connection.read();
    connection.begin_stream();
    connection.chunk("one\n");
    connection.chunk(std::string(300'000, 'x'));
    if (request->line() == "GET /well") connection.end_stream();
    if (request->line() == "GET /silent") connection.fall_silent();
  });
  const auto transport = connect(server);
  Told well;
  Told cut;
  Told silent;
  transport->open({.target = "/well"}, well);
  transport->open({.target = "/cut"}, cut);
  transport->open({.target = "/silent", .timeout = base::milliseconds(300)}, silent);
  poll_until(*transport,
             [&] { return !well.end.empty() && !cut.end.empty() && !silent.end.empty(); });
  for (const Told* told : {&well, &cut, &silent}) {
    EXPECT_EQ(told->status, 200);
    EXPECT_EQ(told->text.size(), 300'004);
  }
  EXPECT_EQ(well.end, "well");
  EXPECT_THAT(cut.end, HasSubstr("GET /cut: "));
  EXPECT_THAT(silent.end, HasSubstr("nothing came for too long"));
}

// Streams do not take the connections of requests, nor the other way round.
TEST(CurlTransportTest, StreamsAndRequestsDoNotWaitForEachOther) {
  ScriptedServer server([](Connection& connection) {
    while (const auto request = connection.read()) {
      if (request->line() == "GET /stream") {
        connection.begin_stream();
        connection.chunk("x");
        connection.fall_silent();
        return;
      }
      connection.reply(200, "");
    }
  });
  const auto transport = connect(server, {.connections_max = 1});
  std::vector<Told> streams(20);
  for (Told& stream : streams) transport->open({.target = "/stream"}, stream);
  EXPECT_TRUE(exchange(*transport, {.target = "/request"}));
  poll_until(*transport, [&] {
    return std::ranges::all_of(streams, [](const Told& stream) { return stream.text == "x"; });
  });
}

class ChangingCredentials final : public CredentialSource {
 public:
  const Credentials& current() override { return shown; }
  void rejected(std::string_view token) override { refused.emplace_back(token); }

  Credentials shown;
  std::vector<std::string> refused;
};

TEST(CurlTransportTest, TokensAreTakenAnewForEachRequest) {
  ScriptedServer server([](Connection& connection) {
    while (const auto request = connection.read()) {
      const bool good = request->head.find("Authorization: Bearer new") != std::string::npos;
      connection.reply(good ? 200 : 401, "");
    }
  });
  const auto credentials = std::make_shared<ChangingCredentials>();
  credentials->shown.bearer_token = "old";
  const auto transport = connect(server, {}, credentials);
  EXPECT_EQ(exchange(*transport, {.target = "/"})->status, 401);
  EXPECT_THAT(credentials->refused, ElementsAre("old"));
  credentials->shown.bearer_token = "new";
  EXPECT_EQ(exchange(*transport, {.target = "/"})->status, 200);
}

TEST(CurlTransportTest, NewCertificatesEndStreams) {
  ScriptedServer server([](Connection& connection) {
    while (const auto request = connection.read()) {
      if (request->line() != "GET /stream") {
        connection.reply(200, "");
        continue;
      }
      connection.begin_stream();
      connection.chunk("x");
      connection.fall_silent();
    }
  });
  const auto credentials = std::make_shared<ChangingCredentials>();
  const auto transport = connect(server, {}, credentials);
  Told stream;
  transport->open({.target = "/stream"}, stream);
  poll_until(*transport, [&] { return stream.text == "x"; });
  credentials->shown.certificate_pem = "another";
  poll_until(*transport, [&] { return !stream.end.empty(); });
  EXPECT_THAT(stream.end, HasSubstr("certificates have changed"));
}

TEST(CurlTransportTest, AnotherThreadMayWakeIt) {
  ScriptedServer server(echo);
  const auto transport = connect(server);
  std::thread other([&] { transport->wake(); });
  transport->poll(base::seconds(60));
  other.join();
}

struct Names final : ObjectSink<NamespaceObject> {
  void seen(NamespaceObject object) override { names.insert(object.meta.name); }
  void gone(const NamespaceObject& last) override { names.erase(last.meta.name); }
  void synced() override {}
  std::set<std::string> names;
};

std::string item(const std::string& name) {
  return R"({"metadata":{"name":")" + name + R"(","uid":"u-)" + name +
         R"(","resourceVersion":"1"}})";
}

// Each connection fails in another way, and in the end everything is known.
TEST(ReflectorOnSocketsTest, ComesThroughAllFaults) {
  std::atomic<int> lists = 0;
  std::atomic<int> watches = 0;
  ScriptedServer server([&](Connection& connection) {
    const auto request = connection.read();
    if (!request) return;
    const std::string head = R"({"metadata":{"resourceVersion":"5"},"items":[)";
    if (request->line().find("watch=true") == std::string::npos) {
      const int list = ++lists;
      if (list == 1) return;
      if (list == 2) connection.send("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n" + head);
      if (list == 3) connection.reply(500, "oops");
      if (list == 4) connection.reply(429, "later", "Retry-After: 1\r\n");
      if (list <= 4) return;
      connection.begin_stream();  // slowly, in pieces
      for (const char byte : head + item("a") + "," + item("b") + "]}") {
        connection.chunk(std::string(1, byte));
      }
      connection.end_stream();
      return;
    }
    const int watch = ++watches;
    if (watch == 1) return;
    connection.begin_stream();
    if (watch == 2) connection.fall_silent();
    if (watch == 3) connection.chunk(R"({"type":"DELETED","object":)" + item("a") + "}\n{\"ty");
    if (watch == 4) connection.chunk("<html>bad gateway</html>\n");
    if (watch == 5) connection.chunk("{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n");
    if (watch <= 5) return;
    connection.chunk(R"({"type":"ADDED","object":)" + item("end") + "}\n");
    connection.fall_silent();
  });
  const auto transport = connect(server);
  const SystemClock clock;
  Names names;
  Reflector<NamespaceObject> reflector(*transport, clock, names, decode_namespace,
                                       {.paths = {"/things"},
                                        .back_off_min = base::milliseconds(5),
                                        .back_off_max = base::milliseconds(20),
                                        .watch_silence_max = base::milliseconds(200)});
  poll_until(*transport, [&] {
    reflector.tick(clock.now());
    return names.names.contains("end");
  });
  EXPECT_THAT(names.names, testing::UnorderedElementsAre("a", "b", "end"));
}

TEST(LeaseOnSocketsTest, ALeaderWhoseConnectionsGoSilentStops) {
  std::atomic<bool> silent = false;
  ScriptedServer server([&](Connection& connection) {
    while (const auto request = connection.read()) {
      if (silent) {
        connection.fall_silent();
        return;
      }
      connection.reply(200, request->body.empty()
                                ? R"({"metadata":{"resourceVersion":"1"},"spec":{}})"
                                : request->body);
    }
  });
  const auto transport = connect(server);
  const SystemClock clock;
  LeaseElection election(*transport, clock,
                         {.namespace_name = "n",
                          .name = "l",
                          .identity = "me",
                          .lasts = base::milliseconds(3000),
                          .renew_within = base::milliseconds(2000),
                          .retry_every = base::milliseconds(50)});
  const auto run_until = [&](bool leads) {
    while (election.leads(clock.now()) != leads) {
      election.tick(clock.now());
      transport->poll(base::milliseconds(20));
    }
  };
  run_until(true);
  silent = true;
  run_until(false);
  silent = false;
  run_until(true);
  EXPECT_EQ(election.terms(), 2);
}

}  // namespace
}  // namespace mainspring::kube
