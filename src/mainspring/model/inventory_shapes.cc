// SPDX-License-Identifier: Apache-2.0
// The shapes of Inventory: known by a key, and compiled for comparison against nodes.
#include <algorithm>
#include <charconv>

#include "mainspring/model/inventory.h"

namespace mainspring::model {
namespace {

// A text that is equal exactly for equal shapes: fields separated by bytes that no name contains.
class ShapeKey {
 public:
  void add(std::string_view text) {
    key_ += text;
    key_ += '\x1f';
  }
  void add(int64_t number) { add(std::to_string(number)); }
  std::string take() { return std::move(key_); }

 private:
  std::string key_;
};

void add_needs(ShapeKey& key, std::span<const NodeRequirement> needs) {
  for (const NodeRequirement& need : needs) {
    key.add("need");
    key.add(need.key);
    key.add(static_cast<int64_t>(need.op));
    for (const std::string& value : need.values) key.add(value);
  }
}

void add_besides(ShapeKey& key, const PodShape& spec) {
  for (const NamedAmount& other : spec.others) {
    key.add("other");
    key.add(other.name);
    key.add(other.amount);
  }
  for (const std::string& tag : spec.tags) {
    key.add("tag");
    key.add(tag);
  }
  for (const PodRule& rule : spec.rules) {
    key.add("rule");
    key.add(static_cast<int64_t>(rule.kind));
    key.add(rule.tag);
    key.add(rule.level);
    key.add(rule.max_skew);
    key.add(rule.min_domains);
    key.add(rule.honor_requirements ? 1 : 0);
    key.add(rule.honor_taints ? 1 : 0);
  }
  for (const Attachment& one : spec.attachments) {
    key.add("attachment");
    key.add(one.driver);
    key.add(one.volume);
  }
}

std::string key_of(const PodShape& spec) {
  ShapeKey key;
  for (const int64_t amount : spec.request.amounts) key.add(amount);
  key.add(spec.gpu.count);
  if (spec.gpu.count > 0) {
    key.add(spec.gpu.resource);
    key.add(spec.gpu.milli);
    key.add(spec.gpu.memory_bytes);
    key.add(spec.gpu.device_memory_bytes_min);
    std::vector<std::string> models = spec.gpu.models;
    std::ranges::sort(models);
    for (const std::string& model : models) key.add(model);
  }
  add_needs(key, spec.node_requirements);
  for (const NodeChoice& choice : spec.node_choices) {
    key.add("choice");
    for (const auto& term : choice.terms) {
      key.add("term");
      add_needs(key, term);
    }
  }
  for (const Toleration& toleration : spec.tolerations) {
    key.add("tolerate");
    key.add(toleration.key);
    key.add(toleration.value);
    key.add(toleration.exists ? 1 : 0);
    key.add(toleration.any_effect ? -1 : static_cast<int64_t>(toleration.effect));
  }
  add_besides(key, spec);
  return key.take();
}

}  // namespace

ShapeIx Inventory::intern_shape(const PodShape& spec) {
  const uint32_t number = shape_keys_.intern(key_of(spec));
  if (number < shapes_.size()) return ShapeIx{number};
  Shape shape;
  shape.spec = spec;
  shape.request = spec.request;
  shape.gpu_count = spec.gpu.count;
  shape.whole = spec.gpu.whole();
  shape.gpu_memory_bytes = spec.gpu.memory_bytes;
  shape.gpu_milli = spec.gpu.count == 0 || spec.gpu.memory_bytes > 0 ? 0 : spec.gpu.milli;
  shape.device_memory_bytes_min = spec.gpu.device_memory_bytes_min;
  compile_models(shape);
  shape.requirements = compile_term(spec.node_requirements);
  for (const NodeChoice& choice : spec.node_choices) {
    std::vector<ShapeTerm>& terms = shape.choices.emplace_back();
    for (const auto& term : choice.terms) terms.push_back(compile_term(term));
  }
  for (const Toleration& toleration : spec.tolerations) {
    shape.tolerations.push_back({.key = names_.intern(toleration.key),
                                 .value = names_.intern(toleration.value),
                                 .any_key = toleration.key.empty() && toleration.exists,
                                 .exists = toleration.exists,
                                 .any_effect = toleration.any_effect,
                                 .effect = toleration.effect});
  }
  for (const NamedAmount& other : spec.others) {
    shape.others.push_back({names_.intern(other.name), other.amount});
  }
  std::ranges::sort(shape.others, {}, &ShapeAmount::name);
  for (const Attachment& one : spec.attachments) {
    shape.attachments.push_back({names_.intern(one.driver), names_.intern(one.volume)});
  }
  std::ranges::sort(shape.attachments);
  compile_rules(shape);
  shapes_.push_back(std::move(shape));
  return ShapeIx{number};
}

ShapeTerm Inventory::compile_term(std::span<const NodeRequirement> needs) {
  ShapeTerm term;
  for (const NodeRequirement& need : needs) {
    ShapeRequirement compiled{.key = names_.intern(need.key),
                              .op = need.op,
                              .values = {},
                              .number = 0,
                              .on_name = need.key == kNodeNameKey};
    for (const std::string& value : need.values) compiled.values.push_back(names_.intern(value));
    if (!need.values.empty()) {
      const std::string& text = need.values.front();
      std::from_chars(text.data(), text.data() + text.size(), compiled.number);
    }
    term.push_back(std::move(compiled));
  }
  return term;
}

void Inventory::compile_rules(Shape& shape) {
  for (const std::string& tag : shape.spec.tags) shape.tags.push_back(tags_.intern(tag));
  std::ranges::sort(shape.tags);
  for (const PodRule& rule : shape.spec.rules) {
    RuleLevel level;
    if (rule.level == kClusterLevel) {
      level.kind = RuleLevel::Kind::kCluster;
    } else if (rule.level != kNodeLevel) {
      level = {RuleLevel::Kind::kLabel, names_.intern(rule.level)};
    }
    shape.rules.push_back({.kind = rule.kind,
                           .tag = tags_.intern(rule.tag),
                           .level = level,
                           .max_skew = rule.max_skew,
                           .min_domains = rule.min_domains,
                           .honor_requirements = rule.honor_requirements,
                           .honor_taints = rule.honor_taints});
    tags_.watch(shape.rules.back());
  }
}

void Inventory::compile_models(Shape& shape) const {
  const GpuRequest& gpu = shape.spec.gpu;
  shape.gpu_resource = Shape::kNoGpuResource;
  for (size_t i = 0; i < gpu_resources_.size(); ++i) {
    if (gpu_resources_[i] == gpu.resource) shape.gpu_resource = static_cast<uint8_t>(i);
  }
  shape.gpu_models = gpu.models.empty() ? ~0ULL : 0;
  for (size_t i = 0; i < gpu_models_.size(); ++i) {
    if (std::ranges::find(gpu.models, gpu_models_[i]) != gpu.models.end()) {
      shape.gpu_models |= 1ULL << i;
    }
  }
}

}  // namespace mainspring::model
