// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mainspring/base/result.h"
#include "mainspring/sim/csv_reader.h"
#include "mainspring/sim/line_reader.h"
#include "mainspring/sim/row_tally.h"
#include "mainspring/sim/trace_amount.h"

namespace mainspring::sim {

// A job of the plain CSV format, one row each. The header names the columns, in any order:
//
//   job_id            required  unique in the file
//   submit_seconds    required  from the start of the run
//   duration_seconds  required  run time once all pods have started
//   pods              1         equal pods of the job, at least 1
//   gpus_per_pod      0         1 where a share is given
//   gpu_milli         1000      thousandths of each GPU; below 1000: a share; 0: as if empty
//   gpu_memory_bytes  0         a share by memory instead, of each GPU
//   gpu_models        any       models joined by '|'
//   cpu_milli         0         per pod
//   memory_bytes      0         per pod
//   queue             empty     the scenario's default queue
//   priority          0         may be negative
//   min_pods          pods      how many must run together
//   tenant            empty     who submits it
//   checkpoint_seconds  0       it saves its work so often; 0: never
//   restart_seconds   0         what being stopped costs it besides the work not saved
//
// An empty field of an optional column means the default. A column with another name is an error.
struct JobRow {
  std::string job_id;
  int64_t submit_seconds = 0;
  int64_t duration_seconds = 0;
  int64_t pods = 1;
  int64_t min_pods = 1;
  int64_t gpus_per_pod = 0;
  int64_t gpu_milli = 1000;
  int64_t gpu_memory_bytes = 0;
  std::vector<std::string> gpu_models;
  int64_t cpu_milli = 0;
  int64_t memory_bytes = 0;
  std::string queue;
  int64_t priority = 0;
  std::string tenant;
  int64_t checkpoint_seconds = 0;
  int64_t restart_seconds = 0;
};

// Streams the jobs of a file, plain or gzip; only the ids seen are kept. A row that cannot be used
// is counted in the tally with its place and passed over.
class JobCsvReader {
 public:
  static base::Result<JobCsvReader> open(LineReader lines);
  static base::Result<JobCsvReader> open(const std::string& path);

  // The next usable job; nothing at the end. The error is about the file as such.
  base::Result<std::optional<JobRow>> next();

  [[nodiscard]] const RowTally& tally() const { return tally_; }

 private:
  struct Fault {
    std::string reason;
    size_t position = 0;
    std::string message;
  };
  // Where each known column stands; nothing for an absent one.
  static constexpr size_t kColumns = 16;
  using Positions = std::vector<std::optional<size_t>>;

  JobCsvReader(CsvReader csv, Positions positions)
      : csv_(std::move(csv)), positions_(std::move(positions)) {}
  [[nodiscard]] std::string_view text(size_t column) const;
  [[nodiscard]] bool given(size_t column) const { return !text(column).empty(); }
  void read_amount(size_t column, AmountRule rule, int64_t& value);
  void read_amounts(JobRow& job);
  void read_names(JobRow& job);
  void check(const JobRow& job);
  void refuse(std::string reason, size_t column, std::string message);

  CsvReader csv_;
  Positions positions_;
  std::optional<Fault> fault_;  // the first one of the current row
  std::set<std::string, std::less<>> seen_ids_;
  RowTally tally_;
};

}  // namespace mainspring::sim
