// SPDX-License-Identifier: Apache-2.0
#include "mainspring/cli/job_answer.h"

#include <algorithm>

#include <fmt/core.h>

#include "mainspring/cli/terminal.h"
#include "mainspring/config/amount.h"
#include "mainspring/engine/amount_text.h"

namespace mainspring::cli {
namespace {

using base::Json;
using model::VerdictKind;

std::string time_text(base::Instant at) {
  return config::format_amount(at.ms, config::AmountKind::kDuration);
}

std::string phase_of(TimedRun& run, const std::string& job) {
  const auto& records = run.simulator().jobs();
  const auto record = std::find_if(records.begin(), records.end(),
                                   [&](const sim::JobRecord& one) { return one.id == job; });
  if (record == records.end()) return "not_submitted";
  if (record->removed) return "removed";
  if (record->finished_at != base::Instant::never()) return "finished";
  const model::ClusterState& state = run.simulator().state();
  const model::JobIx index = state.find_job(job);
  // Submitted, but the report is still on its way.
  if (!index.valid()) return "not_submitted";
  if (state.job(index).pods_holding == 0) return "waiting";
  return record->started_at == base::Instant::never() ? "starting" : "running";
}

std::string plain_sentence(const std::string& phase) {
  if (phase == "not_submitted") return "It has not been submitted yet.";
  if (phase == "starting") return "It has its place, and its pods are starting.";
  if (phase == "running") return "It is running.";
  if (phase == "finished") return "It has finished.";
  return "Its owner has deleted it.";
}

Json shortages_json(const std::vector<model::Shortage>& shortages) {
  Json out = Json::object();
  for (const model::Shortage& shortage : shortages) out.set(shortage.what, shortage.amount);
  return out;
}

Json remedy_json(const engine::Remedy& remedy) {
  Json targets = Json::array();
  for (const std::string& target : remedy.targets) targets.push_back(target);
  Json changes = Json::object();
  for (const engine::Change& change : remedy.changes) changes.set(change.what, change.amount);
  Json out = Json::object();
  out.set("sentence", remedy.sentence);
  out.set("kind", engine::to_string(remedy.kind));
  out.set("targets", std::move(targets));
  out.set("changes", std::move(changes));
  if (!remedy.value.empty()) out.set("value", remedy.value);
  if (remedy.at != base::Instant::never()) out.set("at_ms", remedy.at.ms);
  return out;
}

std::string node_counts_text(const model::Verdict& verdict) {
  std::string text;
  for (size_t i = 0; i < model::kNodeTestCount; ++i) {
    if (verdict.failed_nodes[i] == 0) continue;
    text += text.empty() ? "" : ", ";
    text += fmt::format("{} {}", grouped(verdict.failed_nodes[i]),
                        model::to_string(static_cast<model::NodeTest>(i)));
  }
  return text;
}

std::string nearest_text(const model::NearestMiss& miss) {
  if (miss.domain.empty()) return "";
  // What is no amount (a label, a level, being ready) is told by the sentence.
  constexpr std::string_view kAmounts[] = {"gpu",    "gpu-memory",        "cpu",
                                           "memory", "ephemeral-storage", "pods"};
  std::string text;
  for (const model::Shortage& shortage : miss.short_of) {
    if (std::ranges::find(kAmounts, shortage.what) == std::end(kAmounts)) continue;
    text += text.empty() ? "" : ", ";
    text += engine::amount_text(shortage.what, shortage.amount);
  }
  return miss.domain + (text.empty() ? "" : ", short of " + text);
}

}  // namespace

JobAnswer answer_for(TimedRun& run, const std::string& job) {
  JobAnswer answer{.job = job, .phase = phase_of(run, job), .at = run.simulator().now()};
  if (answer.phase != "waiting") {
    answer.explanation.sentence = plain_sentence(answer.phase);
    return answer;
  }
  model::ClusterState& state = run.simulator().mutable_state();
  const model::JobIx index = state.find_job(job);
  answer.explanation = engine::explain(state, run.engine().placer(), index);
  // In back-off the wait itself is the reason; what would help it start is told all the same.
  const model::Verdict* told = run.simulator().last_verdict(job);
  if (told != nullptr && told->code == model::ReasonCode::kBackingOff) {
    answer.explanation.verdict = *told;
    answer.explanation.sentence = engine::sentence(*told, state, index);
  }
  return answer;
}

Json answer_json(const JobAnswer& answer) {
  const model::Verdict& verdict = answer.explanation.verdict;
  Json failed = Json::object();
  for (size_t i = 0; i < model::kNodeTestCount; ++i) {
    const auto test = static_cast<model::NodeTest>(i);
    if (verdict.failed_nodes[i] > 0) failed.set(model::to_string(test), verdict.failed_nodes[i]);
  }
  Json miss = Json::object();
  miss.set("domain", verdict.nearest_miss.domain);
  miss.set("short", shortages_json(verdict.nearest_miss.short_of));
  Json remedies = Json::array();
  for (const engine::Remedy& remedy : answer.explanation.remedies) {
    remedies.push_back(remedy_json(remedy));
  }
  Json out = Json::object();
  out.set("schema", "mainspring.explain/1");
  out.set("job", answer.job);
  out.set("verdict", model::to_string(verdict.kind));
  out.set("reason_code", model::to_string(verdict.code));
  out.set("sentence", answer.explanation.sentence);
  out.set("failed_nodes", std::move(failed));
  out.set("nearest_miss", std::move(miss));
  out.set("remedies", std::move(remedies));
  out.set("phase", answer.phase);
  out.set("at_ms", answer.at.ms);
  return out;
}

std::string wrapped(std::string_view words, size_t indent, size_t width) {
  const std::string margin(indent, ' ');
  std::string text;
  std::string line = margin;
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    const std::string_view word = words.substr(0, end);
    words.remove_prefix(std::min(end + 1, words.size()));
    if (line.size() > indent && display_width(line) + 1 + display_width(word) > width) {
      text += line + "\n";
      line = margin;
    }
    line += (line.size() > indent ? " " : "") + std::string(word);
  }
  return text + line + "\n";
}

std::string answer_text(const JobAnswer& answer, size_t width) {
  const model::Verdict& verdict = answer.explanation.verdict;
  std::string text = fmt::format("{} at {}: {}", toned(answer.job, Tone::kStrong),
                                 time_text(answer.at), answer.phase);
  if (answer.phase != "waiting") {
    return text + "\n" + wrapped(answer.explanation.sentence, 2, width);
  }
  const Tone tone = verdict.kind == VerdictKind::kNever ? Tone::kBad : Tone::kWarning;
  text += fmt::format(", {} ({})\n", toned(model::to_string(verdict.kind), tone),
                      model::to_string(verdict.code));
  text += wrapped(answer.explanation.sentence, 2, width);
  if (const std::string counts = node_counts_text(verdict); !counts.empty()) {
    text += wrapped("nodes by first failed test: " + counts, 2, width);
  }
  if (const std::string near = nearest_text(verdict.nearest_miss); !near.empty()) {
    text += wrapped("nearest miss: " + near, 2, width);
  }
  for (const engine::Remedy& remedy : answer.explanation.remedies) {
    const std::string lines = wrapped(remedy.sentence, 4, width);
    text += "  - " + lines.substr(4);
  }
  return text;
}

}  // namespace mainspring::cli
