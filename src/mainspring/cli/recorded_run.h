// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "mainspring/base/json.h"
#include "mainspring/base/result.h"
#include "mainspring/cli/exit_code.h"
#include "mainspring/engine/cycle.h"
#include "mainspring/model/cluster_state.h"
#include "mainspring/report/audit.h"
#include "mainspring/report/fairness.h"
#include "mainspring/sim/event_replay.h"

namespace CLI {
class App;
}

// A recorded run that is looked back at: what `audit`, `shares` and `priority` have in common.

namespace mainspring::cli {

struct RecordedFlags {
  std::string run;
  std::string at;  // empty: the end of the run
  std::string output = "table";
  bool json = false;

  [[nodiscard]] bool wants_json() const { return json || output == "json"; }
  [[nodiscard]] bool wide() const { return output == "wide"; }
};

// --run, --at, --json and --output.
void add_recorded_flags(CLI::App& command, RecordedFlags& flags, const std::string& schema);

class RecordedRun : private sim::ReplayObserver {
 public:
  // Repeats the run with an engine of its own, up to `--at`. Errors name the flag or the line.
  static base::Result<std::unique_ptr<RecordedRun>> read(const RecordedFlags& flags);

  [[nodiscard]] const std::string& path() const { return path_; }
  // The time that is looked at.
  [[nodiscard]] base::Instant at() const { return at_; }
  [[nodiscard]] model::ClusterState& state() { return *state_; }
  [[nodiscard]] engine::Engine& engine() { return engine_; }
  [[nodiscard]] const report::Audit& audit() const { return audit_; }
  [[nodiscard]] report::FairnessReport fairness() const { return fairness_.report(*state_, at_); }

  // Whether the run ever had it, with the name that was probably meant.
  [[nodiscard]] base::Status knows_job(const std::string& job) const;
  [[nodiscard]] base::Status knows_queue(const std::string& queue) const;

  // The first members of every document: schema, run, at_ms, different_cycles.
  [[nodiscard]] base::Json envelope(const std::string& schema) const;
  // Decisions that differ from the recorded ones are said on standard error, and fail.
  [[nodiscard]] ExitCode verdict() const;

 private:
  void saw(const model::Event& event, const model::ClusterState& state) override;
  void saw(const model::Plan& plan, const model::ClusterState& state, base::Instant now) override;
  void ended(model::ClusterState&& state, base::Instant end) override;

  std::string path_;
  base::Instant at_;
  engine::Engine engine_;
  report::Audit audit_;
  report::Fairness fairness_;
  std::optional<model::ClusterState> state_;
  std::set<std::string> jobs_;
  int64_t different_cycles_ = 0;
  std::string first_difference_;
};

// A whole number of seconds as one; otherwise with its thousandths.
base::Json seconds_json(int64_t ms);
// Hours with two digits behind the point, rounded down.
std::string hours_text(int64_t ms);
// "1h30m"; whole seconds from ten seconds on.
std::string span_text(base::Duration span);

}  // namespace mainspring::cli
