// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/list_stream.h"

#include <utility>

#include "mainspring/base/json.h"

namespace mainspring::kube {
namespace {

using base::Json;

std::string text_member(const Json& object, std::string_view key) {
  const Json* found = object.find(key);
  return found != nullptr && found->is(Json::Kind::kString) ? found->as_string() : std::string();
}

}  // namespace

base::Status ListStream::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    base::Status fed;
    switch (where_) {
      case Where::kRest:
        fed = feed_rest(bytes);
        break;
      case Where::kBetweenItems:
        fed = feed_between(bytes);
        break;
      case Where::kItem:
        fed = feed_item(bytes);
        break;
    }
    if (!fed) return fed;
  }
  return {};
}

base::Status ListStream::feed_rest(std::string_view& bytes) {
  size_t at = 0;
  bool items_begin = false;
  while (at < bytes.size() && !items_begin) {
    const char byte = bytes[at++];
    if (in_text_) {
      const bool ends = byte == '"' && !escaped_;
      escaped_ = byte == '\\' && !escaped_;
      in_text_ = !ends;
      if (!ends && depth_ == 1 && text_.size() < 16) text_ += byte;
    } else if (byte == '"') {
      in_text_ = true;
      if (depth_ == 1) text_.clear();
    } else if (byte == ':' && depth_ == 1) {
      key_ = text_;
    } else if (byte == '{' || byte == '[') {
      items_begin = byte == '[' && depth_ == 1 && key_ == "items";
      if (!items_begin) ++depth_;
    } else if (byte == '}' || byte == ']') {
      --depth_;
    }
  }
  rest_ += bytes.substr(0, at);
  bytes.remove_prefix(at);
  if (rest_.size() > limits_.rest_bytes_max) {
    return base::invalid("a list has too much beside its items");
  }
  if (items_begin) where_ = Where::kBetweenItems;
  return {};
}

base::Status ListStream::feed_between(std::string_view& bytes) {
  const size_t at = bytes.find_first_not_of(", \t\r\n");
  if (at == std::string_view::npos) {
    bytes = {};
    return {};
  }
  bytes.remove_prefix(at);
  if (bytes.front() == ']') {
    key_.clear();
    where_ = Where::kRest;
    rest_ += ']';
    bytes.remove_prefix(1);
    return {};
  }
  if (bytes.front() != '{') return base::invalid("an item of a list is no object");
  where_ = Where::kItem;
  depth_ = 0;
  return {};
}

bool ListStream::walk(std::string_view bytes, size_t& count) {
  size_t at = 0;
  bool closed = false;
  while (at < bytes.size() && !closed) {
    const char byte = bytes[at++];
    if (in_text_) {
      if (escaped_) {
        escaped_ = false;
      } else if (byte == '\\') {
        escaped_ = true;
      } else if (byte == '"') {
        in_text_ = false;
      }
      continue;
    }
    switch (byte) {
      case '"':
        in_text_ = true;
        break;
      case '{':
      case '[':
        ++depth_;
        break;
      case '}':
      case ']':
        closed = --depth_ == 0;
        break;
      default:
        break;
    }
  }
  count = at;
  return closed;
}

base::Status ListStream::feed_item(std::string_view& bytes) {
  size_t count = 0;
  const bool closed = walk(bytes, count);
  if (item_.size() + count > limits_.item_bytes_max) {
    return base::invalid("an item of a list has more than " +
                         std::to_string(limits_.item_bytes_max) + " bytes");
  }
  const std::string_view part = bytes.substr(0, count);
  bytes.remove_prefix(count);
  if (!closed) {
    item_ += part;
    return {};
  }
  where_ = Where::kBetweenItems;
  depth_ = 1;
  if (item_.empty()) {
    on_item_(part);
    return {};
  }
  item_ += part;
  on_item_(item_);
  item_.clear();
  return {};
}

base::Result<ListStream::End> ListStream::finish() const {
  if (where_ != Where::kRest || in_text_ || depth_ != 0) {
    return base::failure(base::ErrorCode::kUnavailable, "a list ends in its middle");
  }
  const auto rest = base::parse_json(rest_, {.depth_max = 16});
  if (!rest) return base::in_context("a list", rest.error());
  const Json* meta = rest->find("metadata");
  if (meta == nullptr) return base::invalid("a list has no metadata");
  End end{text_member(*meta, "resourceVersion"), text_member(*meta, "continue")};
  if (end.resource_version.empty()) return base::invalid("a list has no resourceVersion");
  return end;
}

base::Status LineStream::feed(std::string_view bytes, const OnLine& on_line) {
  while (true) {
    const size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (begun_.size() + part.size() > line_bytes_max_) {
      begun_.clear();
      return base::invalid("a line has more than " + std::to_string(line_bytes_max_) + " bytes");
    }
    if (end == std::string_view::npos) {
      begun_ += part;
      return {};
    }
    bytes.remove_prefix(end + 1);
    bool more = true;
    if (begun_.empty()) {
      more = part.empty() || on_line(part);
    } else {
      std::string line = std::move(begun_);
      begun_.clear();
      line += part;
      more = on_line(line);
    }
    if (!more) return {};
  }
}

}  // namespace mainspring::kube
