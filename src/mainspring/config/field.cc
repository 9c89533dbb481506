// SPDX-License-Identifier: Apache-2.0
#include "mainspring/config/field.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "mainspring/base/check.h"
#include "mainspring/config/amount.h"
#include "mainspring/config/section.h"

namespace mainspring::config {
namespace {

// Levenshtein's distance: how many letters to add, drop or change.
size_t distance(std::string_view left, std::string_view right) {
  std::vector<size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < left.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < right.size(); ++j) {
      const size_t changed = diagonal + (left[i] == right[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, changed});
    }
  }
  return row.back();
}

bool is_amount(FieldType type) { return type <= FieldType::kDurations; }

std::string link_to(std::string_view section) {
  std::string anchor;
  for (const char character : section) anchor += character == ' ' ? '-' : character;
  return "[" + std::string(section) + "](#" + anchor + ")";
}

std::string form_of(const Field& field) {
  switch (field.type) {
    case FieldType::kCount:
      return "whole number";
    case FieldType::kCpu:
      return "CPUs";
    case FieldType::kBytes:
      return "bytes";
    case FieldType::kShare:
      return "part of a GPU";
    case FieldType::kRatio:
      return "ratio";
    case FieldType::kProbability:
      return "probability";
    case FieldType::kDuration:
      return "duration";
    case FieldType::kDurations:
      return "duration or range";
    case FieldType::kPriority:
      return "whole number or name";
    case FieldType::kQuota:
      return "amount, part such as `60 %`, or `unlimited`";
    case FieldType::kLimit:
      return "amount, or `unlimited`";
    case FieldType::kText:
      return "text";
    case FieldType::kId:
    case FieldType::kName:
      return "name";
    case FieldType::kNames:
      return "list of names";
    case FieldType::kFlag:
      return "`true` or `false`";
    case FieldType::kLabels:
      return "mapping of names";
    case FieldType::kCounts:
      return "mapping to whole numbers";
    case FieldType::kOne:
      return link_to(field.section);
    case FieldType::kNamed:
      return "mapping of names to " + link_to(field.section);
    case FieldType::kMany:
      return "list of " + link_to(field.section);
    case FieldType::kOneOrMany:
      return link_to(field.section) + ", or a list of them";
    case FieldType::kChoice:
      break;
  }
  std::string text = "`";
  for (const char character : field.words) {
    if (character == ' ') {
      text += "`, `";
    } else {
      text += character;
    }
  }
  return text + "`";
}

std::string range_of(const Field& field) {
  if (!is_amount(field.type)) return "";
  const AmountKind kind = amount_kind(field.type);
  return format_amount(field.min, kind) + " to " + format_amount(field.max, kind);
}

}  // namespace

const Field& FieldTable::row(std::string_view name) const {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const Field& field) { return field.name == name; });
  MAINSPRING_CHECK(found != fields.end(), "the table of fields has no such row");
  return *found;
}

std::string describe_tables(std::span<const FieldTable* const> tables) {
  std::string page;
  for (const FieldTable* table : tables) {
    page += "### " + std::string(table->title) + "\n\n" + std::string(table->doc) + "\n\n";
    page += "| field | value | if left out | range | meaning |\n|---|---|---|---|---|\n";
    for (const Field& field : table->fields) {
      const std::string fallback = field.required ? "required"
                                   : field.fallback.empty()
                                       ? "–"
                                       : "`" + std::string(field.fallback) + "`";
      page += "| `" + std::string(field.name) + "` | " + form_of(field) + " | " + fallback + " | " +
              range_of(field) + " | " + std::string(field.doc) + " |\n";
    }
    page += "\n";
  }
  return page;
}

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known) {
  constexpr size_t kWordLengthMax = 64;
  if (word.size() > kWordLengthMax) return {};
  std::string_view best;
  // In halves, so that of two words as far away the one that goes on where this one ends is nearer.
  size_t best_halves = 2 * std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    const size_t here = distance(word, candidate);
    const size_t halves = 2 * here - (here > 0 && candidate.starts_with(word) ? 1 : 0);
    if (halves >= best_halves || here >= candidate.size()) continue;
    best = candidate;
    best_halves = halves;
  }
  return best;
}

}  // namespace mainspring::config
