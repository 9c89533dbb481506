// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/result.h"

struct gzFile_s;

namespace mainspring::sim {

// Reads a text line by line, from a plain file, a gzip file (recognised by its content) or memory.
//
// Memory use is bounded by the longest line allowed, whatever the size of the file. Lines end with
// LF or CRLF; a byte order mark at the start is skipped. Errors (a missing file, a damaged gzip
// stream, a line over the limit, a NUL byte) name file, line and column and end the reading.
class LineReader {
 public:
  static constexpr size_t kLineBytesMax = 64 * 1024;

  static base::Result<LineReader> open(const std::string& path,
                                       size_t line_bytes_max = kLineBytesMax);
  // `text` must outlive the reader; `name` stands for the file in messages.
  static LineReader from_memory(std::string name, std::string_view text,
                                size_t line_bytes_max = kLineBytesMax);

  // True and the next line, which is valid until the next call; false at the end.
  base::Result<bool> next(std::string_view& line);

  // The number of the line that `next` gave last, from 1.
  [[nodiscard]] int64_t line_number() const { return line_number_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  struct CloseGzip {
    void operator()(gzFile_s* file) const;
  };

  LineReader(std::string name, size_t line_bytes_max);
  base::Result<bool> refill();
  base::Result<bool> finish(std::string_view& line);
  [[nodiscard]] tl::unexpected<base::Error> fault_at(size_t column, std::string_view what) const;

  std::string name_;
  size_t line_bytes_max_;
  std::unique_ptr<gzFile_s, CloseGzip> file_;
  std::vector<char> buffer_;
  std::string_view window_;  // what is read but not yet handed out
  std::string line_;         // a line that crosses the end of a window
  int64_t line_number_ = 0;
};

}  // namespace mainspring::sim
