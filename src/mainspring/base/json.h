// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "mainspring/base/check.h"
#include "mainspring/base/result.h"

// JSON as a small value type: what every file, reply and report of Mainspring is written in.
//
// A number without fraction or exponent is an int64 and stays one; every other number is a double.
// Members keep the order in which they were set, and the writer adds nothing of its own, so equal
// values give equal bytes in every build. The parser behind it is Boost.JSON (RFC 8259, UTF-8).

namespace mainspring::base {

class Json;

// A template only because it holds what it is part of.
template <class Value>
struct JsonMemberOf {
  std::string key;
  Value value;
  friend bool operator==(const JsonMemberOf& left, const JsonMemberOf& right) {
    return left.key == right.key && left.value == right.value;
  }
};
using JsonMember = JsonMemberOf<Json>;

class Json {
 public:
  // In the order of the variant below.
  enum class Kind : uint8_t { kNull, kBool, kInt, kDouble, kString, kArray, kObject };
  using Array = std::vector<Json>;
  using Object = std::vector<JsonMember>;

  Json() = default;
  Json(std::string text);
  Json(std::string_view text);
  Json(const char* text);
  Json(double number);
  template <class T>
    requires std::is_same_v<T, bool>
  Json(T truth) : Json(Value(truth)) {}
  // A number above the range of int64 is a bug of the caller.
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>)
  Json(T number) : Json(Value(static_cast<int64_t>(number))) {
    MAINSPRING_CHECK(std::in_range<int64_t>(number), "a number is too large for JSON");
  }
  static Json array();
  static Json object();

  [[nodiscard]] Kind kind() const { return static_cast<Kind>(value_.index()); }
  [[nodiscard]] bool is(Kind kind) const { return this->kind() == kind; }

  // The value must be of that kind.
  [[nodiscard]] bool as_bool() const { return get<bool>(); }
  [[nodiscard]] int64_t as_int() const { return get<int64_t>(); }
  // Also of an integer.
  [[nodiscard]] double as_double() const;
  [[nodiscard]] const std::string& as_string() const { return get<std::string>(); }
  [[nodiscard]] const Array& as_array() const { return get<Array>(); }
  [[nodiscard]] const Object& as_object() const { return get<Object>(); }

  // The member of this name, or nullptr; also nullptr when this is no object. O(members).
  [[nodiscard]] const Json* find(std::string_view key) const;

  // Writing: the value must be an object or array. `set` replaces a member of the same name, in
  // O(members); `append` is O(1), and the caller knows that the name is new.
  Json& set(std::string_view key, Json value);
  Json& append(std::string key, Json value);
  Json& push_back(Json value);

  // One line, no blanks. A double is written with the fewest digits that read back equal; one that
  // is not finite becomes null. Bytes that are not UTF-8 become U+FFFD.
  [[nodiscard]] std::string dump() const;
  void append_to(std::string& out) const;
  // The same for people: two blanks per level; short arrays of plain values stay on one line.
  [[nodiscard]] std::string dump_pretty() const;

  friend bool operator==(const Json& left, const Json& right);

 private:
  using Value = std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object>;
  explicit Json(Value value);

  template <class T>
  const T& get() const {
    const T* found = std::get_if<T>(&value_);
    MAINSPRING_CHECK(found != nullptr, "a JSON value is not of the kind that was asked for");
    return *found;
  }

  Value value_;
};

struct JsonLimits {
  size_t bytes_max = size_t{1} << 26;
  size_t depth_max = 64;
};

// "object", "integer" and so on, for messages.
std::string_view to_string(Json::Kind kind);

// One JSON text, blanks around it allowed. Errors begin with LINE:COLUMN (both from 1, columns in
// bytes): syntax, invalid UTF-8, a repeated key, an integer outside int64, a number that no double
// holds, deeper or longer than the limits.
Result<Json> parse_json(std::string_view text, JsonLimits limits = {});

}  // namespace mainspring::base
