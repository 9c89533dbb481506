// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/philly_trace.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "mainspring/sim/trace_amount.h"

namespace mainspring::sim {
namespace {

enum Column : size_t { kTimestamp, kDuration, kGpus, kCluster };

constexpr std::string_view kColumnNames[] = {"timestamp", "duration", "num_gpus", "cluster"};

constexpr int64_t kDurationMax = 10'000'000'000;
constexpr int64_t kGpusMax = 100'000;

// "2017-10-09 07:01:55"; nothing when it is no time.
std::optional<int64_t> parse_time(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00 00:00:00";
  if (text.size() != kForm.size()) return std::nullopt;
  for (size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == '0' ? !digit : text[i] != kForm[i]) return std::nullopt;
  }
  const auto number = [text](size_t from, size_t count) {
    int value = 0;
    for (size_t i = from; i < from + count; ++i) value = 10 * value + (text[i] - '0');
    return value;
  };
  const std::chrono::year_month_day day{std::chrono::year{number(0, 4)},
                                        std::chrono::month{static_cast<unsigned>(number(5, 2))},
                                        std::chrono::day{static_cast<unsigned>(number(8, 2))}};
  const int hour = number(11, 2);
  const int minute = number(14, 2);
  const int second = number(17, 2);
  if (!day.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const int64_t days = std::chrono::sys_days{day}.time_since_epoch().count();
  return ((days * 24 + hour) * 60 + minute) * 60 + second;
}

}  // namespace

base::Result<PhillyReader> PhillyReader::open(LineReader lines) {
  auto csv = CsvReader::open(std::move(lines));
  if (!csv) return tl::unexpected(csv.error());
  const auto found = csv->require({std::begin(kColumnNames), std::end(kColumnNames)});
  if (!found) return tl::unexpected(found.error());
  std::array<size_t, kColumns> positions{};
  std::copy(found->begin(), found->end(), positions.begin());
  return PhillyReader(std::move(*csv), positions);
}

base::Result<PhillyReader> PhillyReader::open(const std::string& path) {
  auto lines = LineReader::open(path);
  if (!lines) return tl::unexpected(lines.error());
  return open(std::move(*lines));
}

void PhillyReader::skip(size_t column, std::string reason, std::string message) {
  const size_t position = csv_.has_header_width() ? positions_[column] : 0;
  tally_.count_skipped(std::move(reason), csv_.place(position), std::move(message));
}

bool PhillyReader::read_amount(size_t column, int64_t max, int64_t& value) {
  const AmountRule rule{.max = max};
  const std::string_view text = csv_.field(positions_[column]);
  const ParsedAmount parsed = parse_amount(text, rule);
  value = parsed.value;
  const std::string_view name = kColumnNames[column];
  if (parsed.fault != AmountFault::kNone) {
    skip(column, fmt::format("{} {}", name, fault_name(parsed.fault)),
         describe_fault(name, text, parsed.fault, rule));
    return false;
  }
  if (value > 0) return true;
  skip(column, fmt::format("{} zero", name), fmt::format("{} must be above zero", name));
  return false;
}

base::Result<std::optional<PhillyJob>> PhillyReader::next() {
  while (true) {
    const auto more = csv_.next();
    if (!more) return tl::unexpected(more.error());
    if (!*more) return std::nullopt;
    PhillyJob job{.row = ++rows_};
    if (!csv_.has_header_width()) {
      skip(kTimestamp, "wrong number of fields",
           fmt::format("expected {} fields, found {}", csv_.header().size(), csv_.width()));
      continue;
    }
    const auto arrived = parse_time(csv_.field(positions_[kTimestamp]));
    if (!arrived) {
      skip(kTimestamp, "timestamp not a time",
           fmt::format("expected a time such as 2017-10-09 07:01:55, found \"{}\"",
                       csv_.field(positions_[kTimestamp])));
      continue;
    }
    job.arrived_seconds = *arrived;
    if (!read_amount(kDuration, kDurationMax, job.duration_seconds)) continue;
    if (!read_amount(kGpus, kGpusMax, job.gpus)) continue;
    job.cluster = csv_.field(positions_[kCluster]);
    if (job.cluster.empty()) {
      skip(kCluster, "cluster empty", "expected the name of a virtual cluster");
      continue;
    }
    tally_.count_used();
    return job;
  }
}

base::Result<std::vector<PhillyJob>> read_philly(PhillyReader reader, RowTally& tally) {
  std::vector<PhillyJob> jobs;
  while (true) {
    auto job = reader.next();
    if (!job) return tl::unexpected(job.error());
    if (!job->has_value()) break;
    jobs.push_back(std::move(**job));
  }
  tally.add(reader.tally());
  std::ranges::stable_sort(jobs, {}, &PhillyJob::arrived_seconds);
  return jobs;
}

}  // namespace mainspring::sim
