// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mainspring/base/result.h"
#include "mainspring/sim/csv_reader.h"
#include "mainspring/sim/row_tally.h"

// The public trace of Microsoft's Philly cluster of 2017, as the authors of Pollux and Sia
// flattened it: timestamp (local time, "2017-10-09 07:01:55"), duration (seconds), num_gpus,
// gpu_time, cluster (the virtual cluster that paid). Plain or gzip; rows are in no order.

namespace mainspring::sim {

struct PhillyJob {
  int64_t row = 0;              // data row of the file, from 1
  int64_t arrived_seconds = 0;  // since 1970, as if local time were UTC: it does not say which zone
  int64_t duration_seconds = 0;
  int64_t gpus = 0;
  std::string cluster;
};

// Streams the rows. One that cannot be used is counted in the tally with its place and passed over.
class PhillyReader {
 public:
  // Errors: a file that is missing or damaged, or has not these columns.
  static base::Result<PhillyReader> open(LineReader lines);
  static base::Result<PhillyReader> open(const std::string& path);

  // The next usable job; nothing at the end.
  base::Result<std::optional<PhillyJob>> next();

  [[nodiscard]] const RowTally& tally() const { return tally_; }

 private:
  static constexpr size_t kColumns = 4;

  PhillyReader(CsvReader csv, const std::array<size_t, kColumns>& positions)
      : csv_(std::move(csv)), positions_(positions) {}
  [[nodiscard]] bool read_amount(size_t column, int64_t max, int64_t& value);
  void skip(size_t column, std::string reason, std::string message);

  CsvReader csv_;
  std::array<size_t, kColumns> positions_{};
  int64_t rows_ = 0;
  RowTally tally_;
};

// All jobs by arrival; those of one second in the order of the file.
base::Result<std::vector<PhillyJob>> read_philly(PhillyReader reader, RowTally& tally);

}  // namespace mainspring::sim
