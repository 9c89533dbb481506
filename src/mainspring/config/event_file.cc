// SPDX-License-Identifier: Apache-2.0
#include "mainspring/config/event_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include <unistd.h>

#include "mainspring/base/json.h"
#include "mainspring/config/event_json.h"

namespace mainspring::config {

using base::Json;

std::string hex_of(uint64_t number) {
  std::string text(16, '0');
  for (size_t place = 16; place-- > 0; number >>= 4) text[place] = "0123456789abcdef"[number & 0xf];
  return text;
}

std::optional<uint64_t> number_of_hex(const std::string& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (text.size() != 16 || error != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

base::Result<std::unique_ptr<EventFileWriter>> EventFileWriter::create(const std::string& path) {
  const std::string temporary = path + ".part";
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) {
    return base::failure(base::ErrorCode::kUnavailable,
                         path + ": cannot be written: " + std::strerror(errno));
  }
  std::unique_ptr<EventFileWriter> made(new EventFileWriter(path, temporary, file));
  made->line_ = Json::object().set("mainspring_events", kEventFileVersion).dump();
  made->write_line();
  return made;
}

EventFileWriter::~EventFileWriter() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::remove(temporary_.c_str());
}

void EventFileWriter::write_line() {
  line_ += '\n';
  if (std::fwrite(line_.data(), 1, line_.size(), file_) != line_.size()) failed_ = true;
  line_.clear();
}

void EventFileWriter::snapshot(const model::Event& event) {
  encode(event).append_to(line_);
  write_line();
}

void EventFileWriter::end_snapshot() {
  line_ = Json::object().set("snapshot_end", true).dump();
  write_line();
}

void EventFileWriter::event(const model::Event& event) {
  ++events_;
  snapshot(event);
}

void EventFileWriter::cycle(base::Instant at, uint64_t decisions) {
  ++cycles_;
  Json::object().set("cycle_at_ms", at.ms).set("decisions", hex_of(decisions)).append_to(line_);
  write_line();
}

base::Status EventFileWriter::finish() {
  line_ = Json::object().set("file_end", true).set("events", events_).set("cycles", cycles_).dump();
  write_line();
  failed_ = std::fflush(file_) != 0 || failed_;
  failed_ = fsync(fileno(file_)) != 0 || failed_;
  failed_ = std::fclose(std::exchange(file_, nullptr)) != 0 || failed_;
  if (!failed_ && std::rename(temporary_.c_str(), path_.c_str()) == 0) return {};
  const std::string why = std::strerror(errno);
  std::remove(temporary_.c_str());
  return base::failure(base::ErrorCode::kUnavailable, path_ + ": could not be written: " + why);
}

base::Result<std::unique_ptr<EventFileReader>> EventFileReader::open(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    return base::failure(base::ErrorCode::kNotFound,
                         path + ": cannot be read: " + std::strerror(errno));
  }
  std::unique_ptr<EventFileReader> made(new EventFileReader(path, file));
  if (auto ok = made->read_header(); !ok) return base::failure(ok.error().code, ok.error().message);
  return made;
}

EventFileReader::~EventFileReader() { std::fclose(file_); }

base::Result<bool> EventFileReader::read_line() {
  line_.clear();
  ++number_;
  while (true) {
    const size_t end = buffer_.find('\n', buffer_at_);
    if (end != std::string::npos) {
      line_.append(buffer_, buffer_at_, end - buffer_at_);
      buffer_at_ = end + 1;
      return true;
    }
    line_.append(buffer_, buffer_at_);
    if (line_.size() > kEventLineBytesMax) {
      return base::invalid(place() + ": the line is longer than " +
                           std::to_string(kEventLineBytesMax) + " bytes");
    }
    buffer_.resize(size_t{1} << 16);
    buffer_.resize(std::fread(buffer_.data(), 1, buffer_.size(), file_));
    buffer_at_ = 0;
    if (!buffer_.empty()) continue;
    if (std::ferror(file_) != 0) {
      return base::failure(base::ErrorCode::kUnavailable, place() + ": reading failed");
    }
    return !line_.empty();
  }
}

base::Status EventFileReader::read_header() {
  const auto more = read_line();
  if (!more) return base::failure(more.error().code, more.error().message);
  const auto json = *more ? base::parse_json(line_) : base::Result<Json>(Json());
  const Json* version = json ? json->find("mainspring_events") : nullptr;
  if (version == nullptr || !version->is(Json::Kind::kInt)) {
    return base::invalid(place() + ": this is no event file; the first line must be " +
                         "{\"mainspring_events\": 1}");
  }
  if (version->as_int() != kEventFileVersion) {
    return base::invalid(place() + ": the file has version " + std::to_string(version->as_int()) +
                         ", this program reads version 1");
  }
  return {};
}

namespace {

const int64_t* whole(const Json& json, std::string_view key, int64_t& into) {
  const Json* found = json.find(key);
  if (found == nullptr || !found->is(Json::Kind::kInt)) return nullptr;
  into = found->as_int();
  return &into;
}

}  // namespace

base::Result<EventFileLine> EventFileReader::decode() const {
  const auto json = base::parse_json(line_);
  // The parser counts from the line it was given.
  if (!json) return base::invalid(place() + json.error().message.substr(1));
  if (json->find("event") != nullptr) {
    auto event = decode_event(*json);
    if (!event) return base::in_context(place(), event.error());
    return EventFileLine(std::move(*event));
  }
  if (json->find("snapshot_end") != nullptr) return EventFileLine(SnapshotEndLine{});
  int64_t number = 0;
  if (whole(*json, "cycle_at_ms", number) != nullptr) {
    const Json* text = json->find("decisions");
    const auto digest = text != nullptr && text->is(Json::Kind::kString)
                            ? number_of_hex(text->as_string())
                            : std::nullopt;
    if (!digest) return base::invalid(place() + ": decisions: expected 16 hexadecimal digits");
    return EventFileLine(CycleLine{base::Instant{number}, *digest});
  }
  FileEndLine end;
  if (json->find("file_end") != nullptr && whole(*json, "events", end.events) != nullptr &&
      whole(*json, "cycles", end.cycles) != nullptr) {
    return EventFileLine(end);
  }
  return base::invalid(place() + ": expected an event, a cycle, or the end of snapshot or file");
}

base::Result<std::optional<EventFileLine>> EventFileReader::next() {
  const auto more = read_line();
  if (!more) return base::failure(more.error().code, more.error().message);
  if (!*more) {
    if (ended_) return std::nullopt;
    return base::invalid(place() + ": the file is cut off; its last line is missing");
  }
  if (ended_) return base::invalid(place() + ": more text after the end of the file");
  auto line = decode();
  if (!line) return base::failure(line.error().code, line.error().message);
  if (std::holds_alternative<SnapshotEndLine>(*line)) {
    if (!in_snapshot_) return base::invalid(place() + ": the snapshot ended before");
    in_snapshot_ = false;
  } else if (in_snapshot_ && !std::holds_alternative<model::Event>(*line)) {
    return base::invalid(place() + ": the snapshot has not ended yet");
  } else if (const auto* end = std::get_if<FileEndLine>(&*line)) {
    ended_ = true;
    if (end->events != events_ || end->cycles != cycles_) {
      return base::invalid(place() + ": lines are missing: " + std::to_string(events_) +
                           " events and " + std::to_string(cycles_) + " cycles were read");
    }
  } else if (!in_snapshot_) {
    ++(std::holds_alternative<CycleLine>(*line) ? cycles_ : events_);
  }
  return std::optional<EventFileLine>(std::move(*line));
}

}  // namespace mainspring::config
