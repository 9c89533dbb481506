// SPDX-License-Identifier: Apache-2.0
#include "mainspring/base/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include <boost/json/basic_parser_impl.hpp>

namespace mainspring::base {

Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(double number) : value_(number) {}
Json::Json(Value value) : value_(std::move(value)) {}
Json Json::array() { return Json(Value(Array())); }
Json Json::object() { return Json(Value(Object())); }

double Json::as_double() const {
  if (const auto* whole = std::get_if<int64_t>(&value_)) return static_cast<double>(*whole);
  return get<double>();
}

const Json* Json::find(std::string_view key) const {
  const auto* members = std::get_if<Object>(&value_);
  if (members == nullptr) return nullptr;
  const auto found = std::ranges::find(*members, key, &JsonMember::key);
  return found == members->end() ? nullptr : &found->value;
}

Json& Json::set(std::string_view key, Json value) {
  auto* members = std::get_if<Object>(&value_);
  MAINSPRING_CHECK(members != nullptr, "a member was set in a JSON value that is no object");
  const auto found = std::ranges::find(*members, key, &JsonMember::key);
  if (found == members->end()) {
    members->push_back({std::string(key), std::move(value)});
  } else {
    found->value = std::move(value);
  }
  return *this;
}

Json& Json::append(std::string key, Json value) {
  auto* members = std::get_if<Object>(&value_);
  MAINSPRING_CHECK(members != nullptr, "a member was added to a JSON value that is no object");
  members->push_back({std::move(key), std::move(value)});
  return *this;
}

Json& Json::push_back(Json value) {
  auto* items = std::get_if<Array>(&value_);
  MAINSPRING_CHECK(items != nullptr, "an item was added to a JSON value that is no array");
  items->push_back(std::move(value));
  return *this;
}

bool operator==(const Json& left, const Json& right) { return left.value_ == right.value_; }

std::string_view to_string(Json::Kind kind) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "null", "boolean", "integer", "number", "string", "array", "object"};
  return kNames[static_cast<size_t>(kind)];
}

namespace {

// Length of the UTF-8 sequence that begins here, 0 where none does (Unicode 15, table 3-7).
size_t utf8_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t offset) {
    return at + offset < text.size() ? static_cast<unsigned char>(text[at + offset]) : 0U;
  };
  const auto follows = [&](size_t offset, unsigned low = 0x80, unsigned high = 0xbf) {
    return byte(offset) >= low && byte(offset) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const unsigned low = first == 0xe0 ? 0xa0 : 0x80;
    const unsigned high = first == 0xed ? 0x9f : 0xbf;
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const unsigned low = first == 0xf0 ? 0x90 : 0x80;
    const unsigned high = first == 0xf4 ? 0x8f : 0xbf;
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

void append_string(std::string& out, std::string_view text) {
  static constexpr std::string_view kShort = "\"\"\\\\\bb\ff\nn\rr\tt";
  out += '"';
  for (size_t i = 0; i < text.size();) {
    const char character = text[i];
    const auto code = static_cast<unsigned char>(character);
    const size_t length = utf8_length(text, i);
    if (length == 0) {
      out += "\\ufffd";
      ++i;
      continue;
    }
    size_t escape = 0;
    while (escape < kShort.size() && kShort[escape] != character) escape += 2;
    if (escape < kShort.size()) {
      out += '\\';
      out += kShort[escape + 1];
    } else if (code < 0x20) {
      out += "\\u00";
      out += "0123456789abcdef"[code >> 4];
      out += "0123456789abcdef"[code & 0xf];
    } else {
      out += text.substr(i, length);
    }
    i += length;
  }
  out += '"';
}

template <class Number>
void append_number(std::string& out, Number number) {
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  MAINSPRING_CHECK(error == std::errc{}, "a number is longer than 32 characters");
  const std::string_view text(digits.data(), static_cast<size_t>(end - digits.data()));
  out += text;
  // A double reads back as a double.
  if (std::is_same_v<Number, double> && text.find_first_of(".e") == std::string_view::npos) {
    out += ".0";
  }
}

class Writer {
 public:
  Writer(std::string& out, bool pretty) : out_(out), pretty_(pretty) {}

  void write(const Json& value) {
    switch (value.kind()) {
      case Json::Kind::kNull:
        out_ += "null";
        return;
      case Json::Kind::kBool:
        out_ += value.as_bool() ? "true" : "false";
        return;
      case Json::Kind::kInt:
        append_number(out_, value.as_int());
        return;
      case Json::Kind::kDouble:
        if (std::isfinite(value.as_double())) {
          append_number(out_, value.as_double());
        } else {
          out_ += "null";
        }
        return;
      case Json::Kind::kString:
        append_string(out_, value.as_string());
        return;
      case Json::Kind::kArray:
        write_array(value.as_array());
        return;
      case Json::Kind::kObject:
        write_object(value.as_object());
        return;
    }
  }

 private:
  static constexpr size_t kInlineItemsMax = 16;

  void break_line() {
    if (!pretty_) return;
    out_ += '\n';
    out_.append(2 * depth_, ' ');
  }

  void write_array(const Json::Array& items) {
    const bool one_line =
        items.size() <= kInlineItemsMax && std::ranges::none_of(items, [](const Json& item) {
          return item.kind() >= Json::Kind::kArray;
        });
    out_ += '[';
    ++depth_;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += pretty_ && one_line ? ", " : ",";
      if (!one_line) break_line();
      write(items[i]);
    }
    --depth_;
    if (!one_line) break_line();
    out_ += ']';
  }

  void write_object(const Json::Object& members) {
    out_ += '{';
    ++depth_;
    for (size_t i = 0; i < members.size(); ++i) {
      if (i > 0) out_ += ',';
      break_line();
      append_string(out_, members[i].key);
      out_ += pretty_ ? ": " : ":";
      write(members[i].value);
    }
    --depth_;
    if (!members.empty()) break_line();
    out_ += '}';
  }

  std::string& out_;
  bool pretty_;
  size_t depth_ = 0;
};

}  // namespace

std::string Json::dump() const {
  std::string out;
  append_to(out);
  return out;
}

void Json::append_to(std::string& out) const { Writer(out, false).write(*this); }

std::string Json::dump_pretty() const {
  std::string out;
  Writer(out, true).write(*this);
  return out;
}

namespace {

namespace bj = boost::json;

// Builds the value while Boost.JSON's parser walks the text. Returning false with an error code
// stops the parser; why is kept in `refusal`.
class Builder {
 public:
  static constexpr size_t max_object_size = static_cast<size_t>(-1);
  static constexpr size_t max_array_size = static_cast<size_t>(-1);
  static constexpr size_t max_key_size = static_cast<size_t>(-1);
  static constexpr size_t max_string_size = static_cast<size_t>(-1);

  Json result;
  std::string refusal;

  bool on_document_begin(bj::error_code&) { return true; }
  bool on_document_end(bj::error_code&) { return true; }
  bool on_object_begin(bj::error_code&) { return open(Json::object()); }
  bool on_object_end(size_t, bj::error_code&) { return close(); }
  bool on_array_begin(bj::error_code&) { return open(Json::array()); }
  bool on_array_end(size_t, bj::error_code&) { return close(); }

  bool on_key_part(bj::string_view part, size_t, bj::error_code&) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool on_key(bj::string_view part, size_t, bj::error_code& error) {
    text_.append(part.data(), part.size());
    Frame& frame = frames_.back();
    if (!is_new(frame, text_)) {
      return refuse("the key \"" + text_ + "\" comes twice in one object", error);
    }
    frame.key = std::exchange(text_, {});
    return true;
  }
  bool on_string_part(bj::string_view part, size_t, bj::error_code&) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool on_string(bj::string_view part, size_t, bj::error_code&) {
    text_.append(part.data(), part.size());
    return add(Json(std::exchange(text_, {})));
  }

  bool on_number_part(bj::string_view part, bj::error_code&) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool on_int64(int64_t number, bj::string_view, bj::error_code&) {
    text_.clear();
    return add(Json(number));
  }
  bool on_uint64(uint64_t, bj::string_view, bj::error_code& error) {
    return refuse("an integer is above 2^63 - 1", error);
  }
  bool on_double(double number, bj::string_view part, bj::error_code& error) {
    text_.append(part.data(), part.size());
    const std::string digits = std::exchange(text_, {});
    if (digits.find_first_of(".eE") == std::string::npos) {
      return refuse("an integer is not in -2^63..2^63 - 1", error);
    }
    if (!std::isfinite(number)) return refuse("a number is too large", error);
    // Boost.JSON 1.81 may be off by one unit in the last place. A number too small for a double
    // keeps its answer, zero.
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return add(Json(number));
  }
  bool on_bool(bool truth, bj::error_code&) { return add(Json(truth)); }
  bool on_null(bj::error_code&) { return add(Json()); }
  bool on_comment_part(bj::string_view, bj::error_code&) { return true; }
  bool on_comment(bj::string_view, bj::error_code&) { return true; }

 private:
  struct Frame {
    Json value;
    std::string key;
    std::set<std::string> keys;  // of an object that has many
  };

  // Most objects have few members: to look at each is cheaper than to keep a set.
  static bool is_new(Frame& frame, const std::string& key) {
    constexpr size_t kFew = 16;
    const Json::Object& members = frame.value.as_object();
    if (members.size() < kFew) {
      return std::ranges::find(members, key, &JsonMember::key) == members.end();
    }
    if (frame.keys.empty()) {
      for (const JsonMember& member : members) frame.keys.insert(member.key);
    }
    return frame.keys.insert(key).second;
  }

  bool refuse(std::string why, bj::error_code& error) {
    refusal = std::move(why);
    error = bj::make_error_code(bj::error::syntax);
    return false;
  }
  bool open(Json value) {
    frames_.push_back({std::move(value), {}, {}});
    return true;
  }
  bool close() {
    Json value = std::move(frames_.back().value);
    frames_.pop_back();
    return add(std::move(value));
  }
  bool add(Json value) {
    if (frames_.empty()) {
      result = std::move(value);
    } else if (Frame& frame = frames_.back(); frame.value.is(Json::Kind::kArray)) {
      frame.value.push_back(std::move(value));
    } else {
      frame.value.append(std::move(frame.key), std::move(value));
    }
    return true;
  }

  std::vector<Frame> frames_;
  std::string text_;
};

std::string place_of(std::string_view text, size_t at) {
  at = std::min(at, text.size());
  const std::string_view before = text.substr(0, at);
  const auto line = std::ranges::count(before, '\n') + 1;
  const size_t line_start = before.rfind('\n');
  const size_t column = line_start == std::string_view::npos ? at + 1 : at - line_start;
  return std::to_string(line) + ":" + std::to_string(column);
}

}  // namespace

Result<Json> parse_json(std::string_view text, JsonLimits limits) {
  if (text.size() > limits.bytes_max) {
    return invalid("1:1: the text has " + std::to_string(text.size()) + " bytes, at most " +
                   std::to_string(limits.bytes_max) + " are read");
  }
  bj::parse_options options;
  options.max_depth = limits.depth_max;
  bj::basic_parser<Builder> parser(options);
  bj::error_code error;
  const size_t read = parser.write_some(false, text.data(), text.size(), error);
  Builder& builder = parser.handler();
  if (!builder.refusal.empty()) return invalid(place_of(text, read) + ": " + builder.refusal);
  if (error) return invalid(place_of(text, read) + ": " + error.message());
  const size_t rest = text.find_first_not_of(" \t\r\n", read);
  if (rest != std::string_view::npos) {
    return invalid(place_of(text, rest) + ": more text after the end of the JSON value");
  }
  return std::move(builder.result);
}

}  // namespace mainspring::base
