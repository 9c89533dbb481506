// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/line_reader.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

namespace mainspring::sim {
namespace {

constexpr size_t kWindowBytes = 64 * 1024;

}  // namespace

void LineReader::CloseGzip::operator()(gzFile_s* file) const { gzclose(file); }

LineReader::LineReader(std::string name, size_t line_bytes_max)
    : name_(std::move(name)), line_bytes_max_(line_bytes_max) {}

base::Result<LineReader> LineReader::open(const std::string& path, size_t line_bytes_max) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) {
    return base::failure(base::ErrorCode::kNotFound,
                         fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    return base::invalid(fmt::format("{}: expected a file", path));
  }
  LineReader reader(path, line_bytes_max);
  reader.file_.reset(gzopen(path.c_str(), "rb"));
  if (reader.file_ == nullptr) {
    return base::failure(base::ErrorCode::kNotFound,
                         fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  }
  reader.buffer_.resize(kWindowBytes);
  return reader;
}

LineReader LineReader::from_memory(std::string name, std::string_view text, size_t line_bytes_max) {
  LineReader reader(std::move(name), line_bytes_max);
  reader.window_ = text;
  return reader;
}

tl::unexpected<base::Error> LineReader::fault_at(size_t column, std::string_view what) const {
  return base::invalid(fmt::format("{}:{}:{}: {}", name_, line_number_ + 1, column, what));
}

base::Result<bool> LineReader::refill() {
  if (file_ == nullptr) return false;
  const int bytes = gzread(file_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
  int code = Z_OK;
  const char* message = gzerror(file_.get(), &code);
  // A stream that ends too early gives its bytes first and says Z_BUF_ERROR beside them.
  if (bytes < 0 || (code != Z_OK && code != Z_STREAM_END)) {
    const char* text = code == Z_ERRNO ? std::strerror(errno) : message;
    return fault_at(1, fmt::format("the compressed stream is damaged: {}", text));
  }
  window_ = std::string_view(buffer_.data(), static_cast<size_t>(bytes));
  return bytes > 0;
}

base::Result<bool> LineReader::finish(std::string_view& line) {
  if (line_number_ == 0 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() > line_bytes_max_) {
    return fault_at(line_bytes_max_ + 1,
                    fmt::format("the line is longer than {} bytes", line_bytes_max_));
  }
  const size_t nul = line.find('\0');
  if (nul != std::string_view::npos) return fault_at(nul + 1, "expected text, found a NUL byte");
  ++line_number_;
  return true;
}

base::Result<bool> LineReader::next(std::string_view& line) {
  line_.clear();
  while (true) {
    const size_t end = window_.find('\n');
    if (end != std::string_view::npos) {
      line = window_.substr(0, end);
      if (!line_.empty()) line = line_.append(line);
      window_.remove_prefix(end + 1);
      return finish(line);
    }
    line_.append(window_.substr(0, line_bytes_max_ + 2));
    window_ = {};
    if (line_.size() > line_bytes_max_ + 1) {
      return fault_at(line_bytes_max_ + 1,
                      fmt::format("the line is longer than {} bytes", line_bytes_max_));
    }
    const auto more = refill();
    if (!more) return tl::unexpected(more.error());
    if (*more) continue;
    if (line_.empty()) return false;
    line = line_;
    return finish(line);
  }
}

}  // namespace mainspring::sim
