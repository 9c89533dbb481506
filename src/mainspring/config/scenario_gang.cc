// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "mainspring/config/field_limits.h"
#include "mainspring/config/scenario_fields.h"
#include "mainspring/config/scenario_parts.h"

namespace mainspring::config {
namespace {

constexpr size_t kGroupsPerJobMax = 20'000;
constexpr size_t kShapesPerJobMax = 1'000;

model::GpuRequest read_gpu_request(const Section& pods) {
  model::GpuRequest gpu;
  const bool share = pods.has("gpu_share");
  const bool memory = pods.has("gpu_memory");
  if (share && memory) {
    pods.report("gpu_memory", "and `gpu_share` exclude each other");
  }
  gpu.count = static_cast<uint32_t>(pods.has("gpus") ? pods.amount("gpus") : share || memory);
  for (const char* field :
       {"gpu_share", "gpu_memory", "gpu_memory_min", "gpu_models", "gpu_resource"}) {
    if (gpu.count == 0 && pods.has(field)) pods.report(field, "has no meaning without `gpus`");
  }
  if (gpu.count == 0) return gpu;
  if (share) gpu.milli = static_cast<int32_t>(pods.amount("gpu_share"));
  gpu.memory_bytes = pods.amount("gpu_memory");
  gpu.device_memory_bytes_min = pods.amount("gpu_memory_min");
  gpu.resource = pods.text("gpu_resource");
  gpu.models = pods.names("gpu_models");
  return gpu;
}

void read_conditions(const Section& pods, model::PodShape& shape) {
  using enum model::SelectorOp;
  constexpr model::SelectorOp kOps[] = {kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt};
  constexpr model::TaintEffect kEffects[] = {
      model::TaintEffect::kNoSchedule, model::TaintEffect::kNoSchedule,
      model::TaintEffect::kPreferNoSchedule, model::TaintEffect::kNoExecute};
  for (model::Label& label : pods.labels("node_selector")) {
    shape.node_requirements.push_back({.key = std::move(label.key), .values = {label.value}});
  }
  for (const Section& section : pods.many("node_requirements", requirement_table())) {
    model::NodeRequirement need{.key = section.text("key"),
                                .op = kOps[section.choice("op")],
                                .values = section.names("values")};
    const bool compares = need.op == kGt || need.op == kLt;
    if (compares && (need.values.size() != 1 ||
                     !parse_amount(need.values.front(), AmountKind::kCount).has_value())) {
      section.report("values", "expected one whole number, such as [8]");
    }
    const bool lists = need.op == kIn || need.op == kNotIn;
    if (lists && need.values.empty()) section.report("values", "is missing; expected a list");
    shape.node_requirements.push_back(std::move(need));
  }
  for (const Section& section : pods.many("tolerations", toleration_table())) {
    const size_t effect = section.choice("effect");
    model::Toleration toleration{.key = section.text("key"),
                                 .value = section.text("value"),
                                 .exists = section.flag("exists"),
                                 .any_effect = effect == 0,
                                 .effect = kEffects[effect]};
    if (toleration.key.empty() && !toleration.exists) {
      section.report("key", "is missing; only with `exists: true` it may be");
    }
    shape.tolerations.push_back(std::move(toleration));
  }
}

std::vector<std::string> sorted_names(const Section& pods, const char* field) {
  std::vector<std::string> names = pods.names(field);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void read_company(const Section& pods, model::PodShape& shape) {
  constexpr model::PodRuleKind kKinds[] = {model::PodRuleKind::kNear, model::PodRuleKind::kApart,
                                           model::PodRuleKind::kSpread};
  shape.tags = sorted_names(pods, "tags");
  for (const std::string& volume : sorted_names(pods, "volumes")) {
    shape.attachments.push_back({kVolumeDriver, volume});
  }
  std::set<model::PodRule> rules;
  for (const Section& section : pods.many("rules", pod_rule_table())) {
    model::PodRule rule{.kind = kKinds[section.choice("kind")],
                        .tag = section.text("tag"),
                        .level = section.text("level")};
    for (const char* field : {"max_skew", "min_domains", "honor_requirements", "honor_taints"}) {
      if (rule.kind != model::PodRuleKind::kSpread && section.has(field)) {
        section.report(field, "has a meaning for `spread` only");
      }
    }
    if (rule.kind == model::PodRuleKind::kSpread) {
      rule.max_skew = static_cast<int32_t>(section.amount("max_skew"));
      rule.min_domains = static_cast<int32_t>(section.amount("min_domains"));
      rule.honor_requirements = section.flag("honor_requirements");
      rule.honor_taints = section.flag("honor_taints");
    }
    rules.insert(std::move(rule));
  }
  shape.rules.assign(rules.begin(), rules.end());
}

uint32_t read_shape(const Section& pods, model::JobSpec& spec) {
  model::PodShape shape;
  shape.request[model::Resource::kCpuMilli] = pods.amount("cpu");
  shape.request[model::Resource::kMemoryBytes] = pods.amount("memory");
  shape.request[model::Resource::kEphemeralBytes] = pods.amount("ephemeral_storage");
  shape.request[model::Resource::kPods] = 1;
  shape.gpu = read_gpu_request(pods);
  read_conditions(pods, shape);
  read_company(pods, shape);
  const auto same = std::find(spec.shapes.begin(), spec.shapes.end(), shape);
  if (same != spec.shapes.end()) return static_cast<uint32_t>(same - spec.shapes.begin());
  if (spec.shapes.size() >= kShapesPerJobMax) {
    pods.reading().report(pods.node(), pods.path() + ": a job has at most 1,000 kinds of pods");
  }
  spec.shapes.push_back(std::move(shape));
  return static_cast<uint32_t>(spec.shapes.size() - 1);
}

class GangReader {
 public:
  explicit GangReader(model::JobSpec& spec) : spec_(spec) {}

  // `path` is the group's way from the root, with a slash at its end.
  void read(const Section& section, std::string name, int32_t parent, const std::string& path) {
    const auto index = static_cast<uint32_t>(spec_.groups.size());
    spec_.groups.push_back({.name = std::move(name),
                            .parent = parent,
                            .required_level = section.text("required"),
                            .preferred_level = section.text("preferred")});
    int64_t children = read_pods(section, index, path);
    std::set<std::string> names;
    for (const Section& group : section.many("groups", group_table())) {
      children += read_copies(group, static_cast<int32_t>(index), path, names);
      if (group.reading().failed()) return;
    }
    if (children == 0) {
      section.reading().report(section.node(), section.path() + ": expected `pods` or `groups`");
    }
    if (!section.has("min")) return;
    const int64_t min = section.amount("min");
    if (min > children) {
      section.report("min", "is " + std::to_string(min) + ", but there are only " +
                                std::to_string(children) + " pods and groups");
    }
    spec_.groups[index].min_count = static_cast<uint32_t>(min);
  }

 private:
  int64_t read_pods(const Section& section, uint32_t group, const std::string& path) {
    int64_t number = 0;
    for (const Section& pods : section.many("pods", pods_table())) {
      const int64_t count = pods.amount("count");
      const uint32_t shape = read_shape(pods, spec_);
      if (static_cast<int64_t>(spec_.pods.size()) + count > kPodsPerJobMax) {
        pods.report("count", "a job has at most " + std::to_string(kPodsPerJobMax) + " pods");
        return number;
      }
      for (int64_t i = 0; i < count; ++i) {
        spec_.pods.push_back(
            {.id = path + std::to_string(number++), .group = group, .shape = shape});
      }
    }
    return number;
  }

  int64_t read_copies(const Section& group, int32_t parent, const std::string& path,
                      std::set<std::string>& names) {
    const std::string name = group.text("name");
    const bool copies = group.has("copies");
    const int64_t count = copies ? group.amount("copies") : 1;
    for (int64_t i = 0; i < count && !group.reading().failed(); ++i) {
      const std::string own = copies ? name + "-" + std::to_string(i) : name;
      if (!names.insert(own).second) {
        group.report("name", "there are two groups with the name '" + own + "'");
      }
      if (spec_.groups.size() >= kGroupsPerJobMax) {
        group.report("copies", "a job has at most 20,000 groups");
        return i;
      }
      read(group, own, parent, path + own + "/");
    }
    return count;
  }

  model::JobSpec& spec_;
};

}  // namespace

void read_gang(const Section& section, model::JobSpec& spec) {
  GangReader(spec).read(section, "", -1, "");
}

}  // namespace mainspring::config
