// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// What a section of a file may contain: one table that the reader obeys and the reference page
// prints, so that the two cannot differ.

namespace mainspring::config {

enum class FieldType : uint8_t {
  kCount,
  kCpu,
  kBytes,
  kShare,
  kRatio,
  kProbability,
  kDuration,
  kDurations,  // one duration, or a range such as 1s..10s
  kPriority,   // a whole number, or the name of a priority class
  kQuota,      // an amount, a part of the parent's, or unlimited
  kLimit,      // an amount, or unlimited
  kText,       // anything, also several lines
  kId,         // letters, digits and . _ -: what nodes and jobs are called
  kName,       // the same with / and :, as labels and resources have them
  kNames,      // a list of names
  kChoice,     // one of `words`
  kFlag,       // true or false
  kLabels,     // a mapping of names to names
  kCounts,     // a mapping of names to whole numbers
  kOne,        // a mapping with the fields of `section`
  kNamed,      // a mapping of names to these
  kMany,       // a list of these
  kOneOrMany,  // one of these, or a list of them
};

struct Field {
  std::string_view name;
  FieldType type = FieldType::kText;
  std::string_view doc;
  // What holds when the field is left out. Empty: nothing; the doc says what that means.
  std::string_view fallback = "";
  bool required = false;
  // Of amounts, in the unit of the model; both included.
  int64_t min = 0;
  int64_t max = 0;
  std::string_view words = "";    // kChoice: "one two three"
  std::string_view section = "";  // kOne, kNamed, kMany, kOneOrMany: the title of its table
};

struct FieldTable {
  std::string_view title;
  std::string_view doc;
  std::span<const Field> fields;

  // The row of a field that exists.
  [[nodiscard]] const Field& row(std::string_view name) const;
};

// The reference page's part about these tables, as Markdown.
std::string describe_tables(std::span<const FieldTable* const> tables);

// The name of the list that is most like `word`, or empty when none is like it.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known);

}  // namespace mainspring::config
