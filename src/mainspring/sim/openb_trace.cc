// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/openb_trace.h"

#include <set>

#include <fmt/format.h>

#include "mainspring/sim/csv_reader.h"
#include "mainspring/sim/trace_amount.h"

namespace mainspring::sim {
namespace {

constexpr AmountRule kCpuMilli{.max = 1'000'000'000};
constexpr AmountRule kMemoryMib{.max = int64_t{1} << 30};
constexpr AmountRule kGpuCount{.max = 64};
constexpr AmountRule kGpuMilli{.max = kMilliPerGpu};
constexpr AmountRule kSeconds{.max = int64_t{1} << 40};
constexpr uint32_t kRowsMax = 5'000'000;

// Reads the fields of one row and keeps the first fault that it meets.
class RowFields {
 public:
  RowFields(const CsvReader& csv, RowTally& tally) : csv_(csv), tally_(tally) {
    if (csv_.has_header_width()) return;
    refuse("wrong number of fields", 0,
           fmt::format("expected {} fields, found {}", csv_.header().size(), csv_.width()));
  }

  [[nodiscard]] bool usable() const { return usable_; }

  int64_t amount(size_t position, AmountRule rule) {
    if (!usable_) return 0;
    const std::string_view text = csv_.field(position);
    const ParsedAmount parsed = parse_amount(text, rule);
    if (parsed.fault == AmountFault::kNone) return parsed.value;
    const std::string& title = csv_.header()[position];
    refuse(fmt::format("{} {}", title, fault_name(parsed.fault)), position,
           describe_fault(title, text, parsed.fault, rule));
    return 0;
  }

  std::optional<int64_t> optional_amount(std::optional<size_t> position, AmountRule rule) {
    if (!usable_ || !position || csv_.field(*position).empty()) return std::nullopt;
    return amount(*position, rule);
  }

  std::string text(std::optional<size_t> position) {
    return usable_ && position ? std::string(csv_.field(*position)) : std::string();
  }

  std::string new_name(size_t position, std::set<std::string, std::less<>>& seen) {
    std::string name = text(position);
    if (!usable_) return name;
    if (name.empty()) {
      refuse("name empty", position, "expected a name");
    } else if (!seen.insert(name).second) {
      refuse("name repeated", position, fmt::format("\"{}\" was named before", name));
    }
    return name;
  }

  void refuse(std::string reason, size_t position, std::string message) {
    if (!usable_) return;
    usable_ = false;
    tally_.count_skipped(std::move(reason), csv_.place(position), std::move(message));
  }

 private:
  const CsvReader& csv_;
  RowTally& tally_;
  bool usable_ = true;
};

// Calls `take(row_number)` for every data row.
template <class Take>
base::Status for_each_row(CsvReader& csv, Take take) {
  for (uint32_t row = 0;; ++row) {
    const auto found = csv.next();
    if (!found) return tl::unexpected(found.error());
    if (!*found) return {};
    if (row == kRowsMax) {
      return base::invalid(fmt::format("{}: more than {} rows", csv.place(0), kRowsMax));
    }
    take(row);
  }
}

}  // namespace

base::Result<OpenbNodeList> read_openb_nodes(LineReader lines) {
  auto csv = CsvReader::open(std::move(lines));
  if (!csv) return tl::unexpected(csv.error());
  const auto at = csv->require({"sn", "cpu_milli", "memory_mib", "gpu", "model"});
  if (!at) return tl::unexpected(at.error());

  OpenbNodeList list;
  std::set<std::string, std::less<>> seen;
  const auto done = for_each_row(*csv, [&](uint32_t row) {
    RowFields fields(*csv, list.tally);
    OpenbNode node{.row = row,
                   .name = fields.new_name((*at)[0], seen),
                   .cpu_milli = fields.amount((*at)[1], kCpuMilli),
                   .memory_mib = fields.amount((*at)[2], kMemoryMib),
                   .gpu_count = fields.amount((*at)[3], kGpuCount),
                   .gpu_model = fields.text((*at)[4])};
    if (node.gpu_count > 0 && node.gpu_model.empty()) {
      fields.refuse("model empty", (*at)[4], "expected the model of the node's GPUs");
    }
    if (!fields.usable()) return;
    list.tally.count_used();
    list.rows.push_back(std::move(node));
  });
  if (!done) return tl::unexpected(done.error());
  return list;
}

base::Result<OpenbPodList> read_openb_pods(LineReader lines) {
  auto csv = CsvReader::open(std::move(lines));
  if (!csv) return tl::unexpected(csv.error());
  const auto at = csv->require({"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"});
  if (!at) return tl::unexpected(at.error());
  const auto spec = csv->find("gpu_spec");
  const auto qos = csv->find("qos");
  const auto phase = csv->find("pod_phase");
  const auto created = csv->find("creation_time");
  const auto deleted = csv->find("deletion_time");
  const auto scheduled = csv->find("scheduled_time");

  OpenbPodList list;
  std::set<std::string, std::less<>> seen;
  const auto done = for_each_row(*csv, [&](uint32_t row) {
    RowFields fields(*csv, list.tally);
    OpenbPod pod{.row = row,
                 .name = fields.new_name((*at)[0], seen),
                 .cpu_milli = fields.amount((*at)[1], kCpuMilli),
                 .memory_mib = fields.amount((*at)[2], kMemoryMib),
                 .gpu_count = fields.amount((*at)[3], kGpuCount),
                 .gpu_milli = fields.amount((*at)[4], kGpuMilli),
                 .gpu_spec = fields.text(spec),
                 .qos = fields.text(qos),
                 .phase = fields.text(phase),
                 .created_seconds = fields.optional_amount(created, kSeconds),
                 .deleted_seconds = fields.optional_amount(deleted, kSeconds),
                 .scheduled_seconds = fields.optional_amount(scheduled, kSeconds)};
    if ((pod.gpu_count == 0) != (pod.gpu_milli == 0)) {
      fields.refuse("gpu_milli and num_gpu disagree", (*at)[4],
                    "num_gpu and gpu_milli must both be zero or both be positive");
    }
    if (pod.gpu_count > 1 && pod.gpu_milli != kMilliPerGpu) {
      fields.refuse("share of several GPUs", (*at)[4],
                    "a pod with several GPUs must take each of them whole (gpu_milli 1000)");
    }
    if (!fields.usable()) return;
    list.tally.count_used();
    list.rows.push_back(std::move(pod));
  });
  if (!done) return tl::unexpected(done.error());
  return list;
}

base::Result<OpenbNodeList> read_openb_nodes(const std::string& path) {
  auto lines = LineReader::open(path);
  if (!lines) return tl::unexpected(lines.error());
  return read_openb_nodes(std::move(*lines));
}

base::Result<OpenbPodList> read_openb_pods(const std::string& path) {
  auto lines = LineReader::open(path);
  if (!lines) return tl::unexpected(lines.error());
  return read_openb_pods(std::move(*lines));
}

}  // namespace mainspring::sim
