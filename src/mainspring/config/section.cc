// SPDX-License-Identifier: Apache-2.0
#include "mainspring/config/section.h"

#include <algorithm>

#include "mainspring/base/check.h"

namespace mainspring::config {
namespace {

constexpr size_t kNameLengthMax = 253;
constexpr size_t kTextLengthMax = 64 * 1024;

// An absent mapping reads as one without fields.
const YamlNode& empty_mapping() {
  static const YamlNode kEmpty{.kind = YamlNode::Kind::kMap};
  return kEmpty;
}

constexpr std::string_view kIdMarks = "._-";

bool consists_of(std::string_view text, std::string_view marks) {
  return std::all_of(text.begin(), text.end(), [&](char character) {
    const bool letter =
        (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
    const bool digit = character >= '0' && character <= '9';
    return letter || digit || marks.find(character) != std::string_view::npos;
  });
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string alternatives(std::span<const std::string_view> words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace

bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= kNameLengthMax && consists_of(text, kIdMarks);
}

AmountKind amount_kind(FieldType type) {
  switch (type) {
    case FieldType::kCount:
    case FieldType::kPriority:
      return AmountKind::kCount;
    case FieldType::kCpu:
      return AmountKind::kCpu;
    case FieldType::kBytes:
      return AmountKind::kBytes;
    case FieldType::kShare:
      return AmountKind::kShare;
    case FieldType::kRatio:
      return AmountKind::kRatio;
    case FieldType::kProbability:
      return AmountKind::kProbability;
    case FieldType::kDuration:
    case FieldType::kDurations:
      return AmountKind::kDuration;
    default:
      MAINSPRING_CHECK(false, "this field is not an amount");
  }
}

void Reading::report(const YamlNode& where, const std::string& message) {
  if (failed()) return;
  error_ = base::Error{base::ErrorCode::kInvalidInput, place(file_, where) + ": " + message};
}

Section::Section(Reading& reading, const YamlNode& node, const FieldTable& table, std::string path)
    : reading_(reading),
      node_(node.kind == YamlNode::Kind::kMap ? node : empty_mapping()),
      table_(table),
      path_(std::move(path)) {
  if (node.kind != YamlNode::Kind::kMap) {
    const std::string what = path_.empty() ? "the file" : path_;
    reading_.report(node, what + ": expected a mapping with fields, found " + describe(node));
    return;
  }
  check_keys(table);
  for (const Field& field : table.fields) {
    if (!field.required || has(field.name)) continue;
    reading_.report(node_,
                    path_of(field.name) + ": is missing; expected " + std::string(field.doc));
  }
}

void Section::check_keys(const FieldTable& table) const {
  std::vector<std::string_view> known;
  for (const Field& field : table.fields) known.push_back(field.name);
  for (const YamlNode& key : node_.keys) {
    if (std::find(known.begin(), known.end(), key.text) != known.end()) continue;
    const std::string_view near = nearest_word(key.text, known);
    const std::string where = path_.empty() ? "the " + std::string(table.title) : path_;
    std::string message = where + ": unknown field " + describe(key) + "; ";
    if (near.empty()) {
      message += "expected " + alternatives(known);
    } else {
      message += "did you mean '" + std::string(near) + "'?";
    }
    reading_.report(key, message);
  }
}

const YamlNode& Section::where(std::string_view name) const {
  const YamlNode* found = node_.find(name);
  return found == nullptr ? node_ : *found;
}

std::string Section::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

void Section::report(std::string_view name, const std::string& message) const {
  reading_.report(where(name), path_of(name) + ": " + message);
}

std::optional<std::string> Section::scalar(const Field& field) const {
  const YamlNode* found = node_.find(field.name);
  if (found == nullptr) {
    if (field.fallback.empty()) return std::nullopt;
    return std::string(field.fallback);
  }
  if (found->kind == YamlNode::Kind::kScalar) return found->text;
  report(field.name, "expected a single value, found " + describe(*found));
  return std::nullopt;
}

int64_t Section::parse(const Field& field, std::string_view text, AmountKind kind) const {
  const auto amount = parse_amount(text, kind);
  if (!amount) {
    report(field.name, describe(where(field.name)) + " " + amount.error().message);
    return field.min;
  }
  if (*amount < field.min || *amount > field.max) {
    report(field.name, describe(where(field.name)) + " is out of range; expected " +
                           format_amount(field.min, kind) + " to " +
                           format_amount(field.max, kind));
    return field.min;
  }
  return *amount;
}

int64_t Section::amount(std::string_view name) const {
  const Field& field = table_.row(name);
  const std::optional<std::string> text = scalar(field);
  return text ? parse(field, *text, amount_kind(field.type)) : 0;
}

base::Duration Section::duration(std::string_view name) const {
  return base::milliseconds(amount(name));
}

base::Instant Section::instant(std::string_view name) const { return base::Instant{amount(name)}; }

std::pair<base::Duration, base::Duration> Section::durations(std::string_view name) const {
  const Field& field = table_.row(name);
  const std::optional<std::string> text = scalar(field);
  if (!text) return {};
  const size_t dots = text->find("..");
  const std::string_view low = std::string_view(*text).substr(0, dots);
  const std::string_view high =
      dots == std::string::npos ? low : std::string_view(*text).substr(dots + 2);
  const base::Duration min = base::milliseconds(parse(field, low, AmountKind::kDuration));
  const base::Duration max = base::milliseconds(parse(field, high, AmountKind::kDuration));
  if (max < min) {
    report(name,
           describe(where(name)) + " ends before it begins; expected a range such as 1s..10s");
    return {min, min};
  }
  return {min, max};
}

std::string Section::text(std::string_view name) const {
  const Field& field = table_.row(name);
  const std::optional<std::string> text = scalar(field);
  if (!text) return {};
  if (text->size() > kTextLengthMax) report(name, "is longer than 65,536 characters");
  if (!has(name)) return *text;
  if (field.type == FieldType::kName) return checked_name(where(name), path_of(name));
  if (field.type == FieldType::kId) return checked_name(where(name), path_of(name), kIdMarks);
  return *text;
}

std::string Section::checked_name(const YamlNode& node, const std::string& path,
                                  std::string_view marks) const {
  if (node.kind != YamlNode::Kind::kScalar) {
    reading_.report(node, path + ": expected a name, found " + describe(node));
    return {};
  }
  if (node.text.empty() || node.text.size() > kNameLengthMax) {
    reading_.report(node, path + ": expected a name of 1 to 253 characters");
    return {};
  }
  if (!consists_of(node.text, marks)) {
    std::string spelled;
    for (const char mark : marks) spelled += std::string(" ") + mark;
    reading_.report(node, path + ": " + describe(node) +
                              " is not a name; expected letters, digits and" + spelled + " only");
    return {};
  }
  return node.text;
}

std::vector<std::string> Section::names(std::string_view name) const {
  std::vector<std::string> result;
  const YamlNode* found = node_.find(name);
  if (found == nullptr) return result;
  if (found->kind != YamlNode::Kind::kSequence) {
    report(name, "expected a list such as [a, b], found " + describe(*found));
    return result;
  }
  for (size_t i = 0; i < found->items.size(); ++i) {
    result.push_back(checked_name(found->items[i], path_of(name) + "[" + std::to_string(i) + "]"));
  }
  return result;
}

bool Section::flag(std::string_view name) const {
  const Field& field = table_.row(name);
  const std::string text = scalar(field).value_or("false");
  if (text != "true" && text != "false") {
    report(name, describe(where(name)) + " is neither true nor false");
  }
  return text == "true";
}

std::vector<model::Label> Section::labels(std::string_view name) const {
  std::vector<model::Label> result;
  const YamlNode* found = node_.find(name);
  if (found == nullptr) return result;
  if (found->kind != YamlNode::Kind::kMap) {
    report(name, "expected a mapping such as {pool: training}, found " + describe(*found));
    return result;
  }
  for (size_t i = 0; i < found->items.size(); ++i) {
    const std::string path = path_of(name) + "." + found->keys[i].text;
    const std::string key = checked_name(found->keys[i], path_of(name));
    const bool empty =
        found->items[i].kind == YamlNode::Kind::kScalar && found->items[i].text.empty();
    result.push_back({key, empty ? std::string() : checked_name(found->items[i], path)});
  }
  return result;
}

std::vector<std::pair<std::string, int64_t>> Section::counts(std::string_view name) const {
  std::vector<std::pair<std::string, int64_t>> result;
  const Field& field = table_.row(name);
  const YamlNode* found = node_.find(name);
  if (found == nullptr) return result;
  if (found->kind != YamlNode::Kind::kMap) {
    report(name, "expected a mapping such as {rack: 4, node: 2}, found " + describe(*found));
    return result;
  }
  for (size_t i = 0; i < found->items.size(); ++i) {
    const YamlNode& item = found->items[i];
    const std::string path = path_of(name) + "." + found->keys[i].text + ": ";
    const auto count = parse_amount(item.text, AmountKind::kCount);
    if (!count) {
      reading_.report(item, path + describe(item) + " " + count.error().message);
    } else if (*count < field.min || *count > field.max) {
      reading_.report(item, path + describe(item) + " is out of range; expected " +
                                std::to_string(field.min) + " to " + std::to_string(field.max));
    }
    result.emplace_back(checked_name(found->keys[i], path_of(name)), count.value_or(field.min));
  }
  return result;
}

size_t Section::choice(std::string_view name) const {
  const Field& field = table_.row(name);
  const std::vector<std::string_view> words = words_of(field.words);
  const std::optional<std::string> text = scalar(field);
  if (!text) return 0;
  const auto found = std::find(words.begin(), words.end(), *text);
  if (found != words.end()) return static_cast<size_t>(found - words.begin());
  report(name, describe(where(name)) + " is unknown; expected " + alternatives(words));
  return 0;
}

std::optional<Section> Section::one(std::string_view name, const FieldTable& table) const {
  const YamlNode* found = node_.find(name);
  if (found == nullptr) return std::nullopt;
  return Section(reading_, *found, table, path_of(name));
}

std::vector<std::pair<std::string, Section>> Section::named(std::string_view name,
                                                            const FieldTable& table) const {
  std::vector<std::pair<std::string, Section>> sections;
  const YamlNode* found = node_.find(name);
  if (found == nullptr) return sections;
  if (found->kind != YamlNode::Kind::kMap) {
    report(name, "expected a mapping of names, found " + describe(*found));
    return sections;
  }
  for (size_t i = 0; i < found->items.size(); ++i) {
    std::string key = checked_name(found->keys[i], path_of(name));
    Section section(reading_, found->items[i], table, path_of(name) + "." + key);
    sections.emplace_back(std::move(key), std::move(section));
  }
  return sections;
}

std::vector<Section> Section::many(std::string_view name, const FieldTable& table) const {
  std::vector<Section> sections;
  const YamlNode* found = node_.find(name);
  if (found == nullptr) return sections;
  if (found->kind == YamlNode::Kind::kMap && table_.row(name).type == FieldType::kOneOrMany) {
    sections.emplace_back(reading_, *found, table, path_of(name));
    return sections;
  }
  if (found->kind != YamlNode::Kind::kSequence) {
    report(name, "expected a list of mappings, found " + describe(*found));
    return sections;
  }
  for (size_t i = 0; i < found->items.size(); ++i) {
    sections.emplace_back(reading_, found->items[i], table,
                          path_of(name) + "[" + std::to_string(i) + "]");
  }
  return sections;
}

}  // namespace mainspring::config
