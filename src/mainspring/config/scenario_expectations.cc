// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "mainspring/config/scenario_fields.h"
#include "mainspring/config/scenario_parts.h"

namespace mainspring::config {
namespace {

using enum ExpectationKind;

// What stands in the field that makes the statement.
enum class Value : uint8_t { kTime, kNumber, kTrue, kLevel, kNodes, kJob };

struct KindRow {
  ExpectationKind kind;
  std::string_view word;
  Value value;
  bool needs_job;  // otherwise `job` may be left out
  bool takes_at;
};

constexpr std::array kKinds = {
    KindRow{kStartsBy, "starts_by", Value::kTime, true, false},
    KindRow{kStartsAfter, "starts_after", Value::kTime, true, false},
    KindRow{kNeverStarts, "never_starts", Value::kTrue, true, false},
    KindRow{kFinishesBy, "finishes_by", Value::kTime, true, false},
    KindRow{kWithin, "within", Value::kLevel, true, false},
    KindRow{kDomainsAtMost, "domains_at_most", Value::kNumber, true, false},
    KindRow{kOnNodes, "on_nodes", Value::kNodes, true, false},
    KindRow{kPendingAt, "pending_at", Value::kTime, true, false},
    KindRow{kHoldingPods, "holding_pods", Value::kNumber, true, true},
    KindRow{kRunningPods, "running_pods", Value::kNumber, false, true},
    KindRow{kStartedJobs, "started_jobs", Value::kNumber, false, true},
    KindRow{kReleases, "releases", Value::kNumber, false, false},
    KindRow{kRepairs, "repairs", Value::kNumber, false, false},
    KindRow{kInvariantViolations, "invariant_violations", Value::kNumber, false, false},
    KindRow{kUtilisationAtLeast, "utilisation_at_least", Value::kNumber, false, false},
    KindRow{kSameHash, "same_hash", Value::kTrue, false, false},
    KindRow{kDisplaced, "displaced", Value::kNumber, false, false},
    KindRow{kDisplacedAtMost, "displaced_at_most", Value::kNumber, false, false},
    KindRow{kDisplacedBy, "displaced_by", Value::kJob, true, false},
    KindRow{kLostGpuSecondsAtMost, "lost_gpu_seconds_at_most", Value::kNumber, false, false},
    KindRow{kPromisesEnded, "promises_ended", Value::kNumber, false, false},
    KindRow{kHoldingGpus, "holding_gpus", Value::kNumber, false, true},
    KindRow{kQueueHoldsAtLeast, "queue_holds_at_least", Value::kNumber, false, true},
};

const KindRow* kind_of(const Section& section) {
  const KindRow* found = nullptr;
  for (const KindRow& row : kKinds) {
    if (!section.has(row.word)) continue;
    if (found != nullptr) {
      section.report(row.word, "is one statement too many; '" + std::string(found->word) +
                                   "' is already there");
    }
    found = &row;
  }
  if (found == nullptr) {
    section.reading().report(section.node(),
                             section.path() + ": expected a statement, such as starts_by");
  }
  return found;
}

bool knows_level(const Scenario& scenario, std::string_view name) {
  if (name == model::kNodeLevel) return true;
  for (const model::TopologySpec& topology : scenario.config.topologies) {
    for (const model::Label& level : topology.levels) {
      if (level.key == name) return true;
    }
  }
  return false;
}

std::string read_level(const Section& section, std::string_view field, const Scenario& scenario) {
  const std::string level = section.text(field);
  if (!knows_level(scenario, level)) {
    section.report(field, "no topology has the level '" + level + "'");
  }
  return level;
}

std::vector<std::string> read_nodes(const Section& section, const Scenario& scenario) {
  std::vector<std::string> nodes = section.names("on_nodes");
  for (const std::string& name : nodes) {
    const bool known = std::any_of(scenario.nodes.begin(), scenario.nodes.end(),
                                   [&](const auto& node) { return node.name == name; });
    if (!known) section.report("on_nodes", "there is no node '" + name + "'");
  }
  return nodes;
}

std::optional<model::ReasonCode> reason_of(const Section& section) {
  std::vector<std::string_view> words;
  const std::string text = section.text("reason");
  for (uint8_t i = 0;; ++i) {
    const auto code = static_cast<model::ReasonCode>(i);
    if (model::to_string(code) == "unknown") break;
    if (model::to_string(code) == text) return code;
    words.push_back(model::to_string(code));
  }
  const std::string_view near = nearest_word(text, words);
  section.report("reason", "'" + text + "' is no reason code" +
                               (near.empty() ? std::string("; see docs/reference/reason-codes.md")
                                             : "; did you mean '" + std::string(near) + "'?"));
  return std::nullopt;
}

void read_pending(const Section& section, Expectation& expectation) {
  constexpr model::VerdictKind kVerdicts[] = {model::VerdictKind::kNow, model::VerdictKind::kNotNow,
                                              model::VerdictKind::kNever};
  if (section.has("verdict")) expectation.verdict = kVerdicts[section.choice("verdict")];
  if (section.has("reason")) expectation.reason = reason_of(section);
  expectation.sentence = section.text("sentence");
}

void read_value(const Section& section, const KindRow& row, const Scenario& scenario,
                Expectation& expectation) {
  switch (row.value) {
    case Value::kTime:
      expectation.at = section.instant(row.word);
      return;
    case Value::kNumber:
      expectation.count = section.amount(row.word);
      return;
    case Value::kTrue:
      if (!section.flag(row.word)) section.report(row.word, "expected true, or leave it out");
      return;
    case Value::kLevel:
      expectation.level = read_level(section, row.word, scenario);
      return;
    case Value::kNodes:
      expectation.nodes = read_nodes(section, scenario);
      return;
    case Value::kJob:
      expectation.other = section.text(row.word);
      if (!names_job(scenario, expectation.other)) {
        section.report(row.word, "there is no job '" + expectation.other + "'");
      }
      return;
  }
}

void check_companions(const Section& section, const KindRow& row) {
  const std::string of = "has no meaning for " + std::string(row.word);
  if (section.has("at") && !row.takes_at) section.report("at", of);
  if (section.has("level") != (row.kind == kDomainsAtMost)) {
    section.report("level", row.kind == kDomainsAtMost ? "is missing; expected a level" : of);
  }
  for (const char* field : {"verdict", "reason", "sentence"}) {
    if (section.has(field) && row.kind != kPendingAt) section.report(field, of);
  }
  if (row.needs_job && !section.has("job"))
    section.report("job", "is missing; expected a job's id");
  const bool of_queue = row.kind == kHoldingGpus || row.kind == kQueueHoldsAtLeast;
  if (section.has("queue") != of_queue) {
    section.report("queue", of_queue ? "is missing; expected a queue" : of);
  }
  const bool whole_run = of_queue || row.kind == kInvariantViolations ||
                         row.kind == kUtilisationAtLeast || row.kind == kSameHash ||
                         row.kind == kPromisesEnded;
  if (whole_run && section.has("job")) section.report("job", of);
}

}  // namespace

std::string_view to_string(ExpectationKind kind) { return kKinds[static_cast<size_t>(kind)].word; }

void read_expectation(const Section& section, Scenario& scenario) {
  const KindRow* row = kind_of(section);
  if (row == nullptr) return;
  Expectation expectation{.kind = row->kind, .job = section.text("job")};
  expectation.queue = section.text("queue");
  expectation.line = section.node().line;
  check_companions(section, *row);
  if (section.has("job") && !names_job(scenario, expectation.job)) {
    section.report("job", "there is no job '" + expectation.job + "'");
  }
  if (row->takes_at && section.has("at")) expectation.at = section.instant("at");
  read_value(section, *row, scenario, expectation);
  if (row->kind == kDomainsAtMost) expectation.level = read_level(section, "level", scenario);
  if (row->kind == kPendingAt) read_pending(section, expectation);
  scenario.expectations.push_back(std::move(expectation));
}

}  // namespace mainspring::config
