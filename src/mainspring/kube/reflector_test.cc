// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/reflector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mainspring/kube/decode.h"
#include "mainspring/kube/scripted_transport_for_tests.h"

namespace mainspring::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct News final : ObjectSink<NamespaceObject> {
  void seen(NamespaceObject object) override {
    told.push_back("+" + object.meta.name + ":" + object.meta.uid);
  }
  void gone(const NamespaceObject& last) override {
    told.push_back("-" + last.meta.name + ":" + last.meta.uid);
  }
  void synced() override { told.emplace_back("synced"); }

  std::vector<std::string> take() { return std::exchange(told, {}); }
  std::vector<std::string> told;
};

std::string object(const std::string& name, const std::string& uid, const std::string& version) {
  return R"({"metadata":{"name":")" + name + R"(","uid":")" + uid + R"(","resourceVersion":")" +
         version + R"(","managedFields":[{"a":"]}\""}]}})";
}

std::string list(const std::string& version, const std::vector<std::string>& items,
                 const std::string& token = {}) {
  std::string text =
      R"({"kind":"NamespaceList","apiVersion":"v1","metadata":{"resourceVersion":")" + version +
      R"(","continue":")" + token + R"("},"items":[)";
  for (size_t i = 0; i < items.size(); ++i) text += (i > 0 ? "," : "") + items[i];
  return text + "]}\n";
}

std::string event(const std::string& type, const std::string& object_text) {
  return R"({"type":")" + type + R"(","object":)" + object_text + "}\n";
}

std::string status(int code, const std::string& message = "no") {
  return R"({"kind":"Status","status":"Failure","message":")" + message + R"(","code":)" +
         std::to_string(code) + "}";
}

class ReflectorTest : public testing::Test {
 protected:
  explicit ReflectorTest(ReflectorOptions options = {.paths = {"/things"}})
      : reflector_(transport_, clock_, news_, decode_namespace, std::move(options)) {
    tick();
  }

  void tick() { reflector_.tick(clock_.now()); }
  // Lets time pass until the reflector wants to be called, and calls it.
  base::Duration wait() {
    const base::Instant due = reflector_.next_deadline();
    MAINSPRING_CHECK(due != base::Instant::never(), "nothing is to come");
    const base::Duration span = due - clock_.now();
    clock_.advance(span);
    tick();
    return span;
  }
  void sync(const std::vector<std::string>& items = {object("a", "1", "5")}) {
    transport_.reply(200, list("10", items));
    news_.take();
    transport_.status(200);
  }
  const std::string& last_target() { return transport_.opened.back(); }

  ManualClock clock_;
  ScriptedTransport transport_;
  News news_;
  Reflector<NamespaceObject> reflector_;
};

TEST_F(ReflectorTest, ListsFromTheCacheAndWatchesFromThere) {
  EXPECT_EQ(last_target(), "/things?resourceVersion=0");
  transport_.status(200);
  transport_.bytes(list("10", {object("a", "1", "5"), object("b", "2", "6")}), 7);
  EXPECT_THAT(news_.take(), ElementsAre("+a:1", "+b:2"));
  EXPECT_FALSE(reflector_.synced());
  transport_.end();
  EXPECT_THAT(news_.take(), ElementsAre("synced"));
  EXPECT_THAT(last_target(), HasSubstr("watch=true&allowWatchBookmarks=true&resourceVersion=10&"));
  transport_.status(200);
  transport_.bytes(event("ADDED", object("c", "3", "11")), 3);
  transport_.bytes(event("MODIFIED", object("a", "1", "12")) +
                   event("DELETED", object("b", "2", "13")));
  EXPECT_THAT(news_.take(), ElementsAre("+c:3", "+a:1", "-b:2"));
  transport_.end();
  EXPECT_THAT(last_target(), HasSubstr("resourceVersion=13&"));
  EXPECT_THAT(news_.take(), IsEmpty());
}

TEST_F(ReflectorTest, BookmarksAdvanceTheVersion) {
  sync();
  transport_.bytes(event("BOOKMARK", R"({"metadata":{"resourceVersion":"40"}})"));
  transport_.end();
  EXPECT_THAT(last_target(), HasSubstr("resourceVersion=40&"));
  EXPECT_EQ(reflector_.counters().bookmarks, 1);
  EXPECT_THAT(news_.take(), IsEmpty());
}

TEST_F(ReflectorTest, AnExpiredWatchLeadsToAListThatTellsWhatWasMissed) {
  sync({object("a", "1", "5"), object("b", "2", "6"), object("c", "3", "7")});
  transport_.bytes(event("MODIFIED", object("a", "1", "20")));
  news_.take();
  transport_.bytes(event("ERROR", status(410, "too old resource version")));
  EXPECT_EQ(last_target(), "/things?resourceVersion=20");
  transport_.reply(200, list("30", {object("a", "1", "20"), object("c", "9", "25")}));
  EXPECT_THAT(news_.take(), ElementsAre("+a:1", "-c:3", "+c:9", "-b:2"));
  EXPECT_THAT(last_target(), HasSubstr("resourceVersion=30&"));
}

TEST_F(ReflectorTest, ExpiryByStatusListsTooAndAnExpiredListAsksForTheNewest) {
  transport_.reply(200, list("10", {object("a", "1", "5")}));
  transport_.reply(410, status(410));
  EXPECT_EQ(last_target(), "/things?resourceVersion=10");
  transport_.reply(410, status(410));
  EXPECT_EQ(last_target(), "/things?limit=500");
  transport_.reply(200, list("50", {object("a", "1", "5")}, "next/1"));
  EXPECT_EQ(last_target(), "/things?limit=500&continue=next%2F1");
  transport_.reply(200, list("50", {object("b", "2", "6")}));
  EXPECT_THAT(last_target(), HasSubstr("resourceVersion=50&"));
  EXPECT_EQ(reflector_.size(), 2);
}

TEST_F(ReflectorTest, AnExpiredPageStartsOverWithoutPages) {
  transport_.reply(410, status(410));
  transport_.reply(200, list("50", {object("a", "1", "5")}, "next"));
  transport_.reply(410, status(410));
  EXPECT_EQ(last_target(), "/things?resourceVersion=");
  transport_.reply(200, list("60", {object("b", "2", "6")}));
  EXPECT_THAT(news_.take(), ElementsAre("+a:1", "+b:2", "-a:1", "synced"));
}

TEST_F(ReflectorTest, AVersionThatTheServerDoesNotKnowYetAsksForTheNewest) {
  transport_.reply(504, status(504, "Timeout: Too large resource version: 9, current: 5"));
  EXPECT_EQ(last_target(), "/things?limit=500");
}

TEST_F(ReflectorTest, EndlessExpiryBacksOff) {
  sync();
  for (int i = 0; i < 20 && reflector_.next_deadline() == base::Instant::never(); ++i) {
    transport_.bytes(event("ERROR", status(410)));
    if (transport_.streams.empty()) break;
    transport_.reply(200, list("10", {}));
    transport_.status(200);
  }
  EXPECT_GE(wait(), base::milliseconds(800));
}

TEST_F(ReflectorTest, TooManyRequestsWaitsAndGoesOnWithTheSameVersion) {
  sync();
  transport_.bytes(event("ERROR", R"({"code":429,"details":{"retryAfterSeconds":7}})"));
  const base::Duration asked = wait();
  EXPECT_GE(asked, base::seconds(7));
  EXPECT_LE(asked, base::seconds(9));
  EXPECT_THAT(last_target(), HasSubstr("watch=true&allowWatchBookmarks=true&resourceVersion=10&"));
  transport_.reply(429, status(429), base::seconds(3));
  EXPECT_GE(wait(), base::seconds(3));
  EXPECT_THAT(last_target(), HasSubstr("resourceVersion=10&"));
  transport_.reply(429, status(429));
  EXPECT_GE(wait(), base::milliseconds(800));
  EXPECT_THAT(last_target(), HasSubstr("resourceVersion=10&"));
}

TEST_F(ReflectorTest, ACutWatchGoesOnAtOnceAndThenBacksOff) {
  sync();
  transport_.bytes(event("MODIFIED", object("a", "1", "11")));
  transport_.bytes(R"({"type":"MODIFIED","obj)");
  news_.take();
  transport_.cut();
  EXPECT_THAT(last_target(), HasSubstr("resourceVersion=11&"));
  base::Duration longest{0};
  for (int i = 0; i < 12; ++i) {
    transport_.cut();
    const base::Duration span = wait();
    EXPECT_GE(span, base::milliseconds(800));
    EXPECT_LE(span, base::seconds(30));
    longest = std::max(longest, span);
  }
  EXPECT_EQ(longest, base::seconds(30));
  EXPECT_THAT(last_target(), HasSubstr("resourceVersion=11&"));
  transport_.status(200);
  transport_.bytes(event("MODIFIED", object("a", "1", "12")));
  EXPECT_THAT(news_.take(), ElementsAre("+a:1"));
}

TEST_F(ReflectorTest, AWatchThatEndsAtOnceIsAFault) {
  sync();
  transport_.end();
  EXPECT_GE(wait(), base::milliseconds(800));
  transport_.status(200);
  clock_.advance(base::seconds(300));
  transport_.end();
  EXPECT_THAT(last_target(), HasSubstr("resourceVersion=10&"));
  EXPECT_EQ(transport_.streams.size(), 1);
}

TEST_F(ReflectorTest, AListThatIsCutTellsNoDeletions) {
  sync({object("a", "1", "5"), object("b", "2", "6")});
  transport_.bytes(event("ERROR", status(410)));
  transport_.status(200);
  const std::string text = list("30", {object("a", "1", "5"), object("b", "2", "6")});
  const std::string part = text.substr(0, text.find("\"b\""));
  transport_.bytes(part);
  transport_.cut();
  EXPECT_THAT(news_.take(), ElementsAre("+a:1"));
  wait();
  transport_.status(200);
  transport_.bytes(part);
  transport_.end();  // politely, in its middle
  EXPECT_THAT(news_.take(), ElementsAre("+a:1"));
  wait();
  transport_.reply(200, text);
  EXPECT_THAT(news_.take(), ElementsAre("+a:1", "+b:2"));
}

TEST_F(ReflectorTest, EventsOutOfOrderDoNotRaiseTheDead) {
  sync({object("a", "1", "5")});
  transport_.bytes(event("ADDED", object("a", "2", "12")));     // before its predecessor went
  transport_.bytes(event("DELETED", object("a", "1", "11")));   // late
  transport_.bytes(event("MODIFIED", object("a", "1", "10")));  // later still
  transport_.bytes(event("DELETED", object("zzz", "7", "13")));
  EXPECT_THAT(news_.take(), ElementsAre("-a:1", "+a:2"));
  EXPECT_EQ(reflector_.size(), 1);
}

TEST_F(ReflectorTest, LostEventsAreFoundByTheNextList) {
  sync({object("a", "1", "5"), object("b", "2", "6")});
  clock_.advance(base::seconds(3600));
  transport_.end();
  EXPECT_EQ(last_target(), "/things?resourceVersion=10");
  transport_.reply(200, list("90", {object("b", "2", "6")}));
  EXPECT_THAT(news_.take(), ElementsAre("+b:2", "-a:1"));
}

TEST_F(ReflectorTest, MalformedObjectsArePassedOverAndWhatWasKnownStays) {
  const std::string bad = R"({"metadata":{"name":"b","uid":"2","labels":{"x":7}}})";
  sync({object("a", "1", "5"), object("b", "2", "6")});
  transport_.bytes(event("MODIFIED", bad) + event("ADDED", object("c", "3", "20")));
  EXPECT_THAT(news_.take(), ElementsAre("+c:3"));
  EXPECT_EQ(reflector_.counters().decode_errors, 1);
  EXPECT_THAT(reflector_.counters().last_error, HasSubstr("metadata.labels"));
  transport_.bytes(event("ERROR", status(410)));
  transport_.reply(200, list("30", {object("a", "1", "5"), bad}));
  EXPECT_THAT(news_.take(), ElementsAre("+a:1", "-c:3"));
  // An item that cannot even be named could be any of those that are missing.
  transport_.status(200);
  transport_.bytes(event("ADDED", object("d", "4", "40")) + event("ERROR", status(410)));
  transport_.reply(200, list("50", {R"({"metadata":[]})"}));
  EXPECT_THAT(news_.take(), ElementsAre("+d:4"));
  EXPECT_EQ(reflector_.size(), 3);
}

TEST_F(ReflectorTest, NonsenseInAWatchLeadsToAList) {
  sync();
  for (const std::string_view nonsense :
       {"<html>\n", "{}\n", "[1]\n", "null\n", "{\"type\":\"ADDED\",\"object\":1e999}\n"}) {
    transport_.bytes(nonsense);
    EXPECT_GE(wait(), base::milliseconds(800)) << nonsense;
    EXPECT_EQ(last_target(), "/things?resourceVersion=10") << nonsense;
    transport_.reply(200, list("10", {object("a", "1", "5")}));
    transport_.status(200);
  }
  transport_.bytes(event("SURPRISE", object("a", "1", "11")) + event("ADDED", "{}"));
  EXPECT_EQ(transport_.streams.size(), 1);
  EXPECT_THAT(news_.take(), Not(testing::Contains("-a:1")));
}

TEST_F(ReflectorTest, AGiantLineIsNotRead) {
  sync();
  const std::string piece(size_t{1} << 20, 'x');
  for (int i = 0; i < 9 && !transport_.streams.empty(); ++i) transport_.bytes(piece, piece.size());
  EXPECT_THAT(transport_.streams, IsEmpty());
  EXPECT_GE(wait(), base::milliseconds(800));
}

TEST_F(ReflectorTest, ARefusedListIsTriedAgain) {
  for (const int code : {401, 403, 404, 429, 500, 503}) {
    transport_.reply(code, "not even JSON");
    EXPECT_GE(wait(), base::milliseconds(800));
    EXPECT_EQ(last_target(), "/things?resourceVersion=0");
  }
  EXPECT_FALSE(reflector_.synced());
  EXPECT_EQ(reflector_.counters().failures, 6);
}

TEST_F(ReflectorTest, AWatchThatIsNeverGrantedLeadsToAList) {
  sync();
  transport_.cut();
  wait();
  for (int i = 0; i < 3; ++i) {
    transport_.reply(500, status(500));
    wait();
    EXPECT_THAT(last_target(), HasSubstr("watch=true"));
  }
  transport_.reply(500, status(500));
  wait();
  transport_.reply(500, status(500));
  wait();
  EXPECT_EQ(last_target(), "/things?resourceVersion=10");
}

class AbsentKindTest : public ReflectorTest {
 protected:
  AbsentKindTest() : ReflectorTest({.paths = {"/new", "/old"}, .may_be_absent = true}) {}
};

TEST_F(AbsentKindTest, AKindThatIsNotServedIsEmptyUntilItIsServed) {
  transport_.reply(404, "404 page not found");
  EXPECT_EQ(last_target(), "/old?resourceVersion=0");
  transport_.reply(404, "404 page not found");
  EXPECT_THAT(news_.take(), ElementsAre("synced"));
  EXPECT_TRUE(reflector_.counters().absent);
  EXPECT_EQ(wait(), base::seconds(30));
  EXPECT_EQ(last_target(), "/new?resourceVersion=0");
  transport_.reply(404, "");
  transport_.reply(200, list("10", {object("a", "1", "5")}));
  EXPECT_THAT(news_.take(), ElementsAre("+a:1"));
  EXPECT_FALSE(reflector_.counters().absent);
  EXPECT_EQ(reflector_.path(), "/old");
}

TEST_F(AbsentKindTest, AKindThatIsNoLongerServedIsGone) {
  sync();
  transport_.bytes(event("BOOKMARK", R"({"metadata":{"resourceVersion":"40"}})"));
  transport_.end();
  transport_.reply(404, "");
  wait();
  transport_.reply(404, "");
  transport_.reply(404, "");
  EXPECT_THAT(news_.take(), ElementsAre("-a:1"));
  EXPECT_TRUE(reflector_.counters().absent);
}

class SelectedTest : public ReflectorTest {
 protected:
  SelectedTest()
      : ReflectorTest({.paths = {"/things"}, .field_selector = "spec.nodeName!=", .seed = 3}) {}
};

TEST_F(SelectedTest, ASelectorIsPartOfEachRequest) {
  EXPECT_EQ(last_target(), "/things?resourceVersion=0&fieldSelector=spec.nodeName%21%3D");
  sync();
  EXPECT_THAT(last_target(), HasSubstr("&fieldSelector=spec.nodeName%21%3D"));
}

}  // namespace
}  // namespace mainspring::kube
