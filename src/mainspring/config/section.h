// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/base/result.h"
#include "mainspring/config/amount.h"
#include "mainspring/config/field.h"
#include "mainspring/config/yaml_tree.h"
#include "mainspring/model/spec.h"

// Typed reading of one mapping against its table of fields.
//
// The first mistake of a file is kept and every later call returns something harmless, so that
// readers state what they want and look at the outcome once.

namespace mainspring::config {

class Reading {
 public:
  explicit Reading(std::string file) : file_(std::move(file)) {}

  void report(const YamlNode& where, const std::string& message);
  [[nodiscard]] bool failed() const { return error_.has_value(); }
  [[nodiscard]] const base::Error& error() const { return *error_; }

 private:
  std::string file_;
  std::optional<base::Error> error_;
};

class Section {
 public:
  // Refuses what is no mapping, unknown fields (naming the nearest known one), and missing required
  // ones. `path` names the mapping in messages: "workload.jobs[2]".
  Section(Reading& reading, const YamlNode& node, const FieldTable& table, std::string path);

  [[nodiscard]] Reading& reading() const { return reading_; }
  [[nodiscard]] const YamlNode& node() const { return node_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool has(std::string_view name) const { return node_.find(name) != nullptr; }
  // The field's value where it is given, otherwise the mapping: where a message points to.
  [[nodiscard]] const YamlNode& where(std::string_view name) const;
  // Reports a mistake of this field.
  void report(std::string_view name, const std::string& message) const;

  // Each returns the fallback of the table when the field is left out, and 0 or "" where there is
  // none.
  [[nodiscard]] int64_t amount(std::string_view name) const;
  [[nodiscard]] base::Duration duration(std::string_view name) const;
  [[nodiscard]] base::Instant instant(std::string_view name) const;
  [[nodiscard]] std::pair<base::Duration, base::Duration> durations(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] std::vector<model::Label> labels(std::string_view name) const;
  // In the order of the file.
  [[nodiscard]] std::vector<std::pair<std::string, int64_t>> counts(std::string_view name) const;
  // The position of the word among the field's words.
  [[nodiscard]] size_t choice(std::string_view name) const;

  [[nodiscard]] std::optional<Section> one(std::string_view name, const FieldTable& table) const;
  // In the order of the file.
  [[nodiscard]] std::vector<std::pair<std::string, Section>> named(std::string_view name,
                                                                   const FieldTable& table) const;
  [[nodiscard]] std::vector<Section> many(std::string_view name, const FieldTable& table) const;

 private:
  [[nodiscard]] std::string path_of(std::string_view name) const;
  void check_keys(const FieldTable& table) const;
  // The scalar of a field as written, or its fallback; nothing where neither is there.
  [[nodiscard]] std::optional<std::string> scalar(const Field& field) const;
  [[nodiscard]] int64_t parse(const Field& field, std::string_view text, AmountKind kind) const;
  [[nodiscard]] std::string checked_name(const YamlNode& node, const std::string& path,
                                         std::string_view marks = "._-/:") const;

  Reading& reading_;
  const YamlNode& node_;
  const FieldTable& table_;
  std::string path_;
};

// Whether the text may be what a node, a job, a group or a level is called.
bool is_id(std::string_view text);

// The kind of amount behind a type of field; only for those that are amounts.
AmountKind amount_kind(FieldType type);

}  // namespace mainspring::config
