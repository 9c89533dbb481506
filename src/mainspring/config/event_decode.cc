// SPDX-License-Identifier: Apache-2.0
// Reading events; writing them is in event_encode.cc.
#include <limits>
#include <set>
#include <span>

#include "mainspring/config/event_json.h"
#include "mainspring/config/event_words.h"

namespace mainspring::config {
namespace {

using base::Json;

// Reads the members of one object. The first thing that is wrong is kept, and everything after it
// is read as a default; `finish` also tells of members that nobody asked for.
class Members {
 public:
  Members(const Json& json, std::string path, std::string& error)
      : json_(json), path_(std::move(path)), error_(error) {
    if (!json.is(Json::Kind::kObject)) wrong("", "object", json);
  }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  ~Members() {
    if (!error_.empty() || !json_.is(Json::Kind::kObject)) return;
    for (const base::JsonMember& member : json_.as_object()) {
      if (!asked_.contains(member.key)) fail("the field " + name(member.key) + " is not known");
    }
  }

  void read(std::string_view key, std::string& into, bool required = false) {
    const Json* found = find(key, required);
    if (found == nullptr) return;
    if (!found->is(Json::Kind::kString)) return wrong(key, "string", *found);
    into = found->as_string();
  }
  void read(std::string_view key, bool& into) {
    const Json* found = find(key, false);
    if (found == nullptr) return;
    if (!found->is(Json::Kind::kBool)) return wrong(key, "boolean", *found);
    into = found->as_bool();
  }
  template <class Int>
    requires std::is_integral_v<Int>
  void read(std::string_view key, Int& into, bool required = false) {
    const Json* found = find(key, required);
    if (found != nullptr) to_int(*found, name(key), into);
  }
  void read(std::string_view key, base::Instant& into) { read(key, into.ms); }
  void read(std::string_view key, base::Duration& into) { read(key, into.ms); }
  void read(std::string_view key, std::vector<std::string>& into) {
    each(key, [&](const Json& item, const std::string& where) {
      if (!item.is(Json::Kind::kString)) return wrong_at(where, "string", item);
      into.push_back(item.as_string());
    });
  }
  // One of the words, as its number.
  template <class Enum>
  void read_word(std::string_view key, std::span<const std::string_view> words, Enum& into,
                 bool required = true) {
    std::string text;
    read(key, text, required);
    if (!error_.empty() || (text.empty() && !required)) return;
    for (size_t i = 0; i < words.size(); ++i) {
      if (words[i] != text) continue;
      into = static_cast<Enum>(i);
      return;
    }
    fail(name(key) + ": \"" + text + "\" is not one of the known words");
  }

  // Calls `take(item, its name)` for each item of an array.
  template <class Take>
  void each(std::string_view key, Take take) {
    const Json* found = find(key, false);
    if (found == nullptr) return;
    if (!found->is(Json::Kind::kArray)) return wrong(key, "array", *found);
    size_t position = 0;
    for (const Json& item : found->as_array()) {
      if (!error_.empty()) return;
      take(item, name(key) + "[" + std::to_string(position++) + "]");
    }
  }
  // Calls `take(object, its name)` where the member is there.
  template <class Take>
  void inside(std::string_view key, bool required, Take take) {
    const Json* found = find(key, required);
    if (found != nullptr && error_.empty()) take(*found, name(key));
  }

  template <class Int>
  void to_int(const Json& item, const std::string& where, Int& into) {
    if (!item.is(Json::Kind::kInt)) return wrong_at(where, "integer", item);
    if (!std::in_range<Int>(item.as_int())) {
      return fail(where + ": " + std::to_string(item.as_int()) + " is out of range");
    }
    into = static_cast<Int>(item.as_int());
  }
  void wrong_at(const std::string& where, std::string_view expected, const Json& found) {
    fail(where + ": expected " + std::string(expected) + ", found " +
         std::string(to_string(found.kind())));
  }
  void fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
  }
  [[nodiscard]] bool ok() const { return error_.empty(); }
  [[nodiscard]] std::string& error() { return error_; }

 private:
  const Json* find(std::string_view key, bool required) {
    if (!error_.empty()) return nullptr;
    asked_.emplace(key);
    const Json* found = json_.find(key);
    if (found == nullptr && required) fail("the field " + name(key) + " is missing");
    return found;
  }
  void wrong(std::string_view key, std::string_view expected, const Json& found) {
    wrong_at(key.empty() ? path_ : name(key), expected, found);
  }
  [[nodiscard]] std::string name(std::string_view key) const {
    return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  }

  const Json& json_;
  std::string path_;
  std::string& error_;
  std::set<std::string, std::less<>> asked_;
};

void read(Members& in, std::string_view key, model::Resources& into) {
  in.inside(key, false, [&](const Json& json, const std::string& where) {
    Members amounts(json, where, in.error());
    for (size_t i = 0; i < model::kResourceCount; ++i) {
      amounts.read(kAmountWords[i], into.amounts[i]);
    }
  });
}

// Pairs are written [key, value].
void read_pairs(Members& in, std::string_view key, std::vector<model::Label>& into) {
  in.each(key, [&](const Json& item, const std::string& where) {
    const bool pair = item.is(Json::Kind::kArray) && item.as_array().size() == 2 &&
                      item.as_array()[0].is(Json::Kind::kString) &&
                      item.as_array()[1].is(Json::Kind::kString);
    if (!pair) return in.wrong_at(where, "[key, value]", item);
    into.push_back({item.as_array()[0].as_string(), item.as_array()[1].as_string()});
  });
}

// Written [name, amount].
void read(Members& in, std::string_view key, std::vector<model::NamedAmount>& into) {
  in.each(key, [&](const Json& item, const std::string& where) {
    const bool pair = item.is(Json::Kind::kArray) && item.as_array().size() == 2 &&
                      item.as_array()[0].is(Json::Kind::kString);
    if (!pair) return in.wrong_at(where, "[name, amount]", item);
    model::NamedAmount& one = into.emplace_back();
    one.name = item.as_array()[0].as_string();
    in.to_int(item.as_array()[1], where + "[1]", one.amount);
  });
}

void read(const Json& json, const std::string& path, std::string& error, model::NodeSpec& node) {
  Members in(json, path, error);
  in.read("name", node.name, true);
  read_pairs(in, "labels", node.labels);
  in.each("taints", [&](const Json& item, const std::string& where) {
    model::Taint& taint = node.taints.emplace_back();
    Members fields(item, where, error);
    fields.read("key", taint.key, true);
    fields.read("value", taint.value);
    fields.read_word("effect", kEffectWords, taint.effect);
  });
  in.read("schedulable", node.schedulable);
  in.read("ready", node.ready);
  read(in, "allocatable", node.allocatable);
  read(in, "others", node.others);
  read(in, "attachments_max", node.attachments_max);
  in.each("gpus", [&](const Json& item, const std::string& where) {
    model::GpuSpec& gpu = node.gpus.emplace_back();
    Members fields(item, where, error);
    fields.read("id", gpu.id, true);
    fields.read("resource", gpu.resource);
    fields.read("model", gpu.model);
    fields.read("memory_bytes", gpu.memory_bytes);
    fields.read("healthy", gpu.healthy);
  });
}

void read(const Json& json, const std::string& path, std::string& error,
          model::NodeRequirement& need) {
  Members fields(json, path, error);
  fields.read("key", need.key, true);
  fields.read_word("op", kSelectorWords, need.op);
  fields.read("values", need.values);
}

// An array of terms, each an array of requirements.
void read(const Json& json, const std::string& path, Members& in, model::NodeChoice& choice) {
  if (!json.is(Json::Kind::kArray)) return in.wrong_at(path, "array of terms", json);
  for (const Json& term : json.as_array()) {
    if (!term.is(Json::Kind::kArray)) return in.wrong_at(path, "array of requirements", term);
    std::vector<model::NodeRequirement>& needs = choice.terms.emplace_back();
    for (const Json& need : term.as_array()) read(need, path, in.error(), needs.emplace_back());
  }
}

void read(const Json& json, const std::string& path, std::string& error, model::PodShape& shape) {
  Members in(json, path, error);
  read(in, "request", shape.request);
  in.inside("gpu", false, [&](const Json& item, const std::string& where) {
    Members fields(item, where, error);
    fields.read("count", shape.gpu.count);
    fields.read("resource", shape.gpu.resource);
    fields.read("milli", shape.gpu.milli);
    fields.read("memory_bytes", shape.gpu.memory_bytes);
    fields.read("device_memory_bytes_min", shape.gpu.device_memory_bytes_min);
    fields.read("models", shape.gpu.models);
  });
  read(in, "others", shape.others);
  in.each("node_requirements", [&](const Json& item, const std::string& where) {
    read(item, where, error, shape.node_requirements.emplace_back());
  });
  in.each("node_choices", [&](const Json& item, const std::string& where) {
    read(item, where, in, shape.node_choices.emplace_back());
  });
  in.each("tolerations", [&](const Json& item, const std::string& where) {
    model::Toleration& toleration = shape.tolerations.emplace_back();
    Members fields(item, where, error);
    fields.read("key", toleration.key);
    fields.read("value", toleration.value);
    fields.read("exists", toleration.exists);
    toleration.any_effect = item.find("effect") == nullptr;
    fields.read_word("effect", kEffectWords, toleration.effect, false);
  });
  in.read("tags", shape.tags);
  in.each("rules", [&](const Json& item, const std::string& where) {
    model::PodRule& rule = shape.rules.emplace_back();
    Members fields(item, where, error);
    fields.read_word("kind", kRuleWords, rule.kind);
    fields.read("tag", rule.tag, true);
    fields.read("level", rule.level);
    fields.read("max_skew", rule.max_skew);
    fields.read("min_domains", rule.min_domains);
    fields.read("honor_requirements", rule.honor_requirements);
    fields.read("honor_taints", rule.honor_taints);
  });
  std::vector<model::Label> attachments;
  read_pairs(in, "attachments", attachments);
  for (model::Label& one : attachments) {
    shape.attachments.push_back({std::move(one.key), std::move(one.value)});
  }
}

void read(const Json& json, const std::string& path, std::string& error, model::JobSpec& job) {
  Members in(json, path, error);
  in.read("id", job.id, true);
  in.read("queue", job.queue);
  in.read("tenant", job.tenant);
  in.read("priority", job.priority);
  in.read("preemptible", job.preemptible);
  in.read("may_displace", job.may_displace);
  in.read("submitted_at_ms", job.submitted_at);
  in.read("expected_run_ms", job.expected_run);
  in.read("checkpoint_interval_ms", job.checkpoint_interval);
  in.read("restart_time_ms", job.restart_time);
  in.read("pods_awaited", job.pods_awaited);
  in.each("groups", [&](const Json& item, const std::string& where) {
    model::GroupSpec& group = job.groups.emplace_back();
    Members fields(item, where, error);
    fields.read("name", group.name);
    fields.read("parent", group.parent);
    fields.read("min_count", group.min_count);
    fields.read("required_level", group.required_level);
    fields.read("preferred_level", group.preferred_level);
  });
  in.each("shapes", [&](const Json& item, const std::string& where) {
    read(item, where, error, job.shapes.emplace_back());
  });
  in.each("pods", [&](const Json& item, const std::string& where) {
    const bool triple = item.is(Json::Kind::kArray) && item.as_array().size() == 3 &&
                        item.as_array()[0].is(Json::Kind::kString);
    if (!triple) return in.wrong_at(where, "[id, group, shape]", item);
    model::PodSpec& pod = job.pods.emplace_back();
    pod.id = item.as_array()[0].as_string();
    in.to_int(item.as_array()[1], where + "[1]", pod.group);
    in.to_int(item.as_array()[2], where + "[2]", pod.shape);
  });
}

void read(const Json& json, const std::string& path, std::string& error,
          model::CoreConfig& config) {
  Members in(json, path, error);
  in.each("topologies", [&](const Json& item, const std::string& where) {
    model::TopologySpec& topology = config.topologies.emplace_back();
    Members fields(item, where, error);
    fields.read("name", topology.name, true);
    read_pairs(fields, "levels", topology.levels);
  });
  if (json.find("gpu_resources") != nullptr) config.gpu_resources.clear();
  in.read("gpu_resources", config.gpu_resources);
  in.read("gang_start_timeout_ms", config.gang_start_timeout);
  in.read("retry_backoff_first_ms", config.retry_backoff_first);
  in.read("retry_backoff_max_ms", config.retry_backoff_max);
  in.read("usage_half_life_ms", config.usage_half_life);
  in.read("promise_timeout_ms", config.promise_timeout);
  in.read("displacements_max", config.displacements_max);
  in.read("displacements_window_ms", config.displacements_window);
  in.read("consolidate_lost_max_ms", config.consolidate_lost_max);
}

void read(const Json& json, const std::string& path, std::string& error, model::QueueSpec& queue) {
  Members in(json, path, error);
  in.read("name", queue.name, true);
  in.read("parent", queue.parent);
  in.read("priority", queue.priority);
  in.each("resources", [&](const Json& item, const std::string& where) {
    model::QueueResource& resource = queue.resources.emplace_back();
    Members fields(item, where, error);
    fields.read("name", resource.name, true);
    fields.read("quota", resource.quota);
    fields.read("quota_ppm", resource.quota_ppm);
    fields.read("limit", resource.limit);
    fields.read("weight", resource.weight);
  });
  in.read("tenants", queue.tenants);
  in.read("min_run_before_preempt_ms", queue.min_run_before_preempt);
  in.read("min_run_before_reclaim_ms", queue.min_run_before_reclaim);
  in.read("displace_after_ms", queue.displace_after);
}

template <class Spec>
void read_spec(Members& in, std::string_view key, Spec& spec) {
  in.inside(key, true, [&](const Json& json, const std::string& where) {
    read(json, where, in.error(), spec);
  });
}

void read_body(Members& in, model::NodeChanged& event) { read_spec(in, "node", event.node); }
void read_body(Members& in, model::NodeGone& event) { in.read("node", event.name, true); }
void read_body(Members& in, model::GpuSampled& event) {
  in.read("node", event.node, true);
  in.read("gpu", event.gpu, true);
  in.read("healthy", event.healthy);
  in.read("foreign_memory_bytes", event.foreign_memory_bytes);
}
void read_body(Members& in, model::JobChanged& event) { read_spec(in, "job", event.job); }
void read_body(Members& in, model::JobGone& event) { in.read("job", event.job, true); }
template <class PodEvent>
void read_pod(Members& in, PodEvent& event) {
  in.read("pod", event.pod, true);
  in.read("incarnation", event.incarnation);
}
void read_body(Members& in, model::PodBound& event) { read_pod(in, event); }
void read_body(Members& in, model::PodStarted& event) { read_pod(in, event); }
void read_body(Members& in, model::PodStopping& event) { read_pod(in, event); }
void read_body(Members& in, model::PodGone& event) {
  read_pod(in, event);
  in.read_word("end", kEndWords, event.end);
}
void read_body(Members& in, model::BindRefused& event) {
  read_pod(in, event);
  in.read("why", event.why);
}
void read_body(Members& in, model::PodFound& event) {
  read_pod(in, event);
  in.read("node", event.node);
  in.read("gpus", event.gpus);
  in.read("phase", event.phase, true);
  in.read("from_ms", event.from);
  in.read("until_ms", event.until);
  in.read("confirmed", event.confirmed);
}
void read_body(Members& in, model::ConfigChanged& event) { read_spec(in, "config", event.config); }
void read_body(Members& in, model::GpuModelsRestored& event) { in.read("models", event.models); }
void read_body(Members& in, model::JobRestored& event) {
  in.read("job", event.job, true);
  in.read("failed_starts", event.failed_starts);
  in.read("backoff_until_ms", event.backoff_until);
  in.read("start_deadline_ms", event.start_deadline);
  in.read("releasing", event.releasing);
  in.read("removed", event.removed);
  in.read("running_since_ms", event.running_since);
  in.read("checkpointed_at_ms", event.checkpointed_at);
  in.each("displaced_at_ms", [&](const Json& item, const std::string& where) {
    in.to_int(item, where, event.displaced_at.emplace_back().ms);
  });
  in.read("goes_first", event.goes_first);
  in.read("move_retry_at_ms", event.move_retry_at);
  in.read("protected_until_ms", event.protected_until);
}
void read_body(Members& in, model::DemandRestored& event) {
  read_spec(in, "shape", event.shape);
  in.read("arrivals", event.arrivals);
  in.read("arrivals_priced", event.arrivals_priced);
}
void read_body(Members&, model::Tick&) {}
void read_body(Members& in, model::JobCheckpointed& event) { in.read("job", event.job, true); }
void read_body(Members& in, model::QueueChanged& event) { read_spec(in, "queue", event.queue); }
void read_body(Members& in, model::QueueGone& event) { in.read("queue", event.name, true); }
void read_body(Members& in, model::PromiseRestored& event) {
  in.read("job", event.job, true);
  in.read("until_ms", event.until);
  in.read("broken", event.broken);
  in.each("places", [&](const Json& item, const std::string& where) {
    model::PromisedPlace& place = event.places.emplace_back();
    Members fields(item, where, in.error());
    fields.read("pod", place.pod, true);
    fields.read("node", place.node, true);
    fields.read("gpus", place.gpus);
  });
  in.read("displaced", event.displaced);
}
void read_body(Members& in, model::UsageRestored& event) {
  in.read("queue", event.queue, true);
  in.read("counted_at_ms", event.at);
  in.each("amounts", [&](const Json& item, const std::string& where) {
    model::UsageRestored::Amount& amount = event.amounts.emplace_back();
    Members fields(item, where, in.error());
    fields.read("resource", amount.resource, true);
    fields.read("seconds", amount.seconds);
    fields.read("millis", amount.millis);
  });
}

// Makes the alternative of this number and reads it.
template <size_t I = 0>
void read_alternative(Members& in, size_t number, model::EventBody& body) {
  if constexpr (I < std::variant_size_v<model::EventBody>) {
    if (number == I) {
      read_body(in, body.emplace<I>());
    } else {
      read_alternative<I + 1>(in, number, body);
    }
  }
}

}  // namespace

base::Result<model::Event> decode_event(const Json& json) {
  model::Event event;
  std::string error;
  {
    Members in(json, "", error);
    in.read("sequence", event.sequence, true);
    in.read("at_ms", event.at);
    size_t number = 0;
    in.read_word("event", kEventWords, number);
    if (in.ok()) read_alternative(in, number, event.body);
  }
  if (!error.empty()) return base::invalid(std::move(error));
  return event;
}

}  // namespace mainspring::config
