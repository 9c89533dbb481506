// SPDX-License-Identifier: Apache-2.0
#include "mainspring/config/yaml_tree.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <istream>
#include <sstream>
#include <streambuf>
#include <system_error>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

namespace mainspring::config {
namespace {

constexpr size_t kTextBytesMax = size_t{8} << 20;
constexpr size_t kDepthMax = 32;
constexpr size_t kNodesMax = 1'000'000;
constexpr size_t kShownLengthMax = 40;

// What we refuse; thrown through the library's parser and caught below.
struct Refusal {
  YAML::Mark mark;
  std::string message;
};

class TextBuffer : public std::streambuf {
 public:
  explicit TextBuffer(std::string_view text) {
    // The get area is never written to; the interface predates const.
    char* begin = const_cast<char*>(text.data());
    setg(begin, begin, begin + text.size());
  }
};

// Builds the tree from the parser's events.
class TreeBuilder : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add(node_at(mark, YamlNode::Kind::kNull), mark);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    throw Refusal{mark, "aliases (*name) are not supported; write the value out"};
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    YamlNode node = node_at(mark, YamlNode::Kind::kScalar);
    node.text = value;
    add(std::move(node), mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, anchor, YamlNode::Kind::kSequence);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, anchor, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { close(); }

  YamlNode take() { return std::move(root_); }

 private:
  static YamlNode node_at(const YAML::Mark& mark, YamlNode::Kind kind) {
    YamlNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return node;
  }
  static void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor == 0) return;
    throw Refusal{mark, "anchors (&name) are not supported; write the value out"};
  }
  // The parser says "?" for a plain value and "!" for a quoted one.
  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    throw Refusal{mark, "tags (!" + tag.substr(0, kShownLengthMax) + ") are not supported"};
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YamlNode::Kind kind) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (open_.size() >= kDepthMax) throw Refusal{mark, "nested more than 32 levels deep"};
    if (expects_key()) throw Refusal{mark, "expected a plain word as a key"};
    open_.push_back(node_at(mark, kind));
    marks_.push_back(mark);
  }

  void close() {
    YamlNode node = std::move(open_.back());
    const YAML::Mark mark = marks_.back();
    open_.pop_back();
    marks_.pop_back();
    add(std::move(node), mark);
  }

  [[nodiscard]] bool expects_key() const {
    return !open_.empty() && open_.back().kind == YamlNode::Kind::kMap &&
           open_.back().keys.size() == open_.back().items.size();
  }

  void add(YamlNode node, const YAML::Mark& mark) {
    if (++node_count_ > kNodesMax) throw Refusal{mark, "more than 1,000,000 values"};
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    YamlNode& parent = open_.back();
    if (!expects_key()) {
      parent.items.push_back(std::move(node));
      return;
    }
    if (node.kind != YamlNode::Kind::kScalar) {
      throw Refusal{mark, "expected a plain word as a key"};
    }
    parent.keys.push_back(std::move(node));
  }

  YamlNode root_;
  std::vector<YamlNode> open_;
  std::vector<YAML::Mark> marks_;
  size_t node_count_ = 0;
};

tl::unexpected<base::Error> at_mark(const std::string& file, const YAML::Mark& mark,
                                    const std::string& message) {
  YamlNode where;
  where.line = std::max(mark.line, 0) + 1;
  where.column = std::max(mark.column, 0) + 1;
  return base::invalid(place(file, where) + ": " + message);
}

// Sorted look-up, so that a map of a million keys costs no more than sorting them.
const YamlNode* repeated_key(const YamlNode& node) {
  std::vector<const YamlNode*> keys;
  keys.reserve(node.keys.size());
  for (const YamlNode& key : node.keys) keys.push_back(&key);
  std::stable_sort(keys.begin(), keys.end(), [](const YamlNode* left, const YamlNode* right) {
    return left->text < right->text;
  });
  const auto twice = std::adjacent_find(
      keys.begin(), keys.end(),
      [](const YamlNode* left, const YamlNode* right) { return left->text == right->text; });
  if (twice != keys.end()) return *(twice + 1);
  for (const YamlNode& item : node.items) {
    if (const YamlNode* found = repeated_key(item)) return found;
  }
  return nullptr;
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].text == key) return &items[i];
  }
  return nullptr;
}

std::string describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kSequence:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a mapping";
    case YamlNode::Kind::kScalar:
      break;
  }
  std::string shown;
  for (const char character : node.text.substr(0, kShownLengthMax)) {
    const bool printable = static_cast<unsigned char>(character) >= 0x20 && character != 0x7f;
    shown += printable ? character : '?';
  }
  if (node.text.size() > kShownLengthMax) shown += "...";
  return "'" + shown + "'";
}

std::string place(const std::string& file, const YamlNode& node) {
  return file + ":" + std::to_string(node.line) + ":" + std::to_string(node.column);
}

base::Result<std::string> read_text(const std::string& path, std::string_view expected) {
  std::error_code ignored;
  std::ifstream stream(path, std::ios::binary);
  if (!stream || std::filesystem::is_directory(path, ignored)) {
    return base::failure(base::ErrorCode::kNotFound,
                         path + ": cannot be read; expected " + std::string(expected));
  }
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

base::Result<YamlNode> parse_yaml(std::string_view text, const std::string& file) {
  if (text.size() > kTextBytesMax) return base::invalid(file + ":1:1: the file is over 8 MiB");
  if (text.find('\0') != std::string_view::npos) {
    return base::invalid(file + ":1:1: expected text, but the file has a zero byte");
  }
  try {
    TextBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    TreeBuilder builder;
    if (!parser.HandleNextDocument(builder)) return YamlNode{};
    TreeBuilder second;
    if (parser.HandleNextDocument(second)) {
      return base::invalid(place(file, second.take()) + ": expected one YAML document, found two");
    }
    YamlNode root = builder.take();
    if (const YamlNode* key = repeated_key(root)) {
      return base::invalid(place(file, *key) + ": the key " + describe(*key) + " is given twice");
    }
    return root;
  } catch (const Refusal& refusal) {
    return at_mark(file, refusal.mark, refusal.message);
  } catch (const YAML::Exception& error) {
    return at_mark(file, error.mark, "this is not YAML: " + error.msg);
  } catch (const std::exception& error) {
    return base::invalid(file + ":1:1: this is not YAML: " + error.what());
  }
}

}  // namespace mainspring::config
