// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/lease.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mainspring/kube/scripted_transport_for_tests.h"

namespace mainspring::kube {
namespace {

using testing::HasSubstr;

// One lease, kept as the API server keeps it.
class LeaseServer {
 public:
  HttpReply answer(const HttpRequest& request) {
    if (request.method == "GET") return lease_ ? reply(200) : HttpReply{.status = 404};
    const auto body = base::parse_json(request.body);
    MAINSPRING_CHECK(body.has_value(), "a request has a body");
    if (request.method == "POST") {
      if (lease_) return {.status = 409};
    } else {
      const base::Json* version = body->find("metadata")->find("resourceVersion");
      if (!lease_ || version == nullptr || version->as_string() != std::to_string(version_)) {
        return {.status = 409};
      }
    }
    lease_ = *body;
    ++version_;
    base::Json meta = *lease_->find("metadata");
    meta.set("resourceVersion", std::to_string(version_));
    lease_->set("metadata", std::move(meta));
    return reply(request.method == "POST" ? 201 : 200);
  }
  [[nodiscard]] std::string holder() const {
    return lease_ ? lease_->find("spec")->find("holderIdentity")->as_string() : "nobody yet";
  }
  [[nodiscard]] int64_t transitions() const {
    return lease_->find("spec")->find("leaseTransitions")->as_int();
  }
  void forget() { lease_.reset(); }

 private:
  [[nodiscard]] HttpReply reply(int status) const {
    return {.status = status, .body = lease_->dump()};
  }

  std::optional<base::Json> lease_;
  int version_ = 100;
};

struct Replica {
  Replica(const Clock& clock, const std::string& name)
      : election(transport, clock,
                 {.namespace_name = "system", .name = "mainspring", .identity = name}) {}

  ScriptedTransport transport;
  LeaseElection election;
};

class LeaseTest : public testing::Test {
 protected:
  // Lets time pass in small steps; requests of `connected` replicas are answered.
  void run(base::Duration span, const std::vector<Replica*>& connected) {
    const base::Instant until = clock_.now() + span;
    while (true) {
      for (Replica* replica : {&a_, &b_}) replica->election.tick(clock_.now());
      for (Replica* replica : connected) {
        while (!replica->transport.sent.empty()) {
          replica->transport.answer(server_.answer(replica->transport.sent.front().request));
        }
      }
      EXPECT_FALSE(leads(a_) && leads(b_));
      if (clock_.now() >= until) return;
      clock_.advance(base::milliseconds(100));
    }
  }
  [[nodiscard]] bool leads(const Replica& replica) const {
    return replica.election.leads(clock_.now());
  }

  ManualClock clock_;
  LeaseServer server_;
  Replica a_{clock_, "a"};
  Replica b_{clock_, "b"};
};

TEST_F(LeaseTest, TheFirstLeadsAndGoesOnLeading) {
  run(base::seconds(0), {&a_});
  EXPECT_TRUE(leads(a_));
  EXPECT_EQ(server_.holder(), "a");
  run(base::seconds(120), {&a_, &b_});
  EXPECT_TRUE(leads(a_));
  EXPECT_FALSE(leads(b_));
  EXPECT_EQ(b_.election.holder(), "a");
  EXPECT_EQ(a_.election.terms(), 1);
}

TEST_F(LeaseTest, ALeaderThatCannotRenewStopsBeforeAnotherBegins) {
  run(base::seconds(1), {&a_, &b_});
  ASSERT_TRUE(leads(a_));
  run(base::seconds(10), {&b_});
  EXPECT_FALSE(leads(a_)) << "nothing was renewed for ten seconds";
  EXPECT_FALSE(leads(b_)) << "the lease lasts for fifteen";
  run(base::seconds(8), {&b_});
  EXPECT_TRUE(leads(b_));
  EXPECT_EQ(server_.transitions(), 1);
  a_.transport.answer(base::failure(base::ErrorCode::kUnavailable, "lost"));
  run(base::seconds(30), {&a_, &b_});
  EXPECT_FALSE(leads(a_));
  EXPECT_EQ(a_.election.holder(), "b");
}

TEST_F(LeaseTest, ALateReplyDoesNotProlong) {
  run(base::seconds(1), {&a_});
  clock_.advance(base::seconds(3));
  a_.election.tick(clock_.now());
  clock_.advance(base::seconds(20));
  ASSERT_EQ(a_.transport.sent.size(), 1);
  a_.transport.answer(server_.answer(a_.transport.sent.front().request));
  EXPECT_FALSE(leads(a_)) << "it was renewed, but when it was sent is too long ago";
}

TEST_F(LeaseTest, WhoeverIsGivenTheLeaseBackLeadsAtOnce) {
  run(base::seconds(1), {&a_, &b_});
  a_.election.release();
  EXPECT_FALSE(leads(a_));
  run(base::seconds(3), {&a_, &b_});
  EXPECT_TRUE(a_.election.released());
  EXPECT_TRUE(leads(b_));
  EXPECT_EQ(a_.election.next_deadline(), base::Instant::never());
}

TEST_F(LeaseTest, AReleaseWaitsForTheRenewalThatIsUnderWay) {
  run(base::seconds(1), {&a_, &b_});
  clock_.advance(base::seconds(2));
  a_.election.tick(clock_.now());
  a_.election.release();
  EXPECT_FALSE(a_.election.released());
  run(base::seconds(0), {&a_});
  EXPECT_TRUE(a_.election.released());
  EXPECT_EQ(server_.holder(), "");
}

TEST_F(LeaseTest, ConflictsAndVanishedLeasesAreLookedAtAnew) {
  run(base::seconds(1), {&a_});
  server_.forget();
  run(base::seconds(5), {&a_});
  EXPECT_TRUE(leads(a_));
  EXPECT_EQ(server_.holder(), "a");
  for (const int status : {409, 500, 429}) {
    clock_.advance(base::seconds(2));
    a_.election.tick(clock_.now());
    a_.transport.answer(HttpReply{.status = status});
    EXPECT_TRUE(leads(a_)) << "one failure is none";
    run(base::seconds(3), {&a_});
    EXPECT_TRUE(leads(a_));
  }
}

TEST_F(LeaseTest, NonsenseIsNoLease) {
  a_.election.tick(clock_.now());
  a_.transport.answer(HttpReply{.status = 200, .body = "<html>"});
  EXPECT_FALSE(leads(a_));
  EXPECT_THAT(a_.election.last_error(), HasSubstr("none"));
  run(base::seconds(3), {&a_});
  EXPECT_TRUE(leads(a_));
}

}  // namespace
}  // namespace mainspring::kube
