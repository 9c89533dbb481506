// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/job_csv.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace mainspring::sim {
namespace {

enum Column : size_t {
  kJobId,
  kSubmitSeconds,
  kDurationSeconds,
  kPods,
  kGpusPerPod,
  kGpuMilli,
  kGpuMemoryBytes,
  kGpuModels,
  kCpuMilli,
  kMemoryBytes,
  kQueue,
  kPriority,
  kMinPods,
  kTenant,
  kCheckpointSeconds,
  kRestartSeconds,
  kColumnCount,
};

constexpr std::string_view kColumnNames[] = {
    "job_id",         "submit_seconds",   "duration_seconds", "pods",      "gpus_per_pod",
    "gpu_milli",      "gpu_memory_bytes", "gpu_models",       "cpu_milli", "memory_bytes",
    "queue",          "priority",         "min_pods",         "tenant",    "checkpoint_seconds",
    "restart_seconds"};
static_assert(std::size(kColumnNames) == kColumnCount);

constexpr size_t kRequiredColumns = 3;  // the first ones

constexpr AmountRule kSeconds{.max = 10'000'000'000};  // three centuries
constexpr AmountRule kPodCount{.max = 1'000'000};
constexpr AmountRule kGpuCount{.max = 64};
constexpr AmountRule kShareMilli{.max = 1000};
constexpr AmountRule kCpu{.max = 1'000'000'000};
constexpr AmountRule kBytes{.max = int64_t{1} << 50};
constexpr AmountRule kSignedPriority{.max = 1'000'000'000, .signed_amount = true};

}  // namespace

base::Result<JobCsvReader> JobCsvReader::open(LineReader lines) {
  static_assert(kColumns == kColumnCount);
  auto csv = CsvReader::open(std::move(lines));
  if (!csv) return tl::unexpected(csv.error());
  const auto required = csv->require({kColumnNames, kColumnNames + kRequiredColumns});
  if (!required) return tl::unexpected(required.error());
  for (size_t position = 0; position < csv->header().size(); ++position) {
    const std::string& title = csv->header()[position];
    if (std::find(std::begin(kColumnNames), std::end(kColumnNames), title) ==
        std::end(kColumnNames)) {
      return base::invalid(fmt::format("{}: the column \"{}\" is not known; expected one of: {}",
                                       csv->place(position), title, fmt::join(kColumnNames, ", ")));
    }
  }
  Positions positions;
  for (const std::string_view column_name : kColumnNames) {
    positions.push_back(csv->find(column_name));
  }
  return JobCsvReader(std::move(*csv), std::move(positions));
}

base::Result<JobCsvReader> JobCsvReader::open(const std::string& path) {
  auto lines = LineReader::open(path);
  if (!lines) return tl::unexpected(lines.error());
  return open(std::move(*lines));
}

std::string_view JobCsvReader::text(size_t column) const {
  const auto position = positions_[column];
  return position ? csv_.field(*position) : std::string_view();
}

void JobCsvReader::refuse(std::string reason, size_t column, std::string message) {
  if (fault_) return;
  fault_ = Fault{std::move(reason), positions_[column].value_or(0), std::move(message)};
}

void JobCsvReader::read_amount(size_t column, AmountRule rule, int64_t& value) {
  if (!given(column) && column >= kRequiredColumns) return;
  const ParsedAmount parsed = parse_amount(text(column), rule);
  value = parsed.value;
  if (parsed.fault == AmountFault::kNone) return;
  refuse(fmt::format("{} {}", kColumnNames[column], fault_name(parsed.fault)), column,
         describe_fault(kColumnNames[column], text(column), parsed.fault, rule));
}

void JobCsvReader::read_amounts(JobRow& job) {
  read_amount(kSubmitSeconds, kSeconds, job.submit_seconds);
  read_amount(kDurationSeconds, kSeconds, job.duration_seconds);
  read_amount(kPods, kPodCount, job.pods);
  job.min_pods = job.pods;
  read_amount(kMinPods, kPodCount, job.min_pods);
  int64_t share_milli = 0;
  read_amount(kGpuMilli, kShareMilli, share_milli);
  read_amount(kGpuMemoryBytes, kBytes, job.gpu_memory_bytes);
  if (share_milli > 0) job.gpu_milli = share_milli;
  if (share_milli > 0 || job.gpu_memory_bytes > 0) job.gpus_per_pod = 1;
  read_amount(kGpusPerPod, kGpuCount, job.gpus_per_pod);
  read_amount(kCpuMilli, kCpu, job.cpu_milli);
  read_amount(kMemoryBytes, kBytes, job.memory_bytes);
  read_amount(kPriority, kSignedPriority, job.priority);
  read_amount(kCheckpointSeconds, kSeconds, job.checkpoint_seconds);
  read_amount(kRestartSeconds, kSeconds, job.restart_seconds);
}

void JobCsvReader::read_names(JobRow& job) {
  job.job_id = text(kJobId);
  job.queue = text(kQueue);
  job.tenant = text(kTenant);
  std::string_view rest = text(kGpuModels);
  while (!rest.empty()) {
    const size_t bar = std::min(rest.find('|'), rest.size());
    if (bar == 0) {
      refuse("gpu_models empty name", kGpuModels, "expected model names joined by '|'");
      return;
    }
    job.gpu_models.emplace_back(rest.substr(0, bar));
    rest.remove_prefix(std::min(bar + 1, rest.size()));
  }
}

void JobCsvReader::check(const JobRow& job) {
  if (job.job_id.empty()) {
    refuse("job_id empty", kJobId, "expected the id of the job");
  } else if (seen_ids_.contains(job.job_id)) {
    refuse("job_id repeated", kJobId, fmt::format("\"{}\" was named before", job.job_id));
  }
  if (job.pods == 0) refuse("pods zero", kPods, "expected at least one pod");
  if (job.min_pods == 0 || job.min_pods > job.pods) {
    refuse("min_pods out of range", kMinPods,
           fmt::format("min_pods must be from 1 to the number of pods, {}", job.pods));
  }
  const bool by_milli = job.gpu_milli < kShareMilli.max;
  const bool by_memory = job.gpu_memory_bytes > 0;
  if (by_milli && by_memory) {
    refuse("two kinds of share", kGpuMemoryBytes,
           "a share is given by gpu_milli or by gpu_memory_bytes, not by both");
  }
  if (job.gpus_per_pod == 0 && (by_milli || by_memory)) {
    refuse("share of no GPU", kGpusPerPod, "a share needs gpus_per_pod of at least 1");
  }
}

base::Result<std::optional<JobRow>> JobCsvReader::next() {
  while (true) {
    const auto found = csv_.next();
    if (!found) return tl::unexpected(found.error());
    if (!*found) return std::nullopt;
    fault_.reset();
    JobRow job;
    if (csv_.has_header_width()) {
      read_names(job);
      read_amounts(job);
      check(job);
    } else {
      fault_ =
          Fault{"wrong number of fields", 0,
                fmt::format("expected {} fields, found {}", csv_.header().size(), csv_.width())};
    }
    if (!fault_) {
      seen_ids_.insert(job.job_id);
      tally_.count_used();
      return job;
    }
    tally_.count_skipped(std::move(fault_->reason), csv_.place(fault_->position),
                         std::move(fault_->message));
  }
}

}  // namespace mainspring::sim
