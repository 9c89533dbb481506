// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// Counters, gauges and histograms, and their text for Prometheus (format 0.0.4).
//
// Values are whole numbers in a unit that each family chooses, so that no sum drifts; the text has
// them as decimals. One thread owns a registry, and hands out its text (published_text.h).

namespace mainspring::report {

enum class MetricKind : uint8_t { kCounter, kGauge, kHistogram };

// How many of the registry's units make one of the text: what is counted in microseconds and shown
// in seconds has kMicro.
enum class MetricUnit : uint32_t { kOne = 1, kMilli = 1000, kMicro = 1'000'000 };

// One row of a family. Stays where it is for as long as the family has it.
class MetricSeries {
 public:
  void add(int64_t amount = 1) { value_ += amount; }
  void set(int64_t value) { value_ = value; }
  [[nodiscard]] int64_t value() const { return value_; }
  // Histograms only: the value is counted in its bucket.
  void observe(int64_t value, int64_t times = 1);
  [[nodiscard]] int64_t count() const { return count_; }

 private:
  friend class MetricFamily;
  explicit MetricSeries(const std::vector<int64_t>* bounds) : bounds_(bounds) {
    if (bounds != nullptr) buckets_.resize(bounds->size());
  }

  const std::vector<int64_t>* bounds_;  // of the family; nullptr: no histogram
  std::vector<int64_t> buckets_;        // not cumulated; what is above the last bound is in count_
  int64_t value_ = 0;                   // the sum, of a histogram
  int64_t count_ = 0;
};

class MetricFamily {
 public:
  // What has no room any more goes into one series whose labels are all "other", so that names
  // from outside cannot fill the memory.
  static constexpr size_t kSeriesMax = 2000;

  MetricFamily(MetricKind kind, std::string name, std::string help, std::vector<std::string> labels,
               MetricUnit unit, std::vector<int64_t> bounds);
  MetricFamily(const MetricFamily&) = delete;
  MetricFamily& operator=(const MetricFamily&) = delete;

  // The series with these values of the labels, in their order; made when it is new.
  // O(log series).
  MetricSeries& at(std::initializer_list<std::string_view> values = {});
  // Forgets all series: what is no longer named is absent, not zero.
  void clear() { series_.clear(); }

  [[nodiscard]] const std::string& name() const { return name_; }
  void render(std::string& text) const;
  // One row of a Markdown table: name, kind, labels, meaning.
  void describe(std::string& text) const;

 private:
  void render_histogram(const std::vector<std::string>& values, const MetricSeries& series,
                        std::string& text) const;

  MetricKind kind_;
  std::string name_;
  std::string help_;
  std::vector<std::string> labels_;
  MetricUnit unit_;
  std::vector<int64_t> bounds_;
  std::map<std::vector<std::string>, MetricSeries> series_;
};

class MetricRegistry {
 public:
  MetricFamily& counter(std::string name, std::string help, std::vector<std::string> labels = {},
                        MetricUnit unit = MetricUnit::kOne);
  MetricFamily& gauge(std::string name, std::string help, std::vector<std::string> labels = {},
                      MetricUnit unit = MetricUnit::kOne);
  // `bounds` rise, in the unit of the family; the bucket above the last one comes by itself.
  MetricFamily& histogram(std::string name, std::string help, std::vector<int64_t> bounds,
                          MetricUnit unit, std::vector<std::string> labels = {});

  // All families that have a series, in the order in which they were made. O(what it returns).
  [[nodiscard]] std::string render() const;
  [[nodiscard]] std::string describe() const;

 private:
  MetricFamily& add(MetricKind kind, std::string name, std::string help,
                    std::vector<std::string> labels, MetricUnit unit, std::vector<int64_t> bounds);

  std::deque<MetricFamily> families_;
};

// The type of the text, for HTTP.
inline constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace mainspring::report
