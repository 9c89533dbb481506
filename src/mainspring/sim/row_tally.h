// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mainspring::sim {

// The account of a trace's rows: none is dropped without a reason and a place.
class RowTally {
 public:
  struct Example {
    std::string place;  // file:line:column
    std::string message;
  };
  static constexpr size_t kExamplesMax = 10;

  void count_used() { ++used_; }
  // `reason` is short and from a fixed set ("cpu_milli negative"); `message` is for people.
  void count_skipped(std::string reason, std::string place, std::string message);
  void add(const RowTally& other);

  [[nodiscard]] int64_t used() const { return used_; }
  [[nodiscard]] int64_t skipped() const { return skipped_; }
  [[nodiscard]] const std::map<std::string, int64_t>& skipped_by_reason() const {
    return skipped_by_reason_;
  }
  // The first few skipped rows.
  [[nodiscard]] const std::vector<Example>& examples() const { return examples_; }
  // "3 of 8152 rows skipped: 2 cpu_milli negative, 1 name empty (first: pods.csv:7:4: ...)", or
  // empty when every row was used.
  [[nodiscard]] std::string summary() const;

 private:
  int64_t used_ = 0;
  int64_t skipped_ = 0;
  std::map<std::string, int64_t> skipped_by_reason_;
  std::vector<Example> examples_;
};

}  // namespace mainspring::sim
