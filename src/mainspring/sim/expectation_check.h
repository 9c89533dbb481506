// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "mainspring/config/expectation.h"
#include "mainspring/engine/cycle.h"
#include "mainspring/sim/scenario_run.h"
#include "mainspring/sim/simulator.h"

// Holds what a scenario expects against a run. Statements about a moment are looked at when the run
// has come to it, the others at its end.

namespace mainspring::sim {

class ExpectationCheck {
 public:
  ExpectationCheck(const config::Scenario& scenario, Simulator& run, engine::Engine& engine);

  // The moments at which `look` must be called, in order.
  [[nodiscard]] std::vector<base::Instant> moments() const;
  // The run has come to this moment.
  void look(base::Instant at);
  // The run is over. `second_hash` is that of the same run made again, or the same if none was.
  std::vector<Finding> finish(uint64_t second_hash);

  [[nodiscard]] static bool wants_second_run(const config::Scenario& scenario);

 private:
  struct Answer {
    bool ok = false;
    std::string found;
  };

  [[nodiscard]] Answer at_moment(const config::Expectation& expectation);
  [[nodiscard]] Answer at_end(const config::Expectation& expectation, uint64_t second_hash) const;
  [[nodiscard]] Answer of_each_job(const config::Expectation& expectation) const;
  [[nodiscard]] Answer of_one_job(const config::Expectation& expectation,
                                  const JobRecord& job) const;
  [[nodiscard]] Answer of_places(const config::Expectation& expectation,
                                 const JobRecord& job) const;
  [[nodiscard]] Answer pending(const config::Expectation& expectation);
  [[nodiscard]] Answer of_queue(const config::Expectation& expectation) const;
  [[nodiscard]] bool is_among(const std::string& name, const std::vector<std::string>& ids) const;
  [[nodiscard]] Answer counted(const config::Expectation& expectation) const;

  const config::Scenario& scenario_;
  Simulator& run_;
  engine::Engine& engine_;
  std::vector<Finding> findings_;  // by expectation
};

}  // namespace mainspring::sim
