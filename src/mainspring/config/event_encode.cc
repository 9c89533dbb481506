// SPDX-License-Identifier: Apache-2.0
// Writing events; reading them is in event_decode.cc.
#include "mainspring/config/event_json.h"
#include "mainspring/config/event_words.h"

namespace mainspring::config {
namespace {

using base::Instant;
using base::Json;

// Sets a member unless it has its default value.
template <class T>
void put(Json& out, std::string_view key, const T& value, const T& usual) {
  if (value != usual) out.set(key, Json(value));
}
void put(Json& out, std::string_view key, const std::string& value, std::string_view usual = {}) {
  if (value != usual) out.set(key, Json(value));
}
void put_instant(Json& out, std::string_view key, Instant value, Instant usual) {
  if (value != usual) out.set(key, Json(value.ms));
}

Json encode(const std::vector<std::string>& texts) {
  Json items = Json::array();
  for (const std::string& text : texts) items.push_back(text);
  return items;
}

Json encode(const model::Resources& resources) {
  Json out = Json::object();
  for (size_t i = 0; i < model::kResourceCount; ++i) {
    put<int64_t>(out, kAmountWords[i], resources.amounts[i], 0);
  }
  return out;
}

Json encode(const std::vector<model::NamedAmount>& amounts) {
  Json items = Json::array();
  for (const model::NamedAmount& one : amounts) {
    items.push_back(Json::array().push_back(one.name).push_back(one.amount));
  }
  return items;
}

Json encode(const std::vector<model::NodeRequirement>& needs) {
  Json items = Json::array();
  for (const model::NodeRequirement& need : needs) {
    Json one = Json::object();
    one.set("key", need.key);
    one.set("op", kSelectorWords[static_cast<size_t>(need.op)]);
    if (!need.values.empty()) one.set("values", encode(need.values));
    items.push_back(std::move(one));
  }
  return items;
}

Json encode(const model::NodeSpec& node) {
  Json out = Json::object();
  out.set("name", node.name);
  if (!node.labels.empty()) {
    Json labels = Json::array();
    for (const model::Label& label : node.labels) {
      labels.push_back(Json::array().push_back(label.key).push_back(label.value));
    }
    out.set("labels", std::move(labels));
  }
  if (!node.taints.empty()) {
    Json taints = Json::array();
    for (const model::Taint& taint : node.taints) {
      Json one = Json::object();
      one.set("key", taint.key);
      put(one, "value", taint.value);
      one.set("effect", kEffectWords[static_cast<size_t>(taint.effect)]);
      taints.push_back(std::move(one));
    }
    out.set("taints", std::move(taints));
  }
  put(out, "schedulable", node.schedulable, true);
  put(out, "ready", node.ready, true);
  out.set("allocatable", encode(node.allocatable));
  if (!node.others.empty()) out.set("others", encode(node.others));
  if (!node.attachments_max.empty()) out.set("attachments_max", encode(node.attachments_max));
  if (node.gpus.empty()) return out;
  Json gpus = Json::array();
  for (const model::GpuSpec& gpu : node.gpus) {
    Json one = Json::object();
    one.set("id", gpu.id);
    put(one, "resource", gpu.resource, model::GpuSpec{}.resource);
    put(one, "model", gpu.model);
    put<int64_t>(one, "memory_bytes", gpu.memory_bytes, 0);
    put(one, "healthy", gpu.healthy, true);
    gpus.push_back(std::move(one));
  }
  out.set("gpus", std::move(gpus));
  return out;
}

Json encode(const model::GpuRequest& gpu) {
  const model::GpuRequest usual;
  Json out = Json::object();
  out.set("count", gpu.count);
  put(out, "resource", gpu.resource, usual.resource);
  put(out, "milli", gpu.milli, usual.milli);
  put(out, "memory_bytes", gpu.memory_bytes, usual.memory_bytes);
  put(out, "device_memory_bytes_min", gpu.device_memory_bytes_min, usual.device_memory_bytes_min);
  if (!gpu.models.empty()) out.set("models", encode(gpu.models));
  return out;
}

Json encode(const std::vector<model::PodRule>& rules) {
  const model::PodRule usual;
  Json items = Json::array();
  for (const model::PodRule& rule : rules) {
    Json one = Json::object();
    one.set("kind", kRuleWords[static_cast<size_t>(rule.kind)]);
    one.set("tag", rule.tag);
    put(one, "level", rule.level);
    put(one, "max_skew", rule.max_skew, usual.max_skew);
    put(one, "min_domains", rule.min_domains, usual.min_domains);
    put(one, "honor_requirements", rule.honor_requirements, usual.honor_requirements);
    put(one, "honor_taints", rule.honor_taints, usual.honor_taints);
    items.push_back(std::move(one));
  }
  return items;
}

Json encode(const model::PodShape& shape) {
  Json out = Json::object();
  out.set("request", encode(shape.request));
  if (shape.gpu != model::GpuRequest{}) out.set("gpu", encode(shape.gpu));
  if (!shape.others.empty()) out.set("others", encode(shape.others));
  if (!shape.node_requirements.empty()) {
    out.set("node_requirements", encode(shape.node_requirements));
  }
  if (!shape.node_choices.empty()) {
    Json choices = Json::array();
    for (const model::NodeChoice& choice : shape.node_choices) {
      Json terms = Json::array();
      for (const auto& term : choice.terms) terms.push_back(encode(term));
      choices.push_back(std::move(terms));
    }
    out.set("node_choices", std::move(choices));
  }
  if (!shape.tolerations.empty()) {
    Json tolerations = Json::array();
    for (const model::Toleration& toleration : shape.tolerations) {
      Json one = Json::object();
      put(one, "key", toleration.key);
      put(one, "value", toleration.value);
      put(one, "exists", toleration.exists, false);
      if (!toleration.any_effect) {
        one.set("effect", kEffectWords[static_cast<size_t>(toleration.effect)]);
      }
      tolerations.push_back(std::move(one));
    }
    out.set("tolerations", std::move(tolerations));
  }
  if (!shape.tags.empty()) out.set("tags", encode(shape.tags));
  if (!shape.rules.empty()) out.set("rules", encode(shape.rules));
  if (!shape.attachments.empty()) {
    Json attachments = Json::array();
    for (const model::Attachment& one : shape.attachments) {
      attachments.push_back(Json::array().push_back(one.driver).push_back(one.volume));
    }
    out.set("attachments", std::move(attachments));
  }
  return out;
}

Json encode(const model::JobSpec& job) {
  Json out = Json::object();
  out.set("id", job.id);
  put(out, "queue", job.queue, "default");
  put(out, "tenant", job.tenant);
  put<int32_t>(out, "priority", job.priority, 0);
  put(out, "preemptible", job.preemptible, true);
  put(out, "may_displace", job.may_displace, true);
  put_instant(out, "submitted_at_ms", job.submitted_at, {});
  put<int64_t>(out, "expected_run_ms", job.expected_run.ms, 0);
  put<int64_t>(out, "checkpoint_interval_ms", job.checkpoint_interval.ms, 0);
  put<int64_t>(out, "restart_time_ms", job.restart_time.ms, 0);
  put(out, "pods_awaited", job.pods_awaited, false);
  Json groups = Json::array();
  for (const model::GroupSpec& group : job.groups) {
    Json one = Json::object();
    put(one, "name", group.name);
    put(one, "parent", group.parent, -1);
    put<uint32_t>(one, "min_count", group.min_count, model::GroupSpec::kAllChildren);
    put(one, "required_level", group.required_level);
    put(one, "preferred_level", group.preferred_level);
    groups.push_back(std::move(one));
  }
  out.set("groups", std::move(groups));
  Json shapes = Json::array();
  for (const model::PodShape& shape : job.shapes) shapes.push_back(encode(shape));
  out.set("shapes", std::move(shapes));
  Json pods = Json::array();
  for (const model::PodSpec& pod : job.pods) {
    pods.push_back(Json::array().push_back(pod.id).push_back(pod.group).push_back(pod.shape));
  }
  out.set("pods", std::move(pods));
  return out;
}

Json encode(const model::QueueSpec& queue) {
  Json out = Json::object();
  out.set("name", queue.name);
  put(out, "parent", queue.parent);
  put<int32_t>(out, "priority", queue.priority, 0);
  if (!queue.resources.empty()) {
    const model::QueueResource usual;
    Json resources = Json::array();
    for (const model::QueueResource& resource : queue.resources) {
      Json one = Json::object();
      one.set("name", resource.name);
      put(one, "quota", resource.quota, usual.quota);
      put(one, "quota_ppm", resource.quota_ppm, usual.quota_ppm);
      put(one, "limit", resource.limit, usual.limit);
      put(one, "weight", resource.weight, usual.weight);
      resources.push_back(std::move(one));
    }
    out.set("resources", std::move(resources));
  }
  if (!queue.tenants.empty()) out.set("tenants", encode(queue.tenants));
  put<int64_t>(out, "min_run_before_preempt_ms", queue.min_run_before_preempt.ms, 0);
  put<int64_t>(out, "min_run_before_reclaim_ms", queue.min_run_before_reclaim.ms, 0);
  put<int64_t>(out, "displace_after_ms", queue.displace_after.ms, 0);
  return out;
}

Json encode(const model::CoreConfig& config) {
  const model::CoreConfig usual;
  Json out = Json::object();
  Json topologies = Json::array();
  for (const model::TopologySpec& topology : config.topologies) {
    Json levels = Json::array();
    for (const model::Label& level : topology.levels) {
      levels.push_back(Json::array().push_back(level.key).push_back(level.value));
    }
    topologies.push_back(
        Json::object().set("name", topology.name).set("levels", std::move(levels)));
  }
  out.set("topologies", std::move(topologies));
  out.set("gpu_resources", encode(config.gpu_resources));
  out.set("gang_start_timeout_ms", config.gang_start_timeout.ms);
  out.set("retry_backoff_first_ms", config.retry_backoff_first.ms);
  out.set("retry_backoff_max_ms", config.retry_backoff_max.ms);
  put(out, "usage_half_life_ms", config.usage_half_life.ms, usual.usage_half_life.ms);
  put(out, "promise_timeout_ms", config.promise_timeout.ms, usual.promise_timeout.ms);
  put(out, "displacements_max", config.displacements_max, usual.displacements_max);
  put(out, "displacements_window_ms", config.displacements_window.ms,
      usual.displacements_window.ms);
  put(out, "consolidate_lost_max_ms", config.consolidate_lost_max.ms,
      usual.consolidate_lost_max.ms);
  return out;
}

void write(Json& out, const model::NodeChanged& event) { out.set("node", encode(event.node)); }
void write(Json& out, const model::NodeGone& event) { out.set("node", event.name); }
void write(Json& out, const model::GpuSampled& event) {
  out.set("node", event.node);
  out.set("gpu", event.gpu);
  put(out, "healthy", event.healthy, true);
  put<int64_t>(out, "foreign_memory_bytes", event.foreign_memory_bytes, 0);
}
void write(Json& out, const model::JobChanged& event) { out.set("job", encode(event.job)); }
void write(Json& out, const model::JobGone& event) { out.set("job", event.job); }
template <class PodEvent>
void write_pod(Json& out, const PodEvent& event) {
  out.set("pod", event.pod);
  put<uint32_t>(out, "incarnation", event.incarnation, 0);
}
void write(Json& out, const model::PodBound& event) { write_pod(out, event); }
void write(Json& out, const model::PodStarted& event) { write_pod(out, event); }
void write(Json& out, const model::PodStopping& event) { write_pod(out, event); }
void write(Json& out, const model::PodGone& event) {
  write_pod(out, event);
  out.set("end", kEndWords[static_cast<size_t>(event.end)]);
}
void write(Json& out, const model::BindRefused& event) {
  write_pod(out, event);
  put(out, "why", event.why);
}
void write(Json& out, const model::PodFound& event) {
  write_pod(out, event);
  put(out, "node", event.node);
  if (!event.gpus.empty()) out.set("gpus", encode(event.gpus));
  out.set("phase", event.phase);
  put_instant(out, "from_ms", event.from, {});
  put_instant(out, "until_ms", event.until, Instant::never());
  put(out, "confirmed", event.confirmed, true);
}
void write(Json& out, const model::ConfigChanged& event) {
  out.set("config", encode(event.config));
}
void write(Json& out, const model::GpuModelsRestored& event) {
  out.set("models", encode(event.models));
}
void write(Json& out, const model::JobRestored& event) {
  out.set("job", event.job);
  put<uint32_t>(out, "failed_starts", event.failed_starts, 0);
  put_instant(out, "backoff_until_ms", event.backoff_until, {});
  put_instant(out, "start_deadline_ms", event.start_deadline, Instant::never());
  put(out, "releasing", event.releasing, false);
  put(out, "removed", event.removed, false);
  put_instant(out, "running_since_ms", event.running_since, Instant::never());
  put_instant(out, "checkpointed_at_ms", event.checkpointed_at, Instant::never());
  if (!event.displaced_at.empty()) {
    Json times = Json::array();
    for (const Instant at : event.displaced_at) times.push_back(at.ms);
    out.set("displaced_at_ms", std::move(times));
  }
  put(out, "goes_first", event.goes_first, false);
  put_instant(out, "move_retry_at_ms", event.move_retry_at, {});
  put_instant(out, "protected_until_ms", event.protected_until, {});
}
void write(Json& out, const model::DemandRestored& event) {
  out.set("shape", encode(event.shape));
  put<int64_t>(out, "arrivals", event.arrivals, 0);
  put<int64_t>(out, "arrivals_priced", event.arrivals_priced, 0);
}
void write(Json&, const model::Tick&) {}
void write(Json& out, const model::JobCheckpointed& event) { out.set("job", event.job); }
void write(Json& out, const model::QueueChanged& event) { out.set("queue", encode(event.queue)); }
void write(Json& out, const model::QueueGone& event) { out.set("queue", event.name); }
void write(Json& out, const model::PromiseRestored& event) {
  out.set("job", event.job);
  out.set("until_ms", event.until.ms);
  put(out, "broken", event.broken, false);
  Json places = Json::array();
  for (const model::PromisedPlace& place : event.places) {
    Json one = Json::object();
    one.set("pod", place.pod);
    one.set("node", place.node);
    if (!place.gpus.empty()) one.set("gpus", encode(place.gpus));
    places.push_back(std::move(one));
  }
  out.set("places", std::move(places));
  if (!event.displaced.empty()) out.set("displaced", encode(event.displaced));
}
void write(Json& out, const model::UsageRestored& event) {
  out.set("queue", event.queue);
  put_instant(out, "counted_at_ms", event.at, {});
  Json amounts = Json::array();
  for (const model::UsageRestored::Amount& amount : event.amounts) {
    Json one = Json::object();
    one.set("resource", amount.resource);
    put<int64_t>(one, "seconds", amount.seconds, 0);
    put<int64_t>(one, "millis", amount.millis, 0);
    amounts.push_back(std::move(one));
  }
  out.set("amounts", std::move(amounts));
}

}  // namespace

Json encode(const model::Event& event) {
  Json out = Json::object();
  out.set("sequence", event.sequence);
  out.set("at_ms", event.at.ms);
  out.set("event", kEventWords[event.body.index()]);
  std::visit([&out](const auto& body) { write(out, body); }, event.body);
  return out;
}

}  // namespace mainspring::config
