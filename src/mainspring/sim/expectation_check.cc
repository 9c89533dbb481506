// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/expectation_check.h"

#include <algorithm>
#include <set>

#include "mainspring/config/amount.h"
#include "mainspring/engine/explain.h"
#include "mainspring/sim/gang_tree.h"

namespace mainspring::sim {
namespace {

using base::Instant;
using config::Expectation;
using config::ExpectationKind;

std::string text_of(Instant at) {
  if (at == Instant::never()) return "never";
  return config::format_amount(at.ms, config::AmountKind::kDuration);
}

bool concerns(const Expectation& expectation, const JobRecord& job) {
  return expectation.job.empty() || job.id == expectation.job || job.name == expectation.job;
}

// Looked at when the run comes to the moment; everything else can be told at the end.
bool is_of_a_moment(const Expectation& expectation) {
  switch (expectation.kind) {
    case ExpectationKind::kPendingAt:
    case ExpectationKind::kHoldingPods:
    case ExpectationKind::kRunningPods:
    case ExpectationKind::kHoldingGpus:
    case ExpectationKind::kQueueHoldsAtLeast:
      return true;
    default:
      return false;
  }
}

std::string value_of(const Expectation& expectation) {
  switch (expectation.kind) {
    case ExpectationKind::kStartsBy:
    case ExpectationKind::kStartsAfter:
    case ExpectationKind::kFinishesBy:
    case ExpectationKind::kPendingAt:
      return text_of(expectation.at);
    case ExpectationKind::kNeverStarts:
    case ExpectationKind::kSameHash:
      return "true";
    case ExpectationKind::kWithin:
      return expectation.level;
    case ExpectationKind::kOnNodes: {
      std::string nodes;
      for (const std::string& node : expectation.nodes) nodes += (nodes.empty() ? "" : ", ") + node;
      return nodes;
    }
    case ExpectationKind::kDisplacedBy:
      return expectation.other;
    case ExpectationKind::kUtilisationAtLeast:
      return std::to_string(expectation.count) + " thousandths";
    default:
      return std::to_string(expectation.count);
  }
}

std::string statement_of(const Expectation& expectation) {
  std::string text = expectation.job.empty() ? "" : expectation.job + " ";
  if (!expectation.queue.empty()) text += expectation.queue + " ";
  text += std::string(to_string(expectation.kind)) + " " + value_of(expectation);
  const bool counts = expectation.kind == ExpectationKind::kHoldingPods ||
                      expectation.kind == ExpectationKind::kRunningPods ||
                      expectation.kind == ExpectationKind::kHoldingGpus ||
                      expectation.kind == ExpectationKind::kQueueHoldsAtLeast ||
                      expectation.kind == ExpectationKind::kStartedJobs;
  if (counts && expectation.at != Instant::never()) text += " at " + text_of(expectation.at);
  if (expectation.verdict) text += ", " + std::string(model::to_string(*expectation.verdict));
  if (expectation.reason) text += ", " + std::string(model::to_string(*expectation.reason));
  return text;
}

}  // namespace

ExpectationCheck::ExpectationCheck(const config::Scenario& scenario, Simulator& run,
                                   engine::Engine& engine)
    : scenario_(scenario), run_(run), engine_(engine) {
  for (const Expectation& expectation : scenario.expectations) {
    findings_.push_back({.statement = statement_of(expectation),
                         .line = expectation.line,
                         .found = "the run ended before"});
  }
}

bool ExpectationCheck::wants_second_run(const config::Scenario& scenario) {
  return std::ranges::any_of(scenario.expectations, [](const Expectation& expectation) {
    return expectation.kind == ExpectationKind::kSameHash;
  });
}

std::vector<Instant> ExpectationCheck::moments() const {
  std::set<Instant> moments;
  for (const Expectation& expectation : scenario_.expectations) {
    if (is_of_a_moment(expectation) && expectation.at != Instant::never()) {
      moments.insert(expectation.at);
    }
  }
  return {moments.begin(), moments.end()};
}

void ExpectationCheck::look(Instant at) {
  for (size_t i = 0; i < findings_.size(); ++i) {
    const Expectation& expectation = scenario_.expectations[i];
    if (!is_of_a_moment(expectation) || expectation.at != at) continue;
    Answer answer = at_moment(expectation);
    findings_[i].ok = answer.ok;
    findings_[i].found = std::move(answer.found);
  }
}

std::vector<Finding> ExpectationCheck::finish(uint64_t second_hash) {
  look(Instant::never());
  for (size_t i = 0; i < findings_.size(); ++i) {
    if (is_of_a_moment(scenario_.expectations[i])) continue;
    Answer answer = at_end(scenario_.expectations[i], second_hash);
    findings_[i].ok = answer.ok;
    findings_[i].found = std::move(answer.found);
  }
  return findings_;
}

ExpectationCheck::Answer ExpectationCheck::at_moment(const Expectation& expectation) {
  if (expectation.kind == ExpectationKind::kPendingAt) return pending(expectation);
  if (!expectation.queue.empty()) return of_queue(expectation);
  int64_t pods = 0;
  if (expectation.kind == ExpectationKind::kHoldingPods) {
    for (const model::Job& job : run_.state().jobs()) {
      if (!job.alive) continue;
      for (const JobRecord& record : run_.jobs()) {
        if (record.id == job.id && concerns(expectation, record)) pods += job.pods_holding;
      }
    }
  } else {
    for (uint32_t job = 0; job < run_.jobs().size(); ++job) {
      if (concerns(expectation, run_.jobs()[job])) pods += run_.running_pods(job);
    }
  }
  return {pods == expectation.count, std::to_string(pods) + " pods"};
}

ExpectationCheck::Answer ExpectationCheck::of_queue(const Expectation& expectation) const {
  const model::Queues& queues = run_.state().queues();
  const model::QueueIx queue = queues.find(expectation.queue);
  const int64_t milli = queue.valid() ? queues.row(queue).held(model::kGpuDimension) : 0;
  const int64_t wanted = expectation.count * model::kWholeGpuMilli;
  const bool exactly = expectation.kind == ExpectationKind::kHoldingGpus;
  return {exactly ? milli == wanted : milli >= wanted, std::to_string(milli) + " milli-GPU"};
}

ExpectationCheck::Answer ExpectationCheck::pending(const Expectation& expectation) {
  Answer answer{.ok = true};
  int64_t looked_at = 0;
  for (const JobRecord& record : run_.jobs()) {
    if (!concerns(expectation, record)) continue;
    ++looked_at;
    const model::JobIx job = run_.state().find_job(record.id);
    if (!job.valid() || run_.state().job(job).pods_holding > 0) {
      return {false, record.id + (job.valid() ? " holds places" : " is not there")};
    }
    const model::Verdict told = engine_.verdict(run_.mutable_state(), job);
    const std::string sentence = engine::sentence(told, run_.state(), job);
    const bool as_said = (!expectation.verdict || *expectation.verdict == told.kind) &&
                         (!expectation.reason || *expectation.reason == told.code) &&
                         sentence.find(expectation.sentence) != std::string::npos;
    answer.found = std::string(model::to_string(told.kind)) + ", " +
                   std::string(model::to_string(told.code)) + ": " + sentence;
    if (!as_said) return {false, record.id + ": " + answer.found};
  }
  if (looked_at == 0) return {false, "no such job has arrived"};
  return answer;
}

ExpectationCheck::Answer ExpectationCheck::at_end(const Expectation& expectation,
                                                  uint64_t second_hash) const {
  switch (expectation.kind) {
    case ExpectationKind::kStartsBy:
    case ExpectationKind::kStartsAfter:
    case ExpectationKind::kNeverStarts:
    case ExpectationKind::kFinishesBy:
    case ExpectationKind::kWithin:
    case ExpectationKind::kDomainsAtMost:
    case ExpectationKind::kOnNodes:
    case ExpectationKind::kDisplacedBy:
      return of_each_job(expectation);
    case ExpectationKind::kSameHash:
      return {second_hash == run_.run_hash(),
              config::hex_of(run_.run_hash()) + " and " + config::hex_of(second_hash)};
    default:
      return counted(expectation);
  }
}

ExpectationCheck::Answer ExpectationCheck::counted(const Expectation& expectation) const {
  int64_t started = 0;
  int64_t releases = 0;
  int64_t repairs = 0;
  int64_t displaced = 0;
  int64_t lost_gpu_ms = 0;
  for (const JobRecord& record : run_.jobs()) {
    if (!concerns(expectation, record)) continue;
    if (record.started_at != Instant::never() && record.started_at <= expectation.at) ++started;
    releases += record.releases;
    repairs += record.repairs;
    displaced += static_cast<int64_t>(record.displaced_by.size());
    lost_gpu_ms += record.lost_gpu_ms;
  }
  const int64_t count = expectation.count;
  switch (expectation.kind) {
    case ExpectationKind::kStartedJobs:
      return {started == count, std::to_string(started) + " jobs"};
    case ExpectationKind::kReleases:
      return {releases == count, std::to_string(releases) + " releases"};
    case ExpectationKind::kRepairs:
      return {repairs >= count, std::to_string(repairs) + " repairs"};
    case ExpectationKind::kDisplaced:
      return {displaced == count, std::to_string(displaced) + " times"};
    case ExpectationKind::kDisplacedAtMost:
      return {displaced <= count, std::to_string(displaced) + " times"};
    case ExpectationKind::kLostGpuSecondsAtMost:
      return {lost_gpu_ms <= count * 1000, std::to_string(lost_gpu_ms / 1000) + " GPU seconds"};
    case ExpectationKind::kPromisesEnded: {
      const int64_t ended = run_.statistics().counters.promises_ended;
      return {ended == count, std::to_string(ended) + " promises"};
    }
    case ExpectationKind::kInvariantViolations: {
      const Checker& checker = run_.checker();
      std::string found = std::to_string(checker.violation_count());
      if (!checker.violations().empty()) found += ": " + checker.violations().front().sentence;
      return {checker.violation_count() == count, found};
    }
    default: {
      const int64_t used = run_.statistics().utilisation_milli;
      return {used >= count, std::to_string(used) + " thousandths"};
    }
  }
}

// The job itself, or a copy of what carries the name.
bool ExpectationCheck::is_among(const std::string& name,
                                const std::vector<std::string>& ids) const {
  return std::ranges::any_of(run_.jobs(), [&](const JobRecord& record) {
    return (record.id == name || record.name == name) &&
           std::ranges::find(ids, record.id) != ids.end();
  });
}

ExpectationCheck::Answer ExpectationCheck::of_each_job(const Expectation& expectation) const {
  Answer last{false, "no such job has arrived"};
  for (const JobRecord& record : run_.jobs()) {
    if (!concerns(expectation, record)) continue;
    last = of_one_job(expectation, record);
    if (!last.ok) {
      last.found = record.id + ": " + last.found;
      return last;
    }
  }
  return last;
}

ExpectationCheck::Answer ExpectationCheck::of_one_job(const Expectation& expectation,
                                                      const JobRecord& job) const {
  const bool started = job.started_at != Instant::never();
  const std::string start = "started: " + text_of(job.started_at);
  switch (expectation.kind) {
    case ExpectationKind::kDisplacedBy: {
      std::string winners;
      for (const std::string& id : job.displaced_by) winners += (winners.empty() ? "" : ", ") + id;
      return {is_among(expectation.other, job.displaced_by), "displaced by: " + winners};
    }
    case ExpectationKind::kStartsBy:
      return {started && job.started_at <= expectation.at, start};
    case ExpectationKind::kStartsAfter:
      return {started && job.started_at >= expectation.at, start};
    case ExpectationKind::kNeverStarts:
      return {!started, start};
    case ExpectationKind::kFinishesBy:
      return {job.finished_at != Instant::never() && job.finished_at <= expectation.at,
              "finished: " + text_of(job.finished_at)};
    default:
      return started ? of_places(expectation, job) : Answer{false, start};
  }
}

ExpectationCheck::Answer ExpectationCheck::of_places(const Expectation& expectation,
                                                     const JobRecord& job) const {
  std::set<std::string> places;
  bool outside = false;
  for (const auto& [pod, node] : job.first_places) {
    if (expectation.kind == ExpectationKind::kOnNodes) {
      places.insert(node);
      continue;
    }
    const WorldNode& there = run_.world().nodes()[run_.world().find_node(node)];
    std::string domain = domain_of(scenario_.config, there.spec, expectation.level);
    outside = outside || domain.empty();
    places.insert(std::move(domain));
  }
  std::string found;
  for (const std::string& place : places) found += (found.empty() ? "" : ", ") + place;
  if (expectation.kind == ExpectationKind::kOnNodes) {
    const std::set<std::string> wanted(expectation.nodes.begin(), expectation.nodes.end());
    return {places == wanted, found};
  }
  const int64_t most = expectation.kind == ExpectationKind::kWithin ? 1 : expectation.count;
  return {!outside && static_cast<int64_t>(places.size()) <= most, found};
}

}  // namespace mainspring::sim
