// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/decode_fields.h"

#include <array>
#include <limits>
#include <utility>

#include "mainspring/kube/quantity.h"
#include "mainspring/kube/time_text.h"

namespace mainspring::kube {
namespace {

using base::Json;

constexpr size_t kTextBytesMax = size_t{1} << 20;
// What kubectl keeps there is a second copy of the object.
constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

}  // namespace

const Json* FieldReader::member(const Json& object, std::string_view key, Json::Kind kind) {
  const Json* found = object.find(key);
  if (found == nullptr || found->is(Json::Kind::kNull)) return nullptr;
  if (found->is(kind)) return found;
  fail(key, "must be of type " + std::string(to_string(kind)) + ", not " +
                std::string(to_string(found->kind())));
  return nullptr;
}

void FieldReader::fail(std::string_view key, const std::string& why) {
  if (error_) return;
  std::string path;
  for (const Step& step : path_) {
    if (!path.empty()) path += '.';
    path += step.key;
    if (step.index != kNoIndex) path += "[" + std::to_string(step.index) + "]";
  }
  if (!key.empty()) {
    if (!path.empty()) path += '.';
    path += key;
  }
  error_ = path + ": " + why;
}

base::Error FieldReader::error() const {
  return {base::ErrorCode::kInvalidInput, error_.value_or("")};
}

void FieldReader::text(const Json& object, std::string_view key, std::string& out) {
  const Json* found = member(object, key, Json::Kind::kString);
  if (found == nullptr) return;
  if (found->as_string().size() > kTextBytesMax) {
    fail(key, "has more than a megabyte");
    return;
  }
  out = found->as_string();
}

void FieldReader::truth(const Json& object, std::string_view key, bool& out) {
  const Json* found = member(object, key, Json::Kind::kBool);
  if (found != nullptr) out = found->as_bool();
}

void FieldReader::integer(const Json& object, std::string_view key, int64_t low, int64_t high,
                          int64_t& out) {
  const Json* found = member(object, key, Json::Kind::kInt);
  if (found == nullptr) return;
  const int64_t number = found->as_int();
  if (number < low || number > high) {
    fail(key, std::to_string(number) + " is not in " + std::to_string(low) + ".." +
                  std::to_string(high));
    return;
  }
  out = number;
}

void FieldReader::integer(const Json& object, std::string_view key, int32_t low, int32_t& out) {
  int64_t number = out;
  integer(object, key, low, std::numeric_limits<int32_t>::max(), number);
  out = static_cast<int32_t>(number);
}

void FieldReader::time(const Json& object, std::string_view key, base::Instant& out) {
  const Json* found = member(object, key, Json::Kind::kString);
  if (found == nullptr) return;
  const auto time = parse_time(found->as_string());
  if (!time) {
    fail(key, "is no time");
    return;
  }
  out = *time;
}

void FieldReader::texts(const Json& object, std::string_view key, std::vector<std::string>& out) {
  const Json* list = member(object, key, Json::Kind::kArray);
  if (list == nullptr) return;
  out.reserve(list->as_array().size());
  for (const Json& item : list->as_array()) {
    if (!item.is(Json::Kind::kString)) {
      fail(key, "must hold texts");
      return;
    }
    out.push_back(item.as_string());
  }
}

void FieldReader::map(const Json& object, std::string_view key, StringMap& out) {
  const Json* map = member(object, key, Json::Kind::kObject);
  if (map == nullptr) return;
  for (const base::JsonMember& entry : map->as_object()) {
    if (!entry.value.is(Json::Kind::kString)) {
      fail(key, "the value of \"" + entry.key.substr(0, 100) + "\" must be a text");
      return;
    }
    out.emplace(entry.key, entry.value.as_string());
  }
}

void FieldReader::quantity(const Json& object, std::string_view key, int64_t& out) {
  const Json* found = object.find(key);
  if (found == nullptr || found->is(Json::Kind::kNull)) return;
  std::optional<int64_t> amount;
  const auto unit = key == "cpu" ? QuantityUnit::kMilli : QuantityUnit::kOne;
  if (found->is(Json::Kind::kString)) {
    amount = parse_quantity(found->as_string(), unit);
  } else if (found->is(Json::Kind::kInt)) {
    amount = parse_quantity(std::to_string(found->as_int()), unit);
  }
  if (!amount || *amount < 0) {
    fail(key, found->is(Json::Kind::kString)
                  ? "\"" + found->as_string().substr(0, 100) + "\" is no amount from 0 to 2^63 - 1"
                  : "is no amount from 0 to 2^63 - 1");
    return;
  }
  out = *amount;
}

void FieldReader::resources(const Json& object, std::string_view key,
                            std::map<std::string, int64_t>& out) {
  within(object, key, [&](const Json& map) {
    for (const base::JsonMember& entry : map.as_object()) {
      int64_t amount = 0;
      quantity(map, entry.key, amount);
      out[entry.key] = amount;
    }
  });
}

void read_meta(FieldReader& fields, const Json& object, Meta& out) {
  fields.within(object, "metadata", [&](const Json& meta) {
    fields.text(meta, "namespace", out.namespace_name);
    fields.text(meta, "name", out.name);
    fields.text(meta, "uid", out.uid);
    fields.text(meta, "resourceVersion", out.resource_version);
    fields.map(meta, "labels", out.labels);
    fields.map(meta, "annotations", out.annotations);
    fields.time(meta, "creationTimestamp", out.created_at);
    const Json* deletion = meta.find("deletionTimestamp");
    out.deleting = deletion != nullptr && !deletion->is(Json::Kind::kNull);
    fields.each(meta, "ownerReferences", [&](const Json& reference) {
      bool controls = false;
      fields.truth(reference, "controller", controls);
      if (!controls || out.controller) return;
      Owner& owner = out.controller.emplace();
      fields.text(reference, "apiVersion", owner.api_version);
      fields.text(reference, "kind", owner.kind);
      fields.text(reference, "name", owner.name);
      fields.text(reference, "uid", owner.uid);
    });
    if (out.name.empty()) fields.fail("name", "is missing");
  });
  if (out.name.empty()) fields.fail("metadata", "is missing");
  out.annotations.erase(std::string(kLastApplied));
}

namespace {

bool read_op(const std::string& word, model::SelectorOp& out) {
  using model::SelectorOp;
  static const std::array<std::pair<std::string_view, SelectorOp>, 6> kWords = {
      {{"In", SelectorOp::kIn},
       {"NotIn", SelectorOp::kNotIn},
       {"Exists", SelectorOp::kExists},
       {"DoesNotExist", SelectorOp::kDoesNotExist},
       {"Gt", SelectorOp::kGt},
       {"Lt", SelectorOp::kLt}}};
  for (const auto& [text, op] : kWords) {
    if (text != word) continue;
    out = op;
    return true;
  }
  return false;
}

void read_requirements(FieldReader& fields, const Json& object, std::string_view key,
                       bool with_order, std::vector<model::NodeRequirement>& out) {
  fields.each(object, key, [&](const Json& item) {
    model::NodeRequirement requirement;
    std::string word;
    fields.text(item, "key", requirement.key);
    fields.text(item, "operator", word);
    fields.texts(item, "values", requirement.values);
    const bool known = read_op(word, requirement.op);
    const bool ordered = requirement.op >= model::SelectorOp::kGt;
    if (!known || (ordered && !with_order)) fields.fail("operator", "is not known");
    out.push_back(std::move(requirement));
  });
}

}  // namespace

void read_label_selector(FieldReader& fields, const Json& object, std::string_view key,
                         LabelSelector& out) {
  out.matches_nothing = true;
  fields.within(object, key, [&](const Json& selector) {
    out.matches_nothing = false;
    StringMap labels;
    fields.map(selector, "matchLabels", labels);
    for (auto& [name, value] : labels) {
      out.requirements.push_back({name, model::SelectorOp::kIn, {std::move(value)}});
    }
    read_requirements(fields, selector, "matchExpressions", false, out.requirements);
  });
}

void read_node_terms(FieldReader& fields, const Json& object, std::string_view key,
                     std::vector<NodeTerm>& out) {
  fields.each(object, key, [&](const Json& item) {
    NodeTerm term;
    read_requirements(fields, item, "matchExpressions", true, term.labels);
    read_requirements(fields, item, "matchFields", false, term.fields);
    if (!term.labels.empty() || !term.fields.empty()) out.push_back(std::move(term));
  });
}

}  // namespace mainspring::kube
