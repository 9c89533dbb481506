// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/time_text.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <fmt/format.h>

namespace mainspring::kube {
namespace {

// Walks over the text; a step that does not match makes all later ones fail.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  unsigned number(size_t digits) {
    unsigned value = 0;
    for (size_t i = 0; i < digits; ++i) {
      const char digit = take();
      if (digit < '0' || digit > '9') good_ = false;
      value = value * 10 + static_cast<unsigned>(digit - '0') % 10;
    }
    return value;
  }
  void expect(std::string_view any_of) {
    if (any_of.find(take()) == std::string_view::npos) good_ = false;
  }
  int64_t fraction_ms() {
    if (peek() != '.') return 0;
    take();
    int64_t value = 0;
    int64_t unit_ms = 100;
    if (peek() < '0' || peek() > '9') good_ = false;
    while (peek() >= '0' && peek() <= '9') {
      value += unit_ms * (take() - '0');
      unit_ms /= 10;
    }
    return value;
  }
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  char take() { return at_ < text_.size() ? text_[at_++] : '\0'; }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }

 private:
  std::string_view text_;
  size_t at_ = 0;
  bool good_ = true;
};

std::chrono::sys_days day_of(int64_t ms) {
  return std::chrono::sys_days(
      std::chrono::days(std::chrono::floor<std::chrono::days>(std::chrono::milliseconds(ms))));
}

std::string text_of(base::Instant time, bool micro) {
  // The end of the year 9999.
  const int64_t ms = std::clamp<int64_t>(time.ms, 0, 253'402'300'799'999);
  const std::chrono::year_month_day date(day_of(ms));
  const int64_t day_ms = ms % 86'400'000;
  const int64_t whole = day_ms / 1000;
  const std::string fraction = micro ? fmt::format(".{:03}000", day_ms % 1000) : std::string();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     whole / 3600, whole / 60 % 60, whole % 60, fraction);
}

}  // namespace

std::optional<base::Instant> parse_time(std::string_view text) {
  Cursor cursor(text);
  const unsigned year = cursor.number(4);
  cursor.expect("-");
  const unsigned month = cursor.number(2);
  cursor.expect("-");
  const unsigned day = cursor.number(2);
  cursor.expect("Tt");
  const unsigned hour = cursor.number(2);
  cursor.expect(":");
  const unsigned minute = cursor.number(2);
  cursor.expect(":");
  const unsigned second = cursor.number(2);
  const int64_t fraction_ms = cursor.fraction_ms();
  int64_t offset_minutes = 0;
  const char zone = cursor.take();
  if (zone == '+' || zone == '-') {
    offset_minutes = int64_t{60} * cursor.number(2);
    cursor.expect(":");
    offset_minutes += cursor.number(2);
    if (zone == '-') offset_minutes = -offset_minutes;
  } else if (zone != 'Z' && zone != 'z') {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(month), std::chrono::day(day)};
  if (!cursor.good() || !cursor.at_end() || !date.ok()) return std::nullopt;
  if (hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const int64_t seconds_of_day = int64_t{3600} * hour + int64_t{60} * minute + second;
  const int64_t ms = ((days * 86'400 + seconds_of_day) - offset_minutes * 60) * 1000 + fraction_ms;
  if (ms < 0) return std::nullopt;
  return base::Instant{ms};
}

std::string time_text(base::Instant time) { return text_of(time, false); }
std::string micro_time_text(base::Instant time) { return text_of(time, true); }

}  // namespace mainspring::kube
