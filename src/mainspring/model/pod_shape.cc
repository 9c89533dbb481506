// SPDX-License-Identifier: Apache-2.0
#include "mainspring/model/pod_shape.h"

#include <algorithm>

#include "mainspring/model/spec.h"
#include "mainspring/model/spec_checks.h"

namespace mainspring::model {

using base::invalid;
using base::Status;

Status check_name(std::string_view field, std::string_view name, size_t length_max) {
  if (name.empty()) return invalid(std::string(field) + " is empty");
  if (name.size() > length_max) {
    return invalid(std::string(field) + " is longer than " + std::to_string(length_max) +
                   " characters");
  }
  const bool printable = std::all_of(name.begin(), name.end(), [](char character) {
    return static_cast<unsigned char>(character) > 0x20 && character != 0x7f;
  });
  if (!printable) return invalid(std::string(field) + " has a space or control character");
  return {};
}

Status check_amount(std::string_view field, int64_t amount) {
  if (amount < 0) {
    return invalid(std::string(field) + " is negative (" + std::to_string(amount) + ")");
  }
  if (amount > kAmountMax) {
    return invalid(std::string(field) + " is above 2^53 (" + std::to_string(amount) + ")");
  }
  return {};
}

Status check_resources(const std::string& field, const Resources& resources) {
  for (size_t i = 0; i < kResourceCount; ++i) {
    const auto name = to_string(static_cast<Resource>(i));
    if (auto ok = check_amount(field + "." + std::string(name), resources.amounts[i]); !ok)
      return ok;
  }
  return {};
}

Status check_named(const std::string& field, std::span<const NamedAmount> amounts, int64_t least) {
  for (size_t i = 0; i < amounts.size(); ++i) {
    const NamedAmount& one = amounts[i];
    if (auto ok = check_name(field + ".name", one.name); !ok) return ok;
    if (one.amount < least || one.amount > kNamedAmountMax) {
      return invalid(field + " of " + one.name + " is not in " + std::to_string(least) +
                     "..2^43 (" + std::to_string(one.amount) + ")");
    }
    if (i > 0 && amounts[i - 1].name >= one.name) {
      return invalid(field + " is not sorted, or names " + one.name + " twice");
    }
  }
  return {};
}

namespace {

constexpr uint32_t kGpuCountMax = static_cast<uint32_t>(kGpusPerNodeMax);
// Of tags, rules, attachments and choices: more is no pod, but a mistake.
constexpr size_t kListLengthMax = 1'000;
constexpr size_t kTagLengthMax = 4'096;

Status check_gpu_request(const GpuRequest& gpu) {
  if (gpu.count == 0) return {};
  if (gpu.count > kGpuCountMax) {
    return invalid("gpu.count is above 64, the most that one node can have (" +
                   std::to_string(gpu.count) + ")");
  }
  if (auto ok = check_amount("gpu.memory_bytes", gpu.memory_bytes); !ok) return ok;
  if (auto ok = check_amount("gpu.device_memory_bytes_min", gpu.device_memory_bytes_min); !ok) {
    return ok;
  }
  if (gpu.milli < 1 || gpu.milli > kWholeGpuMilli) {
    return invalid("gpu.milli is not in 1..1000 (" + std::to_string(gpu.milli) + ")");
  }
  if (gpu.memory_bytes > 0 && gpu.milli != kWholeGpuMilli) {
    return invalid("gpu.milli and gpu.memory_bytes exclude each other");
  }
  return {};
}

Status check_requirements(const std::string& field, std::span<const NodeRequirement> needs) {
  for (const NodeRequirement& need : needs) {
    if (need.key.empty()) return invalid(field + ".key is empty");
    const bool takes_values = need.op == SelectorOp::kIn || need.op == SelectorOp::kNotIn;
    if (takes_values && need.values.empty()) {
      return invalid(field + ".values of " + need.key + " is empty");
    }
    if (need.key == kNodeNameKey && !takes_values) {
      return invalid(field + ": @name goes with In and NotIn only");
    }
  }
  return {};
}

// Names that people's selectors are spelt into: spaces are allowed.
Status check_text(const std::string& field, std::string_view text) {
  if (text.size() > kTagLengthMax) return invalid(field + " is longer than 4,096 characters");
  const bool printable = std::ranges::all_of(text, [](char character) {
    return static_cast<unsigned char>(character) >= 0x20 && character != 0x7f;
  });
  return printable ? Status{} : invalid(field + " has a control character");
}

template <class T>
Status check_list(const std::string& field, const std::vector<T>& list) {
  if (list.size() > kListLengthMax) return invalid(field + " has more than 1,000 entries");
  const auto out_of_order = [](const T& left, const T& right) { return !(left < right); };
  if (std::ranges::adjacent_find(list, out_of_order) != list.end()) {
    return invalid(field + " is not sorted, or has an entry twice");
  }
  return {};
}

Status check_rules(const PodShape& shape) {
  if (auto ok = check_list("tags", shape.tags); !ok) return ok;
  if (auto ok = check_list("rules", shape.rules); !ok) return ok;
  for (const std::string& tag : shape.tags) {
    if (tag.empty()) return invalid("tags has an empty entry");
    if (auto ok = check_text("tags", tag); !ok) return ok;
  }
  for (const PodRule& rule : shape.rules) {
    if (rule.tag.empty()) return invalid("rules.tag is empty");
    if (auto ok = check_text("rules.tag", rule.tag); !ok) return ok;
    if (auto ok = check_text("rules.level", rule.level); !ok) return ok;
    if (rule.max_skew < 1) return invalid("rules.max_skew is below 1");
    if (rule.min_domains < 1) return invalid("rules.min_domains is below 1");
    const PodRule plain{.kind = rule.kind, .tag = rule.tag, .level = rule.level};
    if (rule.kind != PodRuleKind::kSpread && rule != plain) {
      return invalid(
          "rules: max_skew, min_domains, honor_requirements and honor_taints are of "
          "spread rules only");
    }
  }
  return {};
}

Status check_attachments(const PodShape& shape) {
  if (auto ok = check_list("attachments", shape.attachments); !ok) return ok;
  for (const Attachment& one : shape.attachments) {
    if (auto ok = check_name("attachments.driver", one.driver); !ok) return ok;
    if (one.volume.empty()) return invalid("attachments.volume is empty");
    if (auto ok = check_text("attachments.volume", one.volume); !ok) return ok;
  }
  return {};
}

}  // namespace

Status validate(const PodShape& shape) {
  if (auto ok = check_resources("request", shape.request); !ok) return ok;
  if (shape.request[Resource::kPods] != 1) return invalid("request.pods is not 1");
  if (shape.others.size() > kListLengthMax) return invalid("others has more than 1,000 entries");
  if (auto ok = check_named("others", shape.others, 1); !ok) return ok;
  if (auto ok = check_requirements("node_requirements", shape.node_requirements); !ok) return ok;
  if (auto ok = check_list("node_choices", shape.node_choices); !ok) return ok;
  for (const NodeChoice& choice : shape.node_choices) {
    for (const std::vector<NodeRequirement>& term : choice.terms) {
      if (auto ok = check_requirements("node_choices", term); !ok) return ok;
    }
  }
  if (auto ok = check_rules(shape); !ok) return ok;
  if (auto ok = check_attachments(shape); !ok) return ok;
  return check_gpu_request(shape.gpu);
}

}  // namespace mainspring::model
