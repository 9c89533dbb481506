// SPDX-License-Identifier: Apache-2.0
#include "mainspring/report/metric_registry.h"

#include <algorithm>
#include <utility>

#include "mainspring/base/check.h"

namespace mainspring::report {
namespace {

constexpr std::string_view kOther = "other";

std::string_view kind_name(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return "counter";
    case MetricKind::kGauge:
      return "gauge";
    case MetricKind::kHistogram:
      break;
  }
  return "histogram";
}

// Letters, digits and _, and no digit first; a colon is for rules that people write.
bool is_metric_name(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::string escaped(std::string_view text, bool quotes) {
  std::string result;
  for (const char character : text) {
    if (character == '\\') {
      result += "\\\\";
    } else if (character == '\n') {
      result += "\\n";
    } else if (character == '"' && quotes) {
      result += "\\\"";
    } else {
      result += character;
    }
  }
  return result;
}

// Exactly, without an exponent: 1500 of a thousandth is 1.5.
std::string decimal(int64_t value, MetricUnit unit) {
  const auto scale = static_cast<uint64_t>(unit);
  const auto magnitude =
      value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
  std::string text = (value < 0 ? "-" : "") + std::to_string(magnitude / scale);
  const uint64_t rest = magnitude % scale;
  if (rest == 0) return text;
  const std::string digits = std::to_string(scale + rest);
  text += '.';
  text.append(digits, 1, digits.find_last_not_of('0'));
  return text;
}

std::string label_text(const std::vector<std::string>& labels,
                       const std::vector<std::string>& values, std::string_view bound = {}) {
  std::string text;
  for (size_t i = 0; i < labels.size(); ++i) {
    text += (i == 0 ? "" : ",") + labels[i] + "=\"" + escaped(values[i], true) + '"';
  }
  if (!bound.empty()) {
    text += std::string(text.empty() ? "" : ",") + "le=\"" + std::string(bound) + '"';
  }
  return text.empty() ? text : '{' + text + '}';
}

}  // namespace

void MetricSeries::observe(int64_t value, int64_t times) {
  MAINSPRING_CHECK(bounds_ != nullptr, "only a histogram observes");
  const auto bucket = std::ranges::lower_bound(*bounds_, value) - bounds_->begin();
  if (bucket < static_cast<std::ptrdiff_t>(buckets_.size())) {
    buckets_[static_cast<size_t>(bucket)] += times;
  }
  value_ += value * times;
  count_ += times;
}

MetricFamily::MetricFamily(MetricKind kind, std::string name, std::string help,
                           std::vector<std::string> labels, MetricUnit unit,
                           std::vector<int64_t> bounds)
    : kind_(kind),
      name_(std::move(name)),
      help_(std::move(help)),
      labels_(std::move(labels)),
      unit_(unit),
      bounds_(std::move(bounds)) {
  MAINSPRING_CHECK(is_metric_name(name_), "a metric has a name that Prometheus refuses");
  MAINSPRING_CHECK(std::ranges::all_of(labels_, is_metric_name), "a label has such a name");
  MAINSPRING_CHECK(std::ranges::is_sorted(bounds_), "the bounds of a histogram rise");
}

MetricSeries& MetricFamily::at(std::initializer_list<std::string_view> values) {
  MAINSPRING_CHECK(values.size() == labels_.size(), "a series has one value for each label");
  std::vector<std::string> key(values.begin(), values.end());
  auto found = series_.find(key);
  if (found != series_.end()) return found->second;
  if (series_.size() >= kSeriesMax) key.assign(labels_.size(), std::string(kOther));
  const auto* bounds = kind_ == MetricKind::kHistogram ? &bounds_ : nullptr;
  return series_.emplace(std::move(key), MetricSeries(bounds)).first->second;
}

void MetricFamily::render_histogram(const std::vector<std::string>& values,
                                    const MetricSeries& series, std::string& text) const {
  int64_t below = 0;
  for (size_t i = 0; i < bounds_.size(); ++i) {
    below += series.buckets_[i];
    text += name_ + "_bucket" + label_text(labels_, values, decimal(bounds_[i], unit_)) + ' ' +
            std::to_string(below) + '\n';
  }
  const std::string labels = label_text(labels_, values);
  text += name_ + "_bucket" + label_text(labels_, values, "+Inf") + ' ' +
          std::to_string(series.count_) + '\n';
  text += name_ + "_sum" + labels + ' ' + decimal(series.value_, unit_) + '\n';
  text += name_ + "_count" + labels + ' ' + std::to_string(series.count_) + '\n';
}

void MetricFamily::render(std::string& text) const {
  if (series_.empty()) return;
  text += "# HELP " + name_ + ' ' + escaped(help_, false) + '\n';
  text += "# TYPE " + name_ + ' ' + std::string(kind_name(kind_)) + '\n';
  for (const auto& [values, series] : series_) {
    if (kind_ == MetricKind::kHistogram) {
      render_histogram(values, series, text);
    } else {
      text += name_ + label_text(labels_, values) + ' ' + decimal(series.value_, unit_) + '\n';
    }
  }
}

void MetricFamily::describe(std::string& text) const {
  text += "| `" + name_ + "` | " + std::string(kind_name(kind_)) + " | ";
  for (size_t i = 0; i < labels_.size(); ++i) text += (i == 0 ? "`" : ", `") + labels_[i] + '`';
  text += " | " + help_ + " |\n";
}

MetricFamily& MetricRegistry::add(MetricKind kind, std::string name, std::string help,
                                  std::vector<std::string> labels, MetricUnit unit,
                                  std::vector<int64_t> bounds) {
  MAINSPRING_CHECK(std::ranges::find(families_, name, &MetricFamily::name) == families_.end(),
                   "two metrics have one name");
  return families_.emplace_back(kind, std::move(name), std::move(help), std::move(labels), unit,
                                std::move(bounds));
}

MetricFamily& MetricRegistry::counter(std::string name, std::string help,
                                      std::vector<std::string> labels, MetricUnit unit) {
  return add(MetricKind::kCounter, std::move(name), std::move(help), std::move(labels), unit, {});
}

MetricFamily& MetricRegistry::gauge(std::string name, std::string help,
                                    std::vector<std::string> labels, MetricUnit unit) {
  return add(MetricKind::kGauge, std::move(name), std::move(help), std::move(labels), unit, {});
}

MetricFamily& MetricRegistry::histogram(std::string name, std::string help,
                                        std::vector<int64_t> bounds, MetricUnit unit,
                                        std::vector<std::string> labels) {
  return add(MetricKind::kHistogram, std::move(name), std::move(help), std::move(labels), unit,
             std::move(bounds));
}

std::string MetricRegistry::render() const {
  std::string text;
  for (const MetricFamily& family : families_) family.render(text);
  return text;
}

std::string MetricRegistry::describe() const {
  std::string text = "| metric | kind | labels | meaning |\n|---|---|---|---|\n";
  for (const MetricFamily& family : families_) family.describe(text);
  return text;
}

}  // namespace mainspring::report
