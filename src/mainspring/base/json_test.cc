// SPDX-License-Identifier: Apache-2.0
#include "mainspring/base/json.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mainspring/base/rng.h"

namespace mainspring::base {
namespace {

using testing::StartsWith;

std::string error_of(std::string_view text, JsonLimits limits = {}) {
  const auto parsed = parse_json(text, limits);
  return parsed ? "accepted: " + parsed->dump() : parsed.error().message;
}

TEST(Json, KeepsOrderAndKinds) {
  const std::string text =
      R"({"z":1,"a":[true,false,null,-2,2.5,1e300],"n":{"deep":"é\n"},"empty":[],"none":{}})";
  const auto parsed = parse_json(text);
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(
      parsed->dump(),
      R"({"z":1,"a":[true,false,null,-2,2.5,1e+300],"n":{"deep":"é\n"},"empty":[],"none":{}})");
  EXPECT_EQ(parsed->find("z")->as_int(), 1);
  EXPECT_DOUBLE_EQ(parsed->find("z")->as_double(), 1.0);
  EXPECT_EQ(parsed->find("missing"), nullptr);
  EXPECT_EQ(Json(1).find("x"), nullptr);
}

TEST(Json, NumbersStayWhatTheyAre) {
  for (const std::string text :
       {"0", "-9223372036854775808", "9223372036854775807", "1.0", "0.1"}) {
    const auto parsed = parse_json(text);
    ASSERT_TRUE(parsed.has_value()) << text;
    EXPECT_EQ(parsed->dump(), text);
  }
  EXPECT_TRUE(parse_json("1")->is(Json::Kind::kInt));
  EXPECT_TRUE(parse_json("1.0")->is(Json::Kind::kDouble));
  EXPECT_EQ(Json(3.0).dump(), "3.0");
  EXPECT_EQ(Json(std::nan("")).dump(), "null");
  EXPECT_EQ(Json(-std::numeric_limits<double>::infinity()).dump(), "null");
}

TEST(Json, RefusesWithLineAndColumn) {
  EXPECT_EQ(error_of("{\"a\": 1,\n \"a\": 2}").substr(0, 4), "2:4:");
  EXPECT_THAT(error_of("{\"a\": 1,\n \"a\": 2}"), testing::HasSubstr("\"a\" comes twice"));
  EXPECT_THAT(error_of("[1,\n2,\n x]"), StartsWith("3:2: "));
  EXPECT_THAT(error_of(""), StartsWith("1:1: "));
  EXPECT_THAT(error_of("{\"a\""), StartsWith("1:"));
  EXPECT_THAT(error_of("1 2"), StartsWith("1:3: more text"));
  EXPECT_THAT(error_of("[9223372036854775808]"), testing::HasSubstr("above 2^63 - 1"));
  EXPECT_THAT(error_of("[-9223372036854775809]"), testing::HasSubstr("-2^63"));
  EXPECT_THAT(error_of("[123456789012345678901234567890]"), testing::HasSubstr("2^63"));
  EXPECT_THAT(error_of("1e999"), StartsWith("1:"));
  EXPECT_THAT(error_of("NaN"), StartsWith("1:1: "));
  EXPECT_THAT(error_of("[1,]"), StartsWith("1:4: "));
  EXPECT_THAT(error_of("// x\n1"), StartsWith("1:1: "));
  EXPECT_THAT(error_of("\"\xff\""), StartsWith("1:"));
  EXPECT_THAT(error_of("\"\xed\xa0\x80\""), StartsWith("1:"));
}

TEST(Json, Bounded) {
  EXPECT_THAT(error_of("[[[1]]]", {.depth_max = 2}), StartsWith("1:"));
  EXPECT_EQ(error_of("[[1]]", {.depth_max = 2}), "accepted: [[1]]");
  EXPECT_THAT(error_of("[1,2,3]", {.bytes_max = 6}), testing::HasSubstr("at most 6"));
  EXPECT_THAT(error_of(std::string(100'000, '[')), StartsWith("1:"));
}

TEST(Json, WritesTextThatReadsBack) {
  std::string every;
  for (int code = 0; code < 128; ++code) every += static_cast<char>(code);
  every += "\u00df\u20ac\U0001f600";
  const auto parsed = parse_json(Json(every).dump());
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(parsed->as_string(), every);
  EXPECT_EQ(Json(std::string("a\xff\xc3") + "b").dump(), "\"a\\ufffd\\ufffdb\"");
}

TEST(Json, PrettyIsTheSameValue) {
  Json object = Json::object();
  object.set("numbers", Json::array().push_back(1).push_back(2));
  object.set("nested", Json::array().push_back(Json::object().set("k", "v")));
  object.set("none", Json::object());
  object.set("numbers", object.find("numbers")->as_array().at(0));
  EXPECT_EQ(object.dump_pretty(),
            "{\n  \"numbers\": 1,\n  \"nested\": [\n    {\n      \"k\": \"v\"\n    }\n  ],\n"
            "  \"none\": {}\n}");
  EXPECT_EQ(*parse_json(object.dump_pretty()), object);
}

Json random_value(Rng& rng, int depth) {
  switch (rng.below(depth > 4 ? 5 : 7)) {
    case 0:
      return {};
    case 1:
      return rng.chance(1, 2);
    case 2:
      return static_cast<int64_t>(rng.next());
    case 3:
      return static_cast<double>(static_cast<int64_t>(rng.next())) * 0x1p-40;
    case 4:
      return std::string(rng.below(5), static_cast<char>(rng.between(1, 127)));
    case 5: {
      Json items = Json::array();
      for (uint64_t left = rng.below(5); left > 0; --left) {
        items.push_back(random_value(rng, depth + 1));
      }
      return items;
    }
    default: {
      Json members = Json::object();
      for (uint64_t left = rng.below(5); left > 0; --left) {
        members.set(std::to_string(rng.below(100)), random_value(rng, depth + 1));
      }
      return members;
    }
  }
}

TEST(Json, RandomValuesReadBackEqual) {
  Rng rng(7);
  for (int round = 0; round < 3000; ++round) {
    const Json value = random_value(rng, 0);
    const auto again = parse_json(value.dump());
    ASSERT_TRUE(again.has_value()) << value.dump() << again.error().message;
    ASSERT_EQ(*again, value);
    ASSERT_EQ(*parse_json(value.dump_pretty()), value);
  }
}

}  // namespace
}  // namespace mainspring::base
