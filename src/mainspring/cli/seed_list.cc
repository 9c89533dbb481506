// SPDX-License-Identifier: Apache-2.0
#include "mainspring/cli/seed_list.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "mainspring/config/amount.h"
#include "mainspring/config/field.h"

namespace mainspring::cli {
namespace {

using base::Result;

constexpr size_t kSeedsMax = 10'000;

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

Result<uint64_t> parse_seed(std::string_view text) {
  const auto number = config::parse_amount(text, config::AmountKind::kCount);
  if (number) return static_cast<uint64_t>(*number);
  return base::invalid(
      fmt::format("--seeds: '{}' {}, 42..51 or 1,2,3", text, number.error().message));
}

}  // namespace

Result<std::vector<uint64_t>> parse_seeds(std::string_view text) {
  std::vector<uint64_t> seeds;
  for (const std::string_view part : split(text)) {
    const size_t dots = part.find("..");
    const auto first = parse_seed(part.substr(0, dots));
    if (!first) return tl::unexpected(first.error());
    const auto last = dots == std::string_view::npos ? first : parse_seed(part.substr(dots + 2));
    if (!last) return tl::unexpected(last.error());
    if (*last < *first) {
      return base::invalid(fmt::format("--seeds: '{}' ends before it begins", part));
    }
    if (*last - *first >= kSeedsMax || seeds.size() >= kSeedsMax) {
      return base::invalid("--seeds: more than 10,000 of them");
    }
    for (uint64_t seed = *first; seed <= *last; ++seed) seeds.push_back(seed);
  }
  std::set<uint64_t> seen;
  for (const uint64_t seed : seeds) {
    if (!seen.insert(seed).second) {
      return base::invalid(fmt::format("--seeds: {} is given twice", seed));
    }
  }
  return seeds;
}

Result<std::vector<std::string>> parse_names(std::string_view text, std::string_view what,
                                             const std::vector<std::string_view>& known) {
  std::vector<std::string> names;
  for (const std::string_view name : split(text)) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string_view near = config::nearest_word(name, known);
      std::string message = fmt::format("{}: '{}' is unknown", what, name);
      if (!near.empty()) return base::invalid(message + fmt::format("; did you mean '{}'?", near));
      message += "; expected";
      for (const std::string_view word : known) message += fmt::format(" {}", word);
      return base::invalid(message);
    }
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      return base::invalid(fmt::format("{}: '{}' is given twice", what, name));
    }
    names.emplace_back(name);
  }
  return names;
}

}  // namespace mainspring::cli
