// SPDX-License-Identifier: Apache-2.0
#include "mainspring/config/scheduler_config.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "mainspring/config/core_parts.h"
#include "mainspring/config/queue_parts.h"
#include "mainspring/config/scheduler_fields.h"
#include "mainspring/config/section.h"
#include "mainspring/config/yaml_tree.h"

namespace mainspring::config {
namespace {

using base::Result;

constexpr size_t kSchedulersMax = 32;
constexpr size_t kNamespaceNameLengthMax = 63;

// The name of a label with its optional prefix, as Kubernetes allows it.
bool is_label_key(std::string_view text) {
  const size_t slash = text.find('/');
  const std::string_view name = slash == std::string_view::npos ? text : text.substr(slash + 1);
  return is_id(name) && name.size() <= 63 &&
         (slash == std::string_view::npos || is_id(text.substr(0, slash)));
}

// What the names of namespaces, Leases and schedulers are made of: lower-case letters, digits and -
// (and . where they may be longer than a label), with a letter or digit at both ends.
bool is_object_name(std::string_view text, bool dots) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return is_id(text) && plain(text.front()) && plain(text.back()) &&
         (dots || text.size() <= kNamespaceNameLengthMax) && std::ranges::all_of(text, [&](char c) {
           return plain(c) || c == '-' || (dots && c == '.');
         });
}

std::string not_an_object_name(std::string_view text) {
  return "'" + std::string(text) +
         "' is no name that Kubernetes accepts; expected lower-case letters, digits and - with a "
         "letter or digit at both ends";
}

void read_schedulers(const Section& file, SchedulerConfig& config) {
  if (!file.has("schedulers")) return;
  config.schedulers = file.names("schedulers");
  if (file.reading().failed()) return;
  if (config.schedulers.empty() || config.schedulers.size() > kSchedulersMax) {
    return file.report("schedulers", "expected 1 to 32 names");
  }
  const YamlNode& list = file.where("schedulers");
  std::set<std::string> seen;
  for (size_t i = 0; i < config.schedulers.size(); ++i) {
    const std::string& name = config.schedulers[i];
    const std::string path = "schedulers[" + std::to_string(i) + "]: ";
    if (!is_object_name(name, true)) {
      file.reading().report(list.items[i], path + not_an_object_name(name));
    } else if (!seen.insert(name).second) {
      file.reading().report(list.items[i], path + describe(list.items[i]) + " is named twice");
    }
  }
}

// Which queues there are, and who may use which.
class QueueBook {
 public:
  explicit QueueBook(const std::vector<model::QueueSpec>& queues) {
    for (const model::QueueSpec& queue : queues) {
      by_name_.emplace(queue.name, &queue);
      parents_.insert(queue.parent);
      if (!queue.tenants.empty()) tenants_[&queue] = {queue.tenants.begin(), queue.tenants.end()};
    }
  }

  [[nodiscard]] const model::QueueSpec* find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }
  [[nodiscard]] bool is_leaf(const std::string& name) const { return !parents_.contains(name); }
  // The queue, or the one above it, whose tenants the namespace is not among; nullptr: it may.
  [[nodiscard]] const model::QueueSpec* forbids(const model::QueueSpec* queue,
                                                const std::string& tenant) const {
    for (; queue != nullptr; queue = find(queue->parent)) {
      const auto found = tenants_.find(queue);
      if (found != tenants_.end() && !found->second.contains(tenant)) return queue;
    }
    return nullptr;
  }

 private:
  std::map<std::string, const model::QueueSpec*> by_name_;
  std::set<std::string> parents_;
  // Of those that are not open to everyone; looked up only.
  std::map<const model::QueueSpec*, std::set<std::string>> tenants_;
};

// Why pods cannot be given this queue; empty: they can.
std::string why_not(const QueueBook& book, const QueueTreeReader& tree, const std::string& name) {
  if (book.find(name) == nullptr) return tree.unknown(name);
  if (book.is_leaf(name)) return {};
  return "the queue '" + name + "' only holds other queues; expected one of those below it";
}

void read_namespaces(const Section& file, const QueueTreeReader& tree, SchedulerConfig& config) {
  const QueueBook book(config.queues);
  const std::vector<model::Label> pairs = file.labels("namespace_queues");
  if (file.reading().failed()) return;
  const YamlNode& node = file.where("namespace_queues");
  for (size_t i = 0; i < pairs.size() && !file.reading().failed(); ++i) {
    const auto& [name, queue] = pairs[i];
    const std::string path = "namespace_queues." + name + ": ";
    const auto report = [&](const YamlNode& where, const std::string& message) {
      file.reading().report(where, path + message);
    };
    if (!is_object_name(name, false)) report(node.keys[i], not_an_object_name(name));
    if (queue.empty()) report(node.items[i], "expected the name of a queue, found nothing");
    if (const std::string why = why_not(book, tree, queue); !why.empty()) {
      report(node.items[i], why);
    } else if (const model::QueueSpec* closed = book.forbids(book.find(queue), name)) {
      report(node.items[i], "the namespace may not use this queue, because the tenants of '" +
                                closed->name + "' are others");
    }
    config.namespace_queues.push_back({name, queue});
  }
  std::ranges::sort(config.namespace_queues);
}

void read_queues(const Section& file, SchedulerConfig& config) {
  QueueTreeReader tree;
  for (const Section& section : file.many("queues", queue_table())) tree.read(section, "");
  if (file.reading().failed()) return;
  tree.check();
  std::vector<model::QueueSpec> queues = tree.take();
  if (file.has("queues") && queues.empty()) {
    file.report("queues", "expected at least one queue");
  }
  if (!queues.empty()) {
    config.queues = std::move(queues);
  } else {
    tree.add_name(config.queues.front().name);
  }
  config.default_queue = file.text("default_queue");
  if (file.has("default_queue") && !file.reading().failed()) {
    const std::string why = why_not(QueueBook(config.queues), tree, config.default_queue);
    if (!why.empty()) file.report("default_queue", why);
  }
  read_namespaces(file, tree, config);
}

void read_labels(const Section& file, SchedulerConfig& config) {
  config.gpu_model_label = file.text("gpu_model_label");
  config.gpu_memory_label = file.text("gpu_memory_label");
  for (const char* field : {"gpu_model_label", "gpu_memory_label"}) {
    if (file.reading().failed() || is_label_key(file.text(field))) continue;
    file.report(field, describe(file.where(field)) +
                           " is no name of a label; expected one such as nvidia.com/gpu.product");
  }
}

void read_leader_election(const Section& section, LeaderElection& election) {
  election.enabled = section.flag("enabled");
  election.namespace_name = section.text("namespace");
  election.name = section.text("name");
  election.lease_duration = section.duration("lease_duration");
  election.renew_deadline = section.duration("renew_deadline");
  election.retry_period = section.duration("retry_period");
  if (section.reading().failed()) return;
  if (section.has("namespace") && !is_object_name(election.namespace_name, false)) {
    section.report("namespace", not_an_object_name(election.namespace_name));
  }
  if (!is_object_name(election.name, true)) {
    section.report("name", not_an_object_name(election.name));
  }
  if (election.lease_duration <= election.renew_deadline) {
    section.report("lease_duration",
                   "expected more than the renew_deadline, which is " +
                       format_amount(election.renew_deadline.ms, AmountKind::kDuration));
  }
  if (election.renew_deadline.ms * 10 <= election.retry_period.ms * 12) {
    section.report("renew_deadline",
                   "expected more than 1.2 times the retry_period, which is " +
                       format_amount(election.retry_period.ms, AmountKind::kDuration));
  }
}

void read_file(const Section& file, SchedulerConfig& config) {
  read_schedulers(file, config);
  config.mode = file.choice("mode") == 0 ? SchedulerMode::kBind : SchedulerMode::kShadow;
  read_topologies(file, config.core);
  read_core_settings(file, config.core);
  read_queues(file, config);
  for (const auto& [name, section] : file.named("priority_classes", class_rule_table())) {
    config.priority_classes.push_back({.name = name,
                                       .preemptible = section.flag("preemptible"),
                                       .may_displace = section.flag("may_displace")});
  }
  std::ranges::sort(config.priority_classes);
  read_labels(file, config);
  config.binds_parallel = static_cast<size_t>(file.amount("binds_parallel"));
  config.cycle_delay_min = file.duration("cycle_delay_min");
  config.batch_wait = file.duration("batch_wait");
  config.events_for_single_pods = file.flag("events_for_single_pods");
  if (const auto election = file.one("leader_election", leader_election_table())) {
    read_leader_election(*election, config.leader_election);
  }
}

}  // namespace

const std::string& SchedulerConfig::queue_of(std::string_view namespace_name) const {
  const auto found =
      std::ranges::lower_bound(namespace_queues, namespace_name, {}, &NamespaceQueue::name);
  const bool there = found != namespace_queues.end() && found->name == namespace_name;
  return there ? found->queue : default_queue;
}

const PriorityClassRule* SchedulerConfig::rule_of(std::string_view priority_class) const {
  const auto found =
      std::ranges::lower_bound(priority_classes, priority_class, {}, &PriorityClassRule::name);
  const bool there = found != priority_classes.end() && found->name == priority_class;
  return there ? &*found : nullptr;
}

Result<SchedulerConfig> parse_scheduler_config(std::string_view text, const std::string& file) {
  const auto tree = parse_yaml(text, file);
  if (!tree) return tl::unexpected(tree.error());
  SchedulerConfig config;
  if (tree->kind == YamlNode::Kind::kNull) return config;
  Reading reading(file);
  read_file(Section(reading, *tree, scheduler_table(), ""), config);
  if (reading.failed()) return tl::unexpected(reading.error());
  return config;
}

Result<SchedulerConfig> read_scheduler_config(const std::string& path) {
  const auto text = read_text(path, "the configuration of the scheduler");
  if (!text) return tl::unexpected(text.error());
  return parse_scheduler_config(*text, path);
}

std::vector<std::string> warnings(const SchedulerConfig& config) {
  std::vector<std::string> found = model::warnings(config.queues);
  const QueueBook book(config.queues);
  const model::QueueSpec* fallback = book.find(config.default_queue);
  if (fallback == nullptr || !book.is_leaf(config.default_queue)) {
    found.push_back("no queue '" + config.default_queue +
                    "' takes jobs: pods that name no queue wait, unless namespace_queues has one "
                    "for their namespace");
  }
  return found;
}

std::vector<std::string_view> changed_until_restart(const SchedulerConfig& running,
                                                    const SchedulerConfig& next) {
  std::vector<std::string_view> fields;
  if (running.schedulers != next.schedulers) fields.emplace_back("schedulers");
  if (running.mode != next.mode) fields.emplace_back("mode");
  if (running.leader_election != next.leader_election) fields.emplace_back("leader_election");
  return fields;
}

}  // namespace mainspring::config
