// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/event_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mainspring/base/json.h"
#include "mainspring/kube/scripted_transport_for_tests.h"

namespace mainspring::kube {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

EventNews news(const std::string& pod, const std::string& note = "it was displaced") {
  return {.regarding = {.namespace_name = "work", .name = pod, .uid = "uid-" + pod},
          .related = ObjectRef{.namespace_name = "work", .name = "winner", .uid = "uid-w"},
          .reason = "Preempting",
          .action = "Evict",
          .note = note};
}

class EventRecorderTest : public testing::Test {
 protected:
  void tick() { recorder_.tick(clock_.now()); }
  void pass(base::Duration span) {
    clock_.advance(span);
    tick();
  }
  size_t answer_all(int status = 201) {
    size_t count = 0;
    while (!transport_.sent.empty()) {
      transport_.answer(HttpReply{.status = status});
      ++count;
      tick();
    }
    return count;
  }
  const HttpRequest& request() { return transport_.sent.front().request; }

  ManualClock clock_;
  ScriptedTransport transport_;
  EventRecorder recorder_{
      transport_, clock_, {.instance = "replica-1", .waiting_max = 50, .burst = 20}};
};

TEST_F(EventRecorderTest, AnEventHasAllThatTheServerWants) {
  recorder_.record(news("victim"));
  tick();
  EXPECT_EQ(request().method, "POST");
  EXPECT_EQ(request().target, "/apis/events.k8s.io/v1/namespaces/work/events");
  const auto body = base::parse_json(request().body);
  ASSERT_TRUE(body);
  for (const char* field : {"eventTime", "reportingController", "reportingInstance", "action",
                            "reason", "type", "regarding", "related", "note", "metadata"}) {
    EXPECT_NE(body->find(field), nullptr) << field;
  }
  EXPECT_EQ(body->find("related")->find("uid")->as_string(), "uid-w");
  EXPECT_EQ(body->find("eventTime")->as_string(), "2027-01-15T08:00:00.000000Z");
  EXPECT_THAT(body->find("metadata")->find("name")->as_string(), StartsWith("victim."));
  answer_all();
  EXPECT_TRUE(recorder_.idle());
}

TEST_F(EventRecorderTest, RepetitionsAreCountedAndToldNowAndThen) {
  recorder_.record(news("victim"));
  tick();
  const std::string name =
      base::parse_json(request().body)->find("metadata")->find("name")->as_string();
  answer_all();
  for (int i = 0; i < 1000; ++i) recorder_.record(news("victim"));
  tick();
  EXPECT_EQ(answer_all(), 0);
  EXPECT_EQ(recorder_.next_deadline() - clock_.now(), base::seconds(60));
  pass(base::seconds(60));
  EXPECT_EQ(request().method, "PATCH");
  EXPECT_THAT(request().target, EndsWith(name));
  EXPECT_THAT(request().body, HasSubstr(R"("count":1001)"));
  answer_all(200);
  // After a while without news the series is over.
  pass(base::seconds(60));
  pass(base::seconds(360));
  EXPECT_EQ(recorder_.next_deadline(), base::Instant::never());
  recorder_.record(news("victim"));
  tick();
  EXPECT_EQ(request().method, "POST");
}

TEST_F(EventRecorderTest, AnEventThatTheServerForgotBeginsAnew) {
  recorder_.record(news("victim"));
  tick();
  answer_all();
  recorder_.record(news("victim"));
  pass(base::seconds(60));
  transport_.answer(HttpReply{.status = 404});
  tick();
  EXPECT_EQ(request().method, "POST");
  EXPECT_THAT(request().body, HasSubstr(R"("count":2)"));
  answer_all();
}

TEST_F(EventRecorderTest, AFloodIsSlowedAndThenDropped) {
  for (int i = 0; i < 200; ++i) recorder_.record(news("pod-" + std::to_string(i)));
  EXPECT_EQ(recorder_.counters().dropped, 150);
  tick();
  EXPECT_EQ(transport_.sent.size(), 2);
  EXPECT_EQ(answer_all(), 20);
  pass(base::seconds(1));
  EXPECT_EQ(answer_all(), 20);
  EXPECT_FALSE(recorder_.idle());
  while (!recorder_.idle()) {
    clock_.advance(std::max(recorder_.next_deadline() - clock_.now(), base::milliseconds(0)));
    tick();
    answer_all();
  }
  EXPECT_EQ(recorder_.counters().written, 50);
}

TEST_F(EventRecorderTest, WhatTheServerRefusesIsDroppedAndWhatItPutsOffIsTriedAgain) {
  recorder_.record(news("a"));
  tick();
  answer_all(403);
  EXPECT_EQ(recorder_.counters().dropped, 1);
  recorder_.record(news("b"));
  tick();
  transport_.answer(HttpReply{.status = 429, .retry_after = base::seconds(7)});
  tick();
  EXPECT_TRUE(transport_.sent.empty());
  EXPECT_EQ(recorder_.next_deadline() - clock_.now(), base::seconds(7));
  pass(base::seconds(7));
  answer_all(409);  // it had been made all the same
  EXPECT_EQ(recorder_.counters().written, 1);
  recorder_.record(news("c"));
  for (int i = 0; i < 10; ++i) {
    pass(base::seconds(60));
    if (transport_.sent.empty()) break;
    transport_.answer(base::failure(base::ErrorCode::kUnavailable, "no reply"));
  }
  EXPECT_TRUE(recorder_.idle());
  EXPECT_EQ(recorder_.counters().dropped, 2);
}

TEST_F(EventRecorderTest, LongTextsAreCutBetweenCharacters) {
  std::string note(1023, 'x');
  recorder_.record(news(std::string(253, 'n'), note + "ü and more"));
  tick();
  const auto body = base::parse_json(request().body);
  ASSERT_TRUE(body);
  EXPECT_EQ(body->find("note")->as_string(), note);
  EXPECT_LE(body->find("metadata")->find("name")->as_string().size(), 253);
}

}  // namespace
}  // namespace mainspring::kube
