// SPDX-License-Identifier: Apache-2.0
#include "mainspring/cli/seed_list.h"

#include <gtest/gtest.h>

namespace mainspring::cli {
namespace {

TEST(SeedList, ReadsRangesAndLists) {
  EXPECT_EQ(parse_seeds("42").value(), (std::vector<uint64_t>{42}));
  EXPECT_EQ(parse_seeds("42..44").value(), (std::vector<uint64_t>{42, 43, 44}));
  EXPECT_EQ(parse_seeds("7,1..2,0").value(), (std::vector<uint64_t>{7, 1, 2, 0}));
  EXPECT_EQ(parse_seeds("5..5").value(), (std::vector<uint64_t>{5}));
}

TEST(SeedList, RefusesTheRest) {
  for (const char* text : {"", ",", "1,", "a", "1..", "..1", "1...2", "2..1", "-1", "1.5", "1e3",
                           "1 2", "1,1", "1..3,2", "0..10000", "9007199254740993", "nan"}) {
    const auto seeds = parse_seeds(text);
    ASSERT_FALSE(seeds.has_value()) << text;
    EXPECT_TRUE(seeds.error().message.starts_with("--seeds: ")) << seeds.error().message;
  }
}

TEST(NameList, KnowsTheNames) {
  const std::vector<std::string_view> known = {"fgd", "best-fit", "mainspring"};
  EXPECT_EQ(parse_names("mainspring,fgd", "--policies", known).value(),
            (std::vector<std::string>{"mainspring", "fgd"}));
  EXPECT_EQ(parse_names("bestfit", "--policies", known).error().message,
            "--policies: 'bestfit' is unknown; did you mean 'best-fit'?");
  EXPECT_EQ(parse_names("oracle", "--policies", known).error().message,
            "--policies: 'oracle' is unknown; expected fgd best-fit mainspring");
  EXPECT_EQ(parse_names("fgd,fgd", "--policies", known).error().message,
            "--policies: 'fgd' is given twice");
  EXPECT_FALSE(parse_names("", "--policies", known).has_value());
}

}  // namespace
}  // namespace mainspring::cli
