// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

// Output for people: tables, and colour and a progress bar where somebody is watching.

namespace mainspring::cli {

enum class Tone : uint8_t { kPlain, kGood, kBad, kWarning, kQuiet, kStrong };

// The text in colour when standard output is a terminal and NO_COLOR is not set; otherwise as it
// is.
std::string toned(std::string_view text, Tone tone);

// Columns as wide as their widest cell. A column whose first cell below the head looks like a
// number is set to the right; empty cells and "unlimited" do not decide.
class Table {
 public:
  explicit Table(std::vector<std::string> head) : rows_{std::move(head)} {}
  void add(std::vector<std::string> row, Tone tone = Tone::kPlain);
  // Every line ends with a newline.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<Tone> tones_{Tone::kStrong};
};

// One line on standard error that grows; nothing at all when that is no terminal.
class ProgressBar {
 public:
  explicit ProgressBar(std::string title);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Redraws when the permille changed. `note` stands behind the bar.
  void show(int64_t done, int64_t total, std::string_view note = {});
  // Wipes the line, so that what follows begins on a clean one.
  void clear();

 private:
  std::string title_;
  bool visible_;
  int64_t shown_ = -1;
};

// How many columns a text takes on a terminal (counts UTF-8 code points).
size_t display_width(std::string_view text);

// 1234567 as "1,234,567".
std::string grouped(int64_t number);

}  // namespace mainspring::cli
