// SPDX-License-Identifier: Apache-2.0
#include "mainspring/cli/terminal.h"

#include <gtest/gtest.h>

#include "mainspring/cli/day_story.h"
#include "mainspring/cli/job_answer.h"

namespace mainspring::cli {
namespace {

TEST(Terminal, ColumnsAreAligned) {
  Table table({"name", "count", "what"});
  table.add({"a", "1", "first"});
  table.add({"größer", "1,000"});
  EXPECT_EQ(table.text(),
            "name    count  what\n"
            "a           1  first\n"
            "größer  1,000\n");
}

TEST(Terminal, NumbersAreGrouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-1234), "-1,234");
}

TEST(Terminal, NoColourWithoutATerminal) { EXPECT_EQ(toned("words", Tone::kBad), "words"); }

TEST(Wrapped, BreaksBetweenWords) {
  EXPECT_EQ(wrapped("one two three", 2, 9), "  one two\n  three\n");
  EXPECT_EQ(wrapped("extraordinary", 2, 5), "  extraordinary\n");
}

TEST(Picture, ShowsTheHeightOfEachColumn) {
  std::vector<DaySample> samples;
  samples.reserve(4);
  for (int64_t i = 0; i < 4; ++i) {
    samples.push_back({.at = base::Instant{i * 3'600'000},
                       .held_milli = i * 1000,
                       .capacity_milli = 3000,
                       .waiting_jobs = i});
  }
  const std::string picture = occupancy_picture(samples, 4, 3);
  EXPECT_NE(picture.find("  100 % |   #\n"), std::string::npos) << picture;
  EXPECT_NE(picture.find("   66 % |  ##\n"), std::string::npos) << picture;
  EXPECT_NE(picture.find("   33 % | ###\n"), std::string::npos) << picture;
  EXPECT_EQ(occupancy_picture({}, 10, 10), "");
}

}  // namespace
}  // namespace mainspring::cli
