// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/result.h"
#include "mainspring/sim/line_reader.h"

namespace mainspring::sim {

// Streams the rows of a comma-separated file with a header line (RFC 4180 without line breaks
// inside quotes). Column order is free; the header decides. Blank lines are passed over.
//
// Errors are about the file as such: no header, a column named twice, a quote that does not close.
// A row of the wrong width is given to the caller, who says which rows can be used.
class CsvReader {
 public:
  static base::Result<CsvReader> open(LineReader lines);

  // Moves to the next row; false at the end.
  base::Result<bool> next();

  [[nodiscard]] const std::vector<std::string>& header() const { return header_; }
  [[nodiscard]] std::optional<size_t> find(std::string_view column_name) const;
  // The position of a column that must be there; the error names the file and all missing columns.
  [[nodiscard]] base::Result<std::vector<size_t>> require(
      const std::vector<std::string_view>& column_names) const;

  [[nodiscard]] bool has_header_width() const { return fields_.size() == header_.size(); }
  [[nodiscard]] size_t width() const { return fields_.size(); }
  [[nodiscard]] std::string_view field(size_t position) const { return fields_[position].text; }
  // Where the field starts in its line, from 1, in bytes.
  [[nodiscard]] int64_t column(size_t position) const { return fields_[position].column; }
  [[nodiscard]] int64_t line() const { return lines_.line_number(); }
  [[nodiscard]] const std::string& name() const { return lines_.name(); }
  // "file:line:column" of a field of the current row.
  [[nodiscard]] std::string place(size_t position) const;

 private:
  struct Field {
    std::string_view text;
    int64_t column = 1;
  };

  explicit CsvReader(LineReader lines) : lines_(std::move(lines)) {}
  base::Status split(std::string_view line);
  base::Result<size_t> split_quoted(std::string_view line, size_t start);

  LineReader lines_;
  std::vector<std::string> header_;
  std::vector<Field> fields_;
  std::vector<std::string> unquoted_;  // backing of fields that had doubled quotes
};

}  // namespace mainspring::sim
