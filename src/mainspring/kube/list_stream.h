// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "mainspring/base/result.h"

// Lists and watches as they come over the wire, cut anywhere.

namespace mainspring::kube {

struct StreamLimits {
  // An object of the API server has at most about 3 MiB.
  size_t item_bytes_max = size_t{8} << 20;
  size_t rest_bytes_max = size_t{1} << 16;
};

// Takes a List object apart without holding it whole: each item of its "items" is handed out as the
// text of one JSON object, and only the rest is kept. The text of an item is not parsed here.
class ListStream {
 public:
  using OnItem = std::function<void(std::string_view text)>;
  explicit ListStream(OnItem on_item, StreamLimits limits = {})
      : on_item_(std::move(on_item)), limits_(limits) {}

  // Errors: an item or the rest is too long, or an item is no object. Then the list is worthless.
  base::Status feed(std::string_view bytes);

  struct End {
    std::string resource_version;
    std::string continue_token;  // empty: this was the last page
  };
  // After the last byte. Errors: the list is not complete, or no JSON, or has no version.
  [[nodiscard]] base::Result<End> finish() const;

 private:
  enum class Where : uint8_t { kRest, kBetweenItems, kItem };

  // Each takes from the front of `bytes` what is its own.
  base::Status feed_rest(std::string_view& bytes);
  base::Status feed_between(std::string_view& bytes);
  base::Status feed_item(std::string_view& bytes);
  // True once the value that began with a bracket is closed; `count`: the bytes that were looked
  // at.
  bool walk(std::string_view bytes, size_t& count);

  OnItem on_item_;
  StreamLimits limits_;
  Where where_ = Where::kRest;
  int depth_ = 0;  // of brackets, within the rest or within the item
  bool in_text_ = false;
  bool escaped_ = false;
  std::string rest_;
  std::string item_;
  std::string text_;  // the last string of the outermost object
  std::string key_;
};

// Cuts bytes into lines: a watch sends one event per line.
class LineStream {
 public:
  // False: no more lines are wanted.
  using OnLine = std::function<bool(std::string_view line)>;
  explicit LineStream(size_t line_bytes_max = size_t{8} << 20) : line_bytes_max_(line_bytes_max) {}

  // Error: a line is too long.
  base::Status feed(std::string_view bytes, const OnLine& on_line);

 private:
  size_t line_bytes_max_;
  std::string begun_;
};

}  // namespace mainspring::kube
