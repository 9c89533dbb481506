// SPDX-License-Identifier: Apache-2.0
#include "mainspring/config/event_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mainspring/base/json.h"
#include "mainspring/config/event_json.h"
#include "mainspring/model/history_for_tests.h"
#include "mainspring/model/snapshot.h"

namespace mainspring::config {
namespace {

using testing::HasSubstr;

std::string decode_error(const std::string& text) {
  const auto json = base::parse_json(text);
  if (!json) return "no JSON: " + json.error().message;
  const auto event = decode_event(*json);
  return event ? "accepted" : event.error().message;
}

TEST(EventJson, SnapshotsOfRandomClustersSurvive) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    model::ClusterState state;
    model::RandomHistory history(seed);
    for (int step = 0; step < 150; ++step) history.step(state);
    model::ClusterState again;
    for (const model::Event& event : model::take_snapshot(state)) {
      const base::Json written = encode(event);
      const auto read_back = decode_event(*base::parse_json(written.dump()));
      ASSERT_TRUE(read_back.has_value()) << written.dump() << read_back.error().message;
      ASSERT_EQ(encode(*read_back), written);
      ASSERT_TRUE(again.apply(*read_back).has_value());
    }
    ASSERT_EQ(again.hash(), state.hash()) << "seed " << seed;
  }
}

TEST(EventJson, EveryOtherEventSurvives) {
  const std::vector<model::EventBody> bodies = {
      model::NodeGone{"n"},
      model::GpuSampled{"n", "g", false, 7},
      model::JobGone{"j"},
      model::PodBound{"p", 1},
      model::PodStarted{"p", 2},
      model::PodStopping{"p", 3},
      model::PodGone{"p", 4, model::PodEnd::kLost},
      model::PodGone{"p", 4, model::PodEnd::kRemoved},
      model::BindRefused{"p", 5, "a \"reason\""},
      model::JobRestored{.job = "j", .failed_starts = 3, .releasing = true},
      model::JobRestored{.job = "j",
                         .running_since = base::Instant{1},
                         .checkpointed_at = base::Instant{2},
                         .displaced_at = {base::Instant{3}, base::Instant{4}},
                         .goes_first = true,
                         .move_retry_at = base::Instant{5},
                         .protected_until = base::Instant{6}},
      model::Tick{},
      model::JobCheckpointed{"j"},
      model::QueueGone{"q"},
      model::PromiseRestored{.job = "j",
                             .until = base::Instant{9},
                             .broken = true,
                             .places = {{"p", "n", {"g"}}, {"q", "n", {}}},
                             .displaced = {"k"}},
      model::UsageRestored{"q", base::Instant{7}, {{"gpu", 5, 250}, {"gpu:H100", 5, 0}}}};
  for (const model::EventBody& body : bodies) {
    model::Event event;
    event.sequence = 3;
    event.at = base::Instant{-5};
    event.body = body;
    const auto again = decode_event(encode(event));
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_EQ(encode(*again), encode(event));
    EXPECT_EQ(again->body.index(), body.index());
    EXPECT_EQ(again->at, event.at);
  }
}

template <class Body>
Body back(const Body& body) {
  const auto again = decode_event(encode(model::Event{.body = body}));
  return std::get<Body>(again.value().body);
}

TEST(EventJson, WhatOwnersWriteSurvivesFieldByField) {
  const model::QueueSpec queue{
      .name = "research/vision",
      .parent = "research",
      .priority = -3,
      .resources = {{.name = "gpu", .quota_ppm = 600'000, .limit = 16'000, .weight = 3},
                    {.name = "gpu:H100", .quota = model::kUnlimited}},
      .tenants = {"red", "blue"},
      .min_run_before_preempt = base::seconds(1),
      .min_run_before_reclaim = base::seconds(2),
      .displace_after = base::seconds(3)};
  EXPECT_EQ(back(model::QueueChanged{queue}).queue, queue);
  EXPECT_EQ(back(model::QueueChanged{{.name = "q"}}).queue, model::QueueSpec{.name = "q"});
  const model::JobSpec job{.id = "j",
                           .queue = "q",
                           .tenant = "red",
                           .priority = 7,
                           .preemptible = false,
                           .may_displace = false,
                           .checkpoint_interval = base::seconds(900),
                           .restart_time = base::seconds(600)};
  EXPECT_EQ(back(model::JobChanged{job}).job, job);
  const model::CoreConfig config{.usage_half_life = base::seconds(1),
                                 .promise_timeout = base::seconds(2),
                                 .displacements_max = 3,
                                 .displacements_window = base::seconds(4),
                                 .consolidate_lost_max = {}};
  EXPECT_EQ(back(model::ConfigChanged{config}).config, config);
  EXPECT_EQ(back(model::ConfigChanged{}).config, model::CoreConfig{});
}

// What was recorded before there were queue trees reads as it did.
TEST(EventJson, OldLinesHaveTheDefaults) {
  const auto job = decode_event(
      *base::parse_json(R"({"sequence":1,"event":"job_changed","job":{"id":"j","priority":3}})"));
  ASSERT_TRUE(job.has_value()) << job.error().message;
  EXPECT_EQ(std::get<model::JobChanged>(job->body).job, (model::JobSpec{.id = "j", .priority = 3}));
  const auto config = decode_event(*base::parse_json(
      R"({"sequence":1,"event":"config_changed","config":{"gang_start_timeout_ms":60000}})"));
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(std::get<model::ConfigChanged>(config->body).config, model::CoreConfig{});
}

TEST(EventJson, RefusesByName) {
  EXPECT_EQ(decode_error(R"({"sequence":1,"event":"tick"})"), "accepted");
  EXPECT_THAT(decode_error(R"({"event":"tick"})"), HasSubstr("sequence is missing"));
  EXPECT_THAT(decode_error(R"({"sequence":-1,"event":"tick"})"), HasSubstr("out of range"));
  EXPECT_THAT(decode_error(R"({"sequence":1,"event":"tock"})"), HasSubstr("\"tock\""));
  EXPECT_THAT(decode_error(R"({"sequence":1,"event":"tick","more":1})"),
              HasSubstr("more is not known"));
  EXPECT_THAT(decode_error(R"({"sequence":1,"event":"node_gone","node":5})"),
              HasSubstr("node: expected string, found integer"));
  EXPECT_THAT(decode_error(R"({"sequence":1,"event":"node_changed","node":{"name":"n",)"
                           R"("allocatable":{"cpu_milli":1.5}}})"),
              HasSubstr("node.allocatable.cpu_milli: expected integer, found number"));
  EXPECT_THAT(decode_error(R"({"sequence":1,"event":"node_changed","node":{"name":"n",)"
                           R"("gpus":[{"id":"a","size":1}]}})"),
              HasSubstr("node.gpus[0].size is not known"));
  EXPECT_THAT(decode_error(R"({"sequence":1,"event":"job_changed","job":{"id":"j",)"
                           R"("pods":[["a",0]]}})"),
              HasSubstr("job.pods[0]: expected [id, group, shape]"));
  EXPECT_THAT(decode_error(R"({"sequence":1,"event":"queue_changed","queue":{"name":"q",)"
                           R"("resources":[{"name":"gpu","share":1}]}})"),
              HasSubstr("queue.resources[0].share is not known"));
  EXPECT_THAT(decode_error(R"({"sequence":1,"event":"promise_restored","job":"j",)"
                           R"("places":[{"pod":"p"}]})"),
              HasSubstr("places[0].node is missing"));
  EXPECT_THAT(decode_error("[]"), HasSubstr("expected object, found array"));
}

class EventFileTest : public testing::Test {
 public:
  ~EventFileTest() override { std::filesystem::remove(path_); }

 protected:
  EventFileTest()
      : path_(testing::TempDir() + "mainspring_event_file_" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {}

  void write(const std::string& text) const { std::ofstream(path_) << text; }
  [[nodiscard]] std::string text() const {
    std::stringstream all;
    all << std::ifstream(path_).rdbuf();
    return all.str();
  }
  // The first error, or "" at a good end.
  [[nodiscard]] std::string error() const {
    const auto reader = EventFileReader::open(path_);
    if (!reader) return reader.error().message;
    while (true) {
      const auto line = (*reader)->next();
      if (!line) return line.error().message;
      if (!line->has_value()) return "";
    }
  }
  void write_small() const {
    auto writer = EventFileWriter::create(path_);
    ASSERT_TRUE(writer.has_value());
    model::Event event;
    event.body = model::Tick{};
    (*writer)->snapshot(event);
    (*writer)->end_snapshot();
    (*writer)->event(event);
    (*writer)->cycle(base::Instant{7}, 0xabc);
    ASSERT_TRUE((*writer)->finish().has_value());
  }
  std::string path_;
};

TEST_F(EventFileTest, IsReadAsItWasWritten) {
  write_small();
  EXPECT_EQ(text(),
            "{\"mainspring_events\":1}\n"
            "{\"sequence\":0,\"at_ms\":0,\"event\":\"tick\"}\n"
            "{\"snapshot_end\":true}\n"
            "{\"sequence\":0,\"at_ms\":0,\"event\":\"tick\"}\n"
            "{\"cycle_at_ms\":7,\"decisions\":\"0000000000000abc\"}\n"
            "{\"file_end\":true,\"events\":1,\"cycles\":1}\n");
  EXPECT_EQ(error(), "");
  const auto reader = EventFileReader::open(path_);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE((*reader)->next().has_value());
  const auto cycle = (*reader)->next();
  EXPECT_EQ(std::get<CycleLine>(**cycle).decisions, 0xabcU);
  EXPECT_EQ((*reader)->place(), path_ + ":5");
}

TEST_F(EventFileTest, NothingIsHalfWritten) {
  {
    auto writer = EventFileWriter::create(path_);
    ASSERT_TRUE(writer.has_value());
    (*writer)->end_snapshot();
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".part"));
  const auto writer = EventFileWriter::create("no/such/folder/file");
  ASSERT_FALSE(writer.has_value());
  EXPECT_THAT(writer.error().message, HasSubstr("no/such/folder/file"));
}

TEST_F(EventFileTest, TellsFileAndLine) {
  write("");
  EXPECT_THAT(error(), HasSubstr(path_ + ":1: this is no event file"));
  write("name: scenario\n");
  EXPECT_THAT(error(), HasSubstr(":1: this is no event file"));
  write("{\"mainspring_events\":2}\n");
  EXPECT_THAT(error(), HasSubstr(":1: the file has version 2"));
  write("{\"mainspring_events\":1}\n{\"snapshot_end\":true}\n{\"sequence\":1,}\n");
  EXPECT_THAT(error(), HasSubstr(path_ + ":3:15: "));
  write("{\"mainspring_events\":1}\n{\"event\":\"tick\"}\n");
  EXPECT_THAT(error(), HasSubstr(":2: the field sequence is missing"));
  write("{\"mainspring_events\":1}\n{\"snapshot_end\":true}\n{\"snapshot_end\":true}\n");
  EXPECT_THAT(error(), HasSubstr(":3: the snapshot ended before"));
  write("{\"mainspring_events\":1}\n{\"cycle_at_ms\":1,\"decisions\":\"0000000000000000\"}\n");
  EXPECT_THAT(error(), HasSubstr(":2: the snapshot has not ended"));
  write(
      "{\"mainspring_events\":1}\n{\"snapshot_end\":true}\n{\"cycle_at_ms\":1,\"decisions\":\"x\"}"
      "\n");
  EXPECT_THAT(error(), HasSubstr(":3: decisions: expected 16 hexadecimal digits"));
  write("{\"mainspring_events\":1}\n{\"snapshot_end\":true}\n{\"something\":1}\n");
  EXPECT_THAT(error(), HasSubstr(":3: expected an event"));
  EXPECT_THAT(EventFileReader::open("no/such/file").error().message, HasSubstr("no/such/file"));
}

TEST_F(EventFileTest, ACutFileIsAnError) {
  write_small();
  const std::string whole = text();
  for (size_t size = 1; size + 1 < whole.size(); ++size) {
    write(whole.substr(0, size));
    EXPECT_NE(error(), "") << size;
  }
  std::string fewer = whole;
  fewer.erase(fewer.find("{\"cycle"), fewer.find("{\"file_end") - fewer.find("{\"cycle"));
  write(fewer);
  EXPECT_THAT(error(), HasSubstr("lines are missing"));
  write(whole + "{}\n");
  EXPECT_THAT(error(), HasSubstr("after the end of the file"));
}

}  // namespace
}  // namespace mainspring::config
