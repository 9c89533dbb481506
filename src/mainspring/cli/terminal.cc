// SPDX-License-Identifier: Apache-2.0
#include "mainspring/cli/terminal.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/core.h>
#include <unistd.h>

namespace mainspring::cli {
namespace {

constexpr size_t kBarWidth = 32;

bool colour_wanted() {
  static const bool kWanted = isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  return kWanted;
}

bool looks_like_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.,%-+ ") == std::string_view::npos;
}

}  // namespace

std::string toned(std::string_view text, Tone tone) {
  constexpr const char* kCodes[] = {"", "32", "31", "33", "2", "1"};
  if (tone == Tone::kPlain || !colour_wanted()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<size_t>(tone)], text);
}

size_t display_width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<uint8_t>(byte) & 0xc0) != 0x80;
  }));
}

std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  const size_t first = number < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

void Table::add(std::vector<std::string> row, Tone tone) {
  row.resize(rows_.front().size());
  rows_.push_back(std::move(row));
  tones_.push_back(tone);
}

std::string Table::text() const {
  std::vector<size_t> widths(rows_.front().size(), 0);
  std::vector<bool> right(rows_.front().size(), false);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  for (size_t i = 0; i < right.size(); ++i) {
    const auto decides = std::find_if(rows_.begin() + 1, rows_.end(), [i](const auto& row) {
      return !row[i].empty() && row[i] != "unlimited";
    });
    right[i] = decides != rows_.end() && looks_like_number((*decides)[i]);
  }
  std::string text;
  for (size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (size_t i = 0; i < rows_[r].size(); ++i) {
      const std::string padding(widths[i] - display_width(rows_[r][i]), ' ');
      line += (i == 0 ? "" : "  ") + (right[i] ? padding + rows_[r][i] : rows_[r][i] + padding);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    text += toned(line, tones_[r]) + "\n";
  }
  return text;
}

ProgressBar::ProgressBar(std::string title)
    : title_(std::move(title)), visible_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::show(int64_t done, int64_t total, std::string_view note) {
  if (!visible_) return;
  const int64_t permille = total <= 0 ? 1000 : std::clamp<int64_t>(done * 1000 / total, 0, 1000);
  if (permille == shown_) return;
  shown_ = permille;
  const size_t filled = kBarWidth * static_cast<size_t>(permille) / 1000;
  fmt::print(stderr, "\r\x1b[K{} [{}{}] {:3} % {}", title_, std::string(filled, '#'),
             std::string(kBarWidth - filled, '.'), permille / 10, note);
  std::fflush(stderr);
}

void ProgressBar::clear() {
  if (!visible_ || shown_ < 0) return;
  shown_ = -1;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

}  // namespace mainspring::cli
