// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/list_stream.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mainspring/kube/managed_fields.h"

namespace mainspring::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Read {
  std::vector<std::string> items;
  std::string version;
  std::string token;
  std::string error;
};

Read read(std::string_view text, size_t piece, StreamLimits limits = {}) {
  Read result;
  ListStream list([&](std::string_view item) { result.items.emplace_back(item); }, limits);
  for (size_t at = 0; at < text.size(); at += piece) {
    if (const auto fed = list.feed(text.substr(at, piece)); !fed) {
      result.error = fed.error().message;
      return result;
    }
  }
  const auto end = list.finish();
  if (end) {
    result.version = end->resource_version;
    result.token = end->continue_token;
  } else {
    result.error = end.error().message;
  }
  return result;
}

TEST(ListStreamTest, ItemsComeOutWherevertheBytesAreCut) {
  const std::string text =
      R"({"kind":"PodList","x":{"items":[1]},"metadata":{"resourceVersion":"7","continue":"c"},)"
      R"( "items" : [ {"a":"]}\"\\","b":[{}]} , {} ,{"items":[2]}],"y":["items",{"items":[3]}]})"
      "\n";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    const Read result = read(text, piece);
    EXPECT_EQ(result.error, "");
    EXPECT_THAT(result.items, ElementsAre(R"({"a":"]}\"\\","b":[{}]})", "{}", R"({"items":[2]})"));
    EXPECT_EQ(result.version, "7");
    EXPECT_EQ(result.token, "c");
  }
}

TEST(ListStreamTest, AListMayBeEmptyAndItsVersionMayComeLast) {
  for (const std::string items : {"[]", "null", "[ ]"}) {
    const Read result = read(R"({"items":)" + items + R"(,"metadata":{"resourceVersion":"9"}})", 5);
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(result.version, "9");
    EXPECT_TRUE(result.items.empty());
  }
}

TEST(ListStreamTest, WhatIsNoListIsRefused) {
  const std::string meta = R"({"metadata":{"resourceVersion":"9"},"items":)";
  const std::pair<std::string, std::string> cases[] = {
      {"", "a list: "},
      {"null", "no metadata"},
      {"<html></html>", "a list: "},
      {"{}", "no metadata"},
      {R"({"metadata":{}})", "no resourceVersion"},
      {meta + "[1]}", "no object"},
      {meta + "[\"{\"]}", "no object"},
      {meta + "[{}", "in its middle"},
      {meta + "[{", "in its middle"},
      {meta + "[{}]", "in its middle"},
      {meta + "[{}]}}", "in its middle"},
      {meta + "[{}] x}", "a list: "},
      {"[" + std::string(70'000, '['), "too much beside"},
      {meta + "[{" + std::string(200, 'x') + "}]}", "more than 100 bytes"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(read(text, 9, {.item_bytes_max = 100}).error, HasSubstr(message)) << text;
  }
}

TEST(LineStreamTest, LinesComeOutWhereverTheBytesAreCut) {
  const std::string_view text = "one\n\ntwo and more\nthree\nfour";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    LineStream lines(20);
    std::vector<std::string> told;
    for (size_t at = 0; at < text.size(); at += piece) {
      ASSERT_TRUE(lines.feed(text.substr(at, piece), [&](std::string_view line) {
        told.emplace_back(line);
        return true;
      }));
    }
    EXPECT_THAT(told, ElementsAre("one", "two and more", "three"));
  }
}

TEST(LineStreamTest, LongLinesAreRefusedAndReadersMayStop) {
  LineStream lines(5);
  const auto stop = [](std::string_view) { return false; };
  EXPECT_TRUE(lines.feed("12345", stop));
  EXPECT_FALSE(lines.feed("6", stop));
  EXPECT_TRUE(lines.feed("a\nb\nc", stop));
}

TEST(ManagedFieldsTest, OnlyTheMemberGoes) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"a":1})", R"({"a":1})"},
      {R"({"managedFields":[],"a":1})", R"({"managedFields":0,"a":1})"},
      {R"({"m":{"managedFields":[{"x":"]}\"\\"},[]]},"n":{"managedFields":[1]}})",
       R"({"m":{"managedFields":0},"n":{"managedFields":0}})"},
      {R"({"text":"{\"managedFields\":[1]}"})", R"({"text":"{\"managedFields\":[1]}"})"},
      {R"({"x\"managedFields":[1]})", R"({"x\"managedFields":[1]})"},
      {R"({"managedFields":7})", R"({"managedFields":7})"},
      {R"({"managedFields":[)", R"({"managedFields":[)"},
      {"", ""},
  };
  std::string kept;
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(without_managed_fields(text, kept), expected);
  }
}

}  // namespace
}  // namespace mainspring::kube
