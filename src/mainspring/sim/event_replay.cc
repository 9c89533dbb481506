// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/event_replay.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "mainspring/sim/run_digest.h"

namespace mainspring::sim {
namespace {

constexpr int64_t kProgressEvery = 256;

class Replay {
 public:
  Replay(const Decide& decide, const ReplayOptions& options) : decide_(decide), options_(options) {}

  base::Result<ReplayReport> run(config::EventFileReader& reader) {
    while (true) {
      auto line = reader.next();
      if (!line) return base::failure(line.error().code, line.error().message);
      if (!line->has_value()) break;
      if (const auto* event = std::get_if<model::Event>(&**line)) {
        if (broken_off_) continue;
        if (!in_snapshot_ && options_.until != base::Instant::never()) {
          told_.push_back(*event);
        } else if (auto ok = apply(*event); !ok) {
          return base::in_context(reader.place(), ok.error());
        }
      } else if (const auto* cycle = std::get_if<config::CycleLine>(&**line)) {
        broken_off_ = broken_off_ || cycle->at > options_.until;
        if (broken_off_) continue;
        if (auto ok = apply_told(reader.place()); !ok) return tl::unexpected(ok.error());
        decide(*cycle, reader.place());
      } else if (std::holds_alternative<config::SnapshotEndLine>(**line)) {
        in_snapshot_ = false;
      }
    }
    if (!broken_off_) {
      if (auto ok = apply_told(reader.place()); !ok) return tl::unexpected(ok.error());
    }
    report_.decisions_hash = decided_.value();
    report_.recorded_hash = recorded_.value();
    report_.state_hash = state_.hash();
    if (options_.check) report_.checker.sweep(state_, nullptr, report_.end);
    if (options_.observer != nullptr) options_.observer->ended(std::move(state_), report_.end);
    return std::move(report_);
  }

 private:
  // What was told before a cycle belongs to it: whether it is applied depends on the cycle.
  base::Status apply_told(const std::string& place) {
    for (const model::Event& event : std::exchange(told_, {})) {
      if (auto ok = apply(event); !ok) return base::in_context(place, ok.error());
    }
    return {};
  }

  base::Status apply(const model::Event& event) {
    auto done = state_.apply(event);
    report_.end = std::max(report_.end, event.at);
    if (options_.check) report_.checker.observe(event, done.has_value(), report_.end);
    if (options_.observer != nullptr) options_.observer->saw(event, state_);
    if (in_snapshot_) {
      ++report_.snapshot_events;
      return done;
    }
    ++report_.events;
    if (!done) ++report_.events_refused;
    return {};
  }

  void decide(const config::CycleLine& cycle, const std::string& place) {
    const model::Plan plan = decide_(state_, cycle.at);
    report_.end = std::max(report_.end, cycle.at);
    if (options_.observer != nullptr) options_.observer->saw(plan, state_, cycle.at);
    ++report_.cycles;
    report_.decisions += static_cast<int64_t>(plan.decisions.size());
    if (options_.check) {
      report_.checker.judge(plan, cycle.at);
      report_.checker.inspect(state_, nullptr, cycle.at);
    }
    const uint64_t digest = digest_of_decisions(plan);
    for (const auto& [hash, value] :
         {std::pair{&decided_, digest}, std::pair{&recorded_, cycle.decisions}}) {
      hash->add(cycle.at.ms);
      hash->add(value);
    }
    if (digest != cycle.decisions && report_.different_cycles++ == 0) {
      report_.first_difference = place;
    }
    if (options_.progress && report_.cycles % kProgressEvery == 0) options_.progress(cycle.at);
  }

  const Decide& decide_;
  const ReplayOptions& options_;
  model::ClusterState state_;
  base::RunHash decided_;
  base::RunHash recorded_;
  ReplayReport report_;
  std::vector<model::Event> told_;  // since the last cycle
  bool in_snapshot_ = true;
  bool broken_off_ = false;
};

}  // namespace

base::Result<ReplayReport> replay_events(const std::string& path, const Decide& decide,
                                         const ReplayOptions& options) {
  auto reader = config::EventFileReader::open(path);
  if (!reader) return base::failure(reader.error().code, reader.error().message);
  return Replay(decide, options).run(**reader);
}

}  // namespace mainspring::sim
