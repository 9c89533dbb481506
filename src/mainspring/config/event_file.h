// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "mainspring/base/hash.h"
#include "mainspring/base/instant.h"
#include "mainspring/base/result.h"
#include "mainspring/model/event.h"

// Event files: a snapshot and what came after it, one JSON value per line, so that a run can be
// repeated (docs/reference/event-files.md, version 1).

namespace mainspring::config {

inline constexpr int64_t kEventFileVersion = 1;
inline constexpr size_t kEventLineBytesMax = size_t{1} << 26;

// The scheduler decided at this time, and the digest of what.
struct CycleLine {
  base::Instant at;
  uint64_t decisions = 0;
};
// The snapshot is complete; what follows happened.
struct SnapshotEndLine {};
// The last line: how many events and cycles came after the snapshot.
struct FileEndLine {
  int64_t events = 0;
  int64_t cycles = 0;
};
using EventFileLine = std::variant<model::Event, CycleLine, SnapshotEndLine, FileEndLine>;

// Writes beside the file and puts it in its place at the end, complete or not at all. The first
// failure is kept and told by `finish`.
class EventFileWriter {
 public:
  static base::Result<std::unique_ptr<EventFileWriter>> create(const std::string& path);
  ~EventFileWriter();
  EventFileWriter(const EventFileWriter&) = delete;
  EventFileWriter& operator=(const EventFileWriter&) = delete;

  void snapshot(const model::Event& event);
  void end_snapshot();
  void event(const model::Event& event);
  void cycle(base::Instant at, uint64_t decisions);
  // Without it nothing is left behind.
  base::Status finish();

 private:
  EventFileWriter(std::string path, std::string temporary, std::FILE* file)
      : path_(std::move(path)), temporary_(std::move(temporary)), file_(file) {}
  void write_line();

  std::string path_;
  std::string temporary_;
  std::FILE* file_ = nullptr;
  std::string line_;
  bool failed_ = false;
  int64_t events_ = 0;
  int64_t cycles_ = 0;
};

// Streams; errors begin with FILE:LINE. A file without its last line was cut off, which is an
// error.
class EventFileReader {
 public:
  static base::Result<std::unique_ptr<EventFileReader>> open(const std::string& path);
  ~EventFileReader();
  EventFileReader(const EventFileReader&) = delete;
  EventFileReader& operator=(const EventFileReader&) = delete;

  // Nothing after the last line.
  base::Result<std::optional<EventFileLine>> next();
  // "FILE:LINE" of the line read last.
  [[nodiscard]] std::string place() const { return path_ + ":" + std::to_string(number_); }

 private:
  EventFileReader(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}
  // False at the end of the file.
  base::Result<bool> read_line();
  base::Result<EventFileLine> decode() const;
  base::Status read_header();

  std::string path_;
  std::FILE* file_ = nullptr;
  std::string buffer_;
  size_t buffer_at_ = 0;
  std::string line_;
  int64_t number_ = 0;
  int64_t events_ = 0;
  int64_t cycles_ = 0;
  bool in_snapshot_ = true;
  bool ended_ = false;
};

// Sixteen hexadecimal digits and back; nothing for any other text.
std::string hex_of(uint64_t number);
std::optional<uint64_t> number_of_hex(const std::string& text);

}  // namespace mainspring::config
