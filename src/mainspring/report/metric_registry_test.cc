// SPDX-License-Identifier: Apache-2.0
#include "mainspring/report/metric_registry.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "mainspring/report/published_text.h"

namespace mainspring::report {
namespace {

TEST(MetricRegistry, SaysWhatPrometheusReads) {
  MetricRegistry registry;
  MetricFamily& binds = registry.counter("x_binds_total", "Pods.", {"queue", "how"});
  binds.at({"b", "x"}).add();
  binds.at({"a", "y"}).add(41);
  binds.at({"a", "y"}).add();
  MetricFamily& score = registry.gauge("x_score", "A part.", {}, MetricUnit::kMilli);
  score.at().set(-1500);
  MetricFamily& wait = registry.histogram("x_seconds", "A time.", {500, 1000, 2'000'000},
                                          MetricUnit::kMicro, {"queue"});
  for (const int64_t micros : {500, 501, 1'000'000, 5'000'000}) wait.at({"a"}).observe(micros);
  EXPECT_EQ(registry.render(),
            "# HELP x_binds_total Pods.\n"
            "# TYPE x_binds_total counter\n"
            "x_binds_total{queue=\"a\",how=\"y\"} 42\n"
            "x_binds_total{queue=\"b\",how=\"x\"} 1\n"
            "# HELP x_score A part.\n"
            "# TYPE x_score gauge\n"
            "x_score -1.5\n"
            "# HELP x_seconds A time.\n"
            "# TYPE x_seconds histogram\n"
            "x_seconds_bucket{queue=\"a\",le=\"0.0005\"} 1\n"
            "x_seconds_bucket{queue=\"a\",le=\"0.001\"} 2\n"
            "x_seconds_bucket{queue=\"a\",le=\"2\"} 3\n"
            "x_seconds_bucket{queue=\"a\",le=\"+Inf\"} 4\n"
            "x_seconds_sum{queue=\"a\"} 6.001001\n"
            "x_seconds_count{queue=\"a\"} 4\n");
}

TEST(MetricRegistry, WhatNobodySaidAnythingOfIsAbsent) {
  MetricRegistry registry;
  MetricFamily& family = registry.gauge("x", "X.", {"queue"});
  EXPECT_EQ(registry.render(), "");
  family.at({"a"}).set(1);
  EXPECT_NE(registry.render(), "");
  family.clear();
  EXPECT_EQ(registry.render(), "");
}

TEST(MetricRegistry, LabelsAndHelpAreEscaped) {
  MetricRegistry registry;
  registry.gauge("x", "One \\ two\nthree \"four\".", {"a"}).at({"q\"\\\n"}).set(1);
  EXPECT_EQ(registry.render(),
            "# HELP x One \\\\ two\\nthree \"four\".\n"
            "# TYPE x gauge\n"
            "x{a=\"q\\\"\\\\\\n\"} 1\n");
}

TEST(MetricRegistry, NamesFromOutsideDoNotFillTheMemory) {
  MetricRegistry registry;
  MetricFamily& family = registry.counter("x_total", "X.", {"queue", "how"});
  for (int i = 0; i < 10'000; ++i) family.at({"queue-" + std::to_string(i), "how"}).add();
  const std::string text = registry.render();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2 + 2000 + 1);
  EXPECT_NE(text.find("x_total{queue=\"other\",how=\"other\"} 8000\n"), std::string::npos);
}

TEST(MetricRegistry, ValuesAtTheEndsOfTheirRange) {
  MetricRegistry registry;
  MetricFamily& family = registry.gauge("x", "X.", {"at"}, MetricUnit::kMicro);
  family.at({"low"}).set(std::numeric_limits<int64_t>::min());
  family.at({"high"}).set(std::numeric_limits<int64_t>::max());
  const std::string text = registry.render();
  EXPECT_NE(text.find("{at=\"low\"} -9223372036854.775808\n"), std::string::npos) << text;
  EXPECT_NE(text.find("{at=\"high\"} 9223372036854.775807\n"), std::string::npos) << text;
}

TEST(PublishedText, IsThereFromTheStartAndIsReplacedWhole) {
  PublishedText text;
  EXPECT_EQ(*text.get(), "");
  const auto before = text.get();
  text.publish("new");
  EXPECT_EQ(*before, "");
  EXPECT_EQ(*text.get(), "new");
}

}  // namespace
}  // namespace mainspring::report
