// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/csv_reader.h"

#include <algorithm>

#include <fmt/format.h>

namespace mainspring::sim {
namespace {

// A row never has more fields than this; it bounds what a hostile line of commas can cost.
constexpr size_t kFieldsMax = 1024;

}  // namespace

base::Result<CsvReader> CsvReader::open(LineReader lines) {
  CsvReader reader(std::move(lines));
  const auto found = reader.next();
  if (!found) return tl::unexpected(found.error());
  if (!*found) {
    return base::invalid(
        fmt::format("{}:1:1: expected a header line, the file is empty", reader.name()));
  }
  for (size_t position = 0; position < reader.width(); ++position) {
    const std::string_view title = reader.field(position);
    if (title.empty()) {
      return base::invalid(
          fmt::format("{}: expected a column name in the header", reader.place(position)));
    }
    if (reader.find(title)) {
      return base::invalid(
          fmt::format("{}: the column \"{}\" is named twice", reader.place(position), title));
    }
    reader.header_.emplace_back(title);
  }
  return reader;
}

std::optional<size_t> CsvReader::find(std::string_view column_name) const {
  const auto at = std::find(header_.begin(), header_.end(), column_name);
  if (at == header_.end()) return std::nullopt;
  return static_cast<size_t>(at - header_.begin());
}

base::Result<std::vector<size_t>> CsvReader::require(
    const std::vector<std::string_view>& column_names) const {
  std::vector<size_t> positions;
  std::string missing;
  for (const std::string_view column_name : column_names) {
    if (const auto position = find(column_name)) {
      positions.push_back(*position);
    } else {
      missing += fmt::format("{}\"{}\"", missing.empty() ? "" : ", ", column_name);
    }
  }
  if (!missing.empty()) {
    return base::invalid(fmt::format("{}:1:1: the header lacks the column {}", name(), missing));
  }
  return positions;
}

std::string CsvReader::place(size_t position) const {
  const int64_t at = position < fields_.size() ? fields_[position].column : 1;
  return fmt::format("{}:{}:{}", name(), line(), at);
}

base::Result<bool> CsvReader::next() {
  std::string_view line;
  do {
    const auto found = lines_.next(line);
    if (!found) return tl::unexpected(found.error());
    if (!*found) return false;
  } while (line.empty());
  const auto done = split(line);
  if (!done) return tl::unexpected(done.error());
  return true;
}

base::Status CsvReader::split(std::string_view line) {
  fields_.clear();
  unquoted_.clear();
  unquoted_.reserve(kFieldsMax);  // views into it must not move
  size_t start = 0;
  while (true) {
    if (fields_.size() == kFieldsMax) {
      return base::invalid(fmt::format("{}:{}:{}: more than {} fields", name(), this->line(),
                                       start + 1, kFieldsMax));
    }
    size_t end = 0;
    if (start < line.size() && line[start] == '"') {
      const auto after = split_quoted(line, start);
      if (!after) return tl::unexpected(after.error());
      end = *after;
    } else {
      end = std::min(line.find(',', start), line.size());
      fields_.push_back({line.substr(start, end - start), static_cast<int64_t>(start) + 1});
    }
    if (end == line.size()) return {};
    start = end + 1;
  }
}

base::Result<size_t> CsvReader::split_quoted(std::string_view line, size_t start) {
  std::string text;
  size_t at = start + 1;
  while (true) {
    const size_t quote = line.find('"', at);
    if (quote == std::string_view::npos) {
      return base::invalid(fmt::format("{}:{}:{}: the quote that opens here does not close", name(),
                                       this->line(), start + 1));
    }
    text += line.substr(at, quote - at);
    at = quote + 1;
    if (at == line.size() || line[at] == ',') break;
    if (line[at] != '"') {
      return base::invalid(fmt::format("{}:{}:{}: expected a comma after the closing quote", name(),
                                       this->line(), at + 1));
    }
    text += '"';
    ++at;
  }
  unquoted_.push_back(std::move(text));
  fields_.push_back({unquoted_.back(), static_cast<int64_t>(start) + 1});
  return at;
}

}  // namespace mainspring::sim
