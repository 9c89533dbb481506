// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "mainspring/config/queue_parts.h"
#include "mainspring/config/scenario_fields.h"
#include "mainspring/config/scenario_parts.h"

namespace mainspring::config {
namespace {

void read_class(const std::string& name, const Section& section, Scenario& scenario) {
  if (parse_amount(name, AmountKind::kCount)) {
    section.reading().report(section.node(),
                             section.path() + ": expected a word, but '" + name + "' is a number");
  }
  scenario.priority_classes.push_back({.name = name,
                                       .value = static_cast<int32_t>(section.amount("value")),
                                       .preemptible = section.flag("preemptible"),
                                       .may_displace = section.flag("may_displace")});
}

void read_change(const Section& section, QueueTreeReader& tree, Scenario& scenario) {
  TimedQueueChange change{.at = section.instant("at"), .gone = section.has("remove")};
  if (section.has("queue") == change.gone) {
    section.reading().report(section.node(),
                             section.path() + ": expected exactly one of `queue` and `remove`");
    return;
  }
  if (change.gone) {
    change.queue.name = section.text("remove");
    if (!tree.knows(change.queue.name)) section.report("remove", tree.unknown(change.queue.name));
  } else if (const auto queue = section.one("queue", queue_table())) {
    change.queue = read_queue(*queue);
    if (queue->has("queues")) queue->report("queues", "has no meaning here; expected one queue");
    const std::string& parent = change.queue.parent;
    if (!parent.empty() && !tree.knows(parent)) queue->report("parent", tree.unknown(parent));
  }
  scenario.queue_changes.push_back(std::move(change));
}

}  // namespace

void read_queues(const Section& file, Scenario& scenario) {
  for (const auto& [name, section] : file.named("priority_classes", priority_class_table())) {
    read_class(name, section, scenario);
  }
  QueueTreeReader tree;
  for (const Section& section : file.many("queues", queue_table())) tree.read(section, "");
  if (file.reading().failed()) return;
  tree.check();
  scenario.queues = tree.take();
  scenario.warnings = model::warnings(scenario.queues);
  const std::vector<Section> changes = file.many("queue_changes", queue_change_table());
  // What one change deletes, another one may have added, in whatever order the file has them.
  for (const Section& section : changes) {
    if (const auto queue = section.one("queue", queue_table())) tree.add_name(queue->text("name"));
  }
  for (const Section& section : changes) {
    read_change(section, tree, scenario);
  }
  std::ranges::stable_sort(scenario.queue_changes, {}, &TimedQueueChange::at);
}

void read_owner(const Section& section, const std::vector<PriorityClass>& classes,
                model::JobSpec& spec) {
  spec.queue = section.text("queue");
  spec.tenant = section.text("tenant");
  const std::string word = section.text("priority");
  const auto found = std::ranges::find(classes, word, &PriorityClass::name);
  if (found != classes.end()) {
    spec.priority = found->value;
    spec.preemptible = found->preemptible;
    spec.may_displace = found->may_displace;
  } else if (!word.empty() && is_id(word) && word.find_first_not_of("0123456789.-") == 0) {
    std::vector<std::string_view> known;
    for (const PriorityClass& one : classes) known.push_back(one.name);
    const std::string_view near = nearest_word(word, known);
    section.report(
        "priority",
        "'" + word + "' is no priority class; " +
            (near.empty() ? std::string("expected a whole number, or the name of a class")
                          : "did you mean '" + std::string(near) + "'?"));
  } else {
    spec.priority = static_cast<int32_t>(section.amount("priority"));
  }
  if (section.has("preemptible")) spec.preemptible = section.flag("preemptible");
  if (section.has("may_displace")) spec.may_displace = section.flag("may_displace");
  spec.checkpoint_interval = section.duration("checkpoint_every");
  spec.restart_time = section.duration("restart_time");
}

}  // namespace mainspring::config
