// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

// Pages of the reference that are printed from the code: the part between "<!-- WORD: begin -->"
// and
// "<!-- WORD: end -->" has to be what the code says.

namespace mainspring::config {

// With MAINSPRING_UPDATE_DOCS in the environment the page is written anew instead.
inline void expect_page_in_step(const char* path, std::string_view word,
                                std::string_view expected) {
  const std::string begin_mark = "<!-- " + std::string(word) + ": begin -->\n";
  const std::string end_mark = "<!-- " + std::string(word) + ": end -->\n";
  std::ifstream stream(path);
  std::string page{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  const size_t begin = page.find(begin_mark);
  const size_t end = page.find(end_mark);
  ASSERT_NE(begin, std::string::npos) << path;
  ASSERT_NE(end, std::string::npos) << path;
  const size_t first = begin + begin_mark.size();
  if (page.substr(first, end - first) == expected) return;
  page.replace(first, end - first, expected);
  if (std::getenv("MAINSPRING_UPDATE_DOCS") == nullptr) {
    FAIL() << path << " is out of step; run this test with MAINSPRING_UPDATE_DOCS=1";
  }
  std::ofstream(path) << page;
}

}  // namespace mainspring::config
