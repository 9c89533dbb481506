// SPDX-License-Identifier: Apache-2.0
#include "mainspring/config/queue_parts.h"

#include <span>
#include <utility>

#include "mainspring/config/core_fields.h"

namespace mainspring::config {
namespace {

constexpr int32_t kWholePpm = 1'000'000;

bool says_unlimited(std::string_view text) { return text == "unlimited" || text == "-1"; }

int64_t read_bounded(const Section& section, std::string_view field, AmountKind kind) {
  const std::string text = section.text(field);
  if (says_unlimited(text)) return model::kUnlimited;
  const auto amount = parse_amount(text, kind);
  if (amount) return *amount;
  section.report(
      field, describe(section.where(field)) + " " + amount.error().message + ", or `unlimited`");
  return 0;
}

void read_quota(const Section& section, AmountKind kind, model::QueueResource& resource) {
  if (!section.has("quota")) return;
  const std::string text = section.text("quota");
  if (!text.ends_with('%')) {
    resource.quota = read_bounded(section, "quota", kind);
    return;
  }
  const auto part = parse_amount(text, AmountKind::kPercent);
  const std::string shown = describe(section.where("quota"));
  if (!part) return section.report("quota", shown + " " + part.error().message);
  if (*part > kWholePpm) {
    return section.report("quota", shown + " is above 100 %; expected a part such as 60 %");
  }
  resource.quota_ppm = static_cast<int32_t>(*part);
}

void read_resource(const Section& section, std::string name, AmountKind kind,
                   model::QueueSpec& queue) {
  model::QueueResource resource{.name = std::move(name)};
  read_quota(section, kind, resource);
  if (section.has("limit")) resource.limit = read_bounded(section, "limit", kind);
  resource.weight = section.amount("weight");
  if (resource.limit != model::kUnlimited && resource.quota > resource.limit) {
    section.report("limit", describe(section.where("limit")) + " is below the quota; expected " +
                                format_amount(resource.quota, kind) + " or more");
  }
  queue.resources.push_back(std::move(resource));
}

}  // namespace

model::QueueSpec read_queue(const Section& section) {
  model::QueueSpec queue{.name = section.text("name"),
                         .parent = section.text("parent"),
                         .priority = static_cast<int32_t>(section.amount("priority"))};
  if (const auto gpu = section.one("gpu", queue_resource_table())) {
    read_resource(*gpu, "gpu", AmountKind::kGpus, queue);
  }
  for (const auto& [model, gpu] : section.named("gpu_models", queue_resource_table())) {
    read_resource(gpu, "gpu:" + model, AmountKind::kGpus, queue);
  }
  if (const auto cpu = section.one("cpu", queue_resource_table())) {
    read_resource(*cpu, "cpu", AmountKind::kCpu, queue);
  }
  if (const auto memory = section.one("memory", queue_resource_table())) {
    read_resource(*memory, "memory", AmountKind::kBytes, queue);
  }
  queue.tenants = section.names("tenants");
  queue.min_run_before_preempt = section.duration("min_run_before_preempt");
  queue.min_run_before_reclaim = section.duration("min_run_before_reclaim");
  queue.displace_after = section.duration("displace_after");
  if (section.reading().failed()) return queue;
  if (auto ok = model::validate(queue); !ok) {
    section.reading().report(section.node(), section.path() + ": " + ok.error().message);
  }
  return queue;
}

void QueueTreeReader::read(const Section& section, const std::string& parent) {
  model::QueueSpec queue = read_queue(section);
  if (section.reading().failed()) return;
  if (!parent.empty()) {
    if (section.has("parent")) {
      section.report("parent", "the queue stands inside '" + parent +
                                   "'; expected this field only in a queue that stands alone");
    }
    queue.parent = parent;
  }
  if (!names_.insert(queue.name).second) {
    section.report("name", "there are two queues with the name '" + queue.name + "'");
  }
  if (queues_.size() == model::kQueuesMax) {
    section.report("name", "there are more than 20,000 queues");
  }
  const std::string name = queue.name;
  queues_.push_back(std::move(queue));
  sections_.push_back(section);
  for (const Section& below : section.many("queues", queue_table())) read(below, name);
}

void QueueTreeReader::check() const {
  for (size_t i = 0; i < queues_.size(); ++i) {
    if (queues_[i].parent.empty() || names_.contains(queues_[i].parent)) continue;
    sections_[i].report("parent", unknown(queues_[i].parent));
    return;
  }
  const auto ok = model::validate(std::span<const model::QueueSpec>(queues_));
  if (ok) return;
  for (size_t i = 0; i < queues_.size(); ++i) {
    const std::string prefix = "queue " + queues_[i].name + ": ";
    if (!ok.error().message.starts_with(prefix)) continue;
    sections_[i].reading().report(
        sections_[i].node(), sections_[i].path() + ": " + ok.error().message.substr(prefix.size()));
  }
  if (!sections_.empty()) {
    sections_[0].reading().report(sections_[0].node(), "queues: " + ok.error().message);
  }
}

std::string QueueTreeReader::unknown(const std::string& name) const {
  const std::vector<std::string_view> known(names_.begin(), names_.end());
  const std::string_view near = nearest_word(name, known);
  const std::string text = "there is no queue '" + name + "'; ";
  if (near.empty()) return text + "expected the name of a queue in this file";
  return text + "did you mean '" + std::string(near) + "'?";
}

}  // namespace mainspring::config
