// SPDX-License-Identifier: Apache-2.0
#include "mainspring/cli/day_story.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "mainspring/cli/terminal.h"
#include "mainspring/config/amount.h"

namespace mainspring::cli {
namespace {

bool waits(const sim::JobRecord& job) {
  return job.started_at == base::Instant::never() && !job.removed;
}

std::string minutes_text(int64_t ms) {
  const int64_t seconds = (ms + 500) / 1000;
  if (seconds < 120) return fmt::format("{}s", seconds);
  if (seconds < 7200) return fmt::format("{}m", (seconds + 30) / 60);
  return fmt::format("{:.1f}h", static_cast<double>(seconds) / 3600);
}

// Sets the flag and says whether it was not set before.
bool newly(std::vector<bool>& flags, size_t at, bool value) {
  const bool before = flags[at];
  flags[at] = value;
  return value && !before;
}

int64_t percent_of(const DaySample& sample) {
  if (sample.capacity_milli == 0) return 0;
  return (sample.held_milli * 100 + sample.capacity_milli / 2) / sample.capacity_milli;
}

// The samples that fall into one column of a picture.
std::vector<DaySample> column_of(const std::vector<DaySample>& samples, size_t column,
                                 size_t columns) {
  const size_t first = samples.size() * column / columns;
  const size_t last = std::max(first + 1, samples.size() * (column + 1) / columns);
  const auto begin = samples.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(last - first)};
}

std::string hours_line(const std::vector<DaySample>& samples, size_t columns) {
  std::string line(columns + 2, ' ');
  const int64_t span_ms = std::max<int64_t>(samples.back().at.ms, 1);
  for (int64_t hour = 0; hour * 3'600'000 <= span_ms; hour += 3) {
    const auto at = static_cast<size_t>(hour * 3'600'000 * static_cast<int64_t>(columns) / span_ms);
    const std::string label = std::to_string(hour);
    if (at + label.size() <= line.size()) line.replace(at, label.size(), label);
  }
  return line + "h";
}

struct KindRow {
  int64_t submitted = 0;
  int64_t finished = 0;
  int64_t waiting = 0;
  int64_t gpu_milli = 0;
  std::vector<int64_t> waits_ms;
};

int64_t rank(std::vector<int64_t>& values, size_t percent) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, values.size() * percent / 100)];
}

}  // namespace

void DayWatcher::sample() {
  const sim::Simulator& simulator = run_.simulator();
  const sim::TrueWorld& world = simulator.world();
  const auto& nodes = world.nodes();
  node_down_.resize(nodes.size());
  device_lost_.resize(nodes.size());
  device_taken_.resize(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    faults_.nodes_lost += newly(node_down_, i, !nodes[i].up) ? 1 : 0;
    device_lost_[i].resize(nodes[i].devices.size());
    device_taken_[i].resize(nodes[i].devices.size());
    for (size_t d = 0; d < nodes[i].devices.size(); ++d) {
      const sim::WorldDevice& device = nodes[i].devices[d];
      faults_.devices_lost += newly(device_lost_[i], d, !device.spec.healthy) ? 1 : 0;
      faults_.devices_taken += newly(device_taken_[i], d, device.foreign_memory_bytes > 0) ? 1 : 0;
    }
  }
  const auto& jobs = simulator.jobs();
  samples_.push_back({.at = simulator.now(),
                      .held_milli = world.held_milli(),
                      .capacity_milli = world.capacity_milli(),
                      .waiting_jobs = std::count_if(jobs.begin(), jobs.end(), waits)});
}

std::vector<std::string> DayWatcher::waiting() const {
  std::vector<std::string> ids;
  for (const sim::JobRecord& job : run_.simulator().jobs()) {
    if (waits(job)) ids.push_back(job.id);
  }
  return ids;
}

std::string occupancy_picture(const std::vector<DaySample>& samples, size_t columns, size_t rows) {
  if (samples.empty()) return "";
  columns = std::min(columns, samples.size());
  std::vector<int64_t> percents;
  std::vector<int64_t> waiting;
  for (size_t column = 0; column < columns; ++column) {
    int64_t percent = 0;
    int64_t most = 0;
    const std::vector<DaySample> part = column_of(samples, column, columns);
    for (const DaySample& sample : part) {
      percent += percent_of(sample);
      most = std::max(most, sample.waiting_jobs);
    }
    percents.push_back(percent / static_cast<int64_t>(part.size()));
    waiting.push_back(most);
  }
  std::string picture;
  const auto levels = static_cast<int64_t>(rows);
  for (int64_t level = levels; level > 0; --level) {
    picture += fmt::format("{:>5} % |", level * 100 / levels);
    for (const int64_t percent : percents) {
      // Half a level and more is drawn.
      picture += percent * levels * 2 >= (2 * level - 1) * 100 ? '#' : ' ';
    }
    picture += "\n";
  }
  picture += "        +" + std::string(columns, '-') + "\n";
  picture += "         " + hours_line(samples, columns) + "\n";
  const int64_t most = std::max<int64_t>(1, *std::max_element(waiting.begin(), waiting.end()));
  constexpr std::string_view kShades = " .:-=+*%@";
  picture += "waiting |";
  for (const int64_t count : waiting) {
    const int64_t shade = (count * 8 + most - 1) / most;
    picture += kShades[static_cast<size_t>(shade)];
  }
  return picture + fmt::format("\n         blank: no job waits, @: {} wait\n", most);
}

std::string jobs_table(const std::vector<sim::JobRecord>& jobs) {
  std::map<std::string, KindRow> kinds;
  for (const sim::JobRecord& job : jobs) {
    KindRow& row = kinds[job.name];
    ++row.submitted;
    row.gpu_milli += job.gpu_milli;
    row.finished += job.finished_at != base::Instant::never() ? 1 : 0;
    row.waiting += waits(job) ? 1 : 0;
    if (!waits(job) && job.started_at != base::Instant::never()) {
      row.waits_ms.push_back((job.started_at - job.submitted_at).ms);
    }
  }
  Table table({"jobs", "submitted", "started", "finished", "never started", "GPUs each",
               "wait: median", "90 %", "longest"});
  for (auto& [name, row] : kinds) {
    const bool any = !row.waits_ms.empty();
    table.add({name, grouped(row.submitted), grouped(static_cast<int64_t>(row.waits_ms.size())),
               grouped(row.finished), grouped(row.waiting),
               config::format_amount(row.gpu_milli / row.submitted, config::AmountKind::kRatio),
               any ? minutes_text(rank(row.waits_ms, 50)) : "-",
               any ? minutes_text(rank(row.waits_ms, 90)) : "-",
               any ? minutes_text(rank(row.waits_ms, 100)) : "-"});
  }
  return table.text();
}

std::string survived_text(const sim::RunStatistics& statistics, const FaultsSeen& faults,
                          const sim::Checker& checker) {
  std::string text = fmt::format(
      "{} nodes and {} devices were lost, strangers took {} devices, {} bindings were refused.\n",
      faults.nodes_lost, faults.devices_lost, faults.devices_taken, statistics.refused_binds);
  text +=
      fmt::format("{} lost pods were placed anew; {} gangs were released whole and tried again.\n",
                  grouped(statistics.repairs), grouped(statistics.counters.releases));
  const std::string verdict =
      checker.violation_count() == 0
          ? toned("no GPU was given away twice, every gang ran whole or held nothing", Tone::kGood)
          : toned(fmt::format("{} invariants were violated", checker.violation_count()),
                  Tone::kBad);
  return text +
         fmt::format("Checked after each of {} steps: {}.\n", grouped(checker.steps()), verdict);
}

}  // namespace mainspring::cli
