// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/gang_tree.h"

#include <algorithm>
#include <charconv>

namespace mainspring::sim {

using model::SelectorOp;

bool tree_minimum_met(const model::JobSpec& job, std::span<const uint8_t> counts) {
  std::vector<uint32_t> children(job.groups.size(), 0);
  std::vector<uint32_t> met(job.groups.size(), 0);
  for (size_t i = 0; i < job.pods.size(); ++i) {
    ++children[job.pods[i].group];
    if (counts[i] != 0) ++met[job.pods[i].group];
  }
  for (size_t i = job.groups.size(); i-- > 1;)
    ++children[static_cast<size_t>(job.groups[i].parent)];
  for (size_t i = job.groups.size(); i-- > 0;) {
    const uint32_t wanted = job.groups[i].min_count == model::GroupSpec::kAllChildren
                                ? children[i]
                                : job.groups[i].min_count;
    if (i == 0) return met[0] >= wanted;
    if (met[i] >= wanted) ++met[static_cast<size_t>(job.groups[i].parent)];
  }
  return false;
}

DeviceShare device_share(const model::GpuRequest& request, int64_t memory_bytes) {
  if (request.memory_bytes > 0) {
    const int64_t milli = memory_bytes > 0 ? request.memory_bytes * 1000 / memory_bytes : 1001;
    return {milli, request.memory_bytes, false};
  }
  if (request.milli == model::kWholeGpuMilli) return {1000, memory_bytes, true};
  return {request.milli, memory_bytes * request.milli / 1000, false};
}

namespace {

const std::string* label_of(const model::NodeSpec& node, const std::string& key) {
  const auto found = std::ranges::find(node.labels, key, &model::Label::key);
  return found == node.labels.end() ? nullptr : &found->value;
}

bool number_of(const std::string& text, int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

bool requirement_met(const model::NodeRequirement& need, const std::string* value) {
  const bool listed =
      value != nullptr && std::ranges::find(need.values, *value) != need.values.end();
  int64_t bound = 0;
  int64_t number = 0;
  switch (need.op) {
    case SelectorOp::kIn:
      return listed;
    case SelectorOp::kNotIn:
      return !listed;
    case SelectorOp::kExists:
      return value != nullptr;
    case SelectorOp::kDoesNotExist:
      return value == nullptr;
    case SelectorOp::kGt:
    case SelectorOp::kLt:
      if (value == nullptr || need.values.empty() || !number_of(*value, number)) return false;
      if (!number_of(need.values.front(), bound)) bound = 0;
      return need.op == SelectorOp::kGt ? number > bound : number < bound;
  }
  return false;
}

bool tolerated(const model::Taint& taint, const model::Toleration& toleration) {
  if (!toleration.any_effect && toleration.effect != taint.effect) return false;
  if (toleration.key.empty()) return toleration.exists;
  return toleration.key == taint.key && (toleration.exists || toleration.value == taint.value);
}

}  // namespace

std::string domain_of(const model::CoreConfig& config, const model::NodeSpec& node,
                      const std::string& level) {
  if (level == model::kNodeLevel) return "node:" + node.name;
  for (const model::TopologySpec& topology : config.topologies) {
    std::string path;
    for (const model::Label& step : topology.levels) {
      const std::string* value = label_of(node, step.value);
      if (value != nullptr) path += (path.empty() ? "" : "/") + step.key + ":" + *value;
      if (step.key == level) return value != nullptr ? path : std::string();
    }
  }
  return {};
}

bool node_admits(const model::NodeSpec& node, const model::PodShape& shape) {
  const auto met = [&](const std::vector<model::NodeRequirement>& needs) {
    return std::ranges::all_of(needs, [&](const model::NodeRequirement& need) {
      const bool by_name = need.key == model::kNodeNameKey;
      return requirement_met(need, by_name ? &node.name : label_of(node, need.key));
    });
  };
  const bool labels = met(shape.node_requirements) &&
                      std::ranges::all_of(shape.node_choices, [&](const model::NodeChoice& choice) {
                        return std::ranges::any_of(choice.terms, met);
                      });
  return labels && std::ranges::all_of(node.taints, [&](const model::Taint& taint) {
           return taint.effect == model::TaintEffect::kPreferNoSchedule ||
                  std::ranges::any_of(shape.tolerations, [&](const model::Toleration& toleration) {
                    return tolerated(taint, toleration);
                  });
         });
}

}  // namespace mainspring::sim
