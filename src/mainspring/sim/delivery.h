// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mainspring/base/rng.h"
#include "mainspring/config/fault.h"
#include "mainspring/model/event.h"
#include "mainspring/sim/agenda.h"

// The way from the true world to the scheduler: reports arrive at once or late, once or twice, and
// sometimes behind a younger one.
//
// What tells a thing's whole state (a node, a job) keeps its order, as a watch on one object does;
// so do the ends of one pod's lives. The other messages about a pod may come in any order.

namespace mainspring::sim {

class Delivery {
 public:
  Delivery(Agenda& agenda, const config::FaultChances& chances, base::Rng rng)
      : agenda_(agenda), chances_(chances), rng_(rng) {}

  // `thing` names what keeps its order; empty: nothing. `notice` is how long it takes until anybody
  // sees what happened.
  void send(model::EventBody body, std::string_view thing, base::Duration notice = {});

  // Nothing but time has passed, and somebody waits for that.
  void tick() { arrive({0, agenda_.now(), model::Tick{}}); }

  // What has arrived since the last call, in order of arrival and numbered.
  std::vector<model::Event> take_arrived();
  [[nodiscard]] bool has_arrived() const { return !arrived_.empty(); }

 private:
  struct Letter {
    model::Event event;
    std::string thing;
    base::Instant due;
    bool twice = false;
  };

  void post(Letter letter);
  void arrive(model::Event event);

  Agenda& agenda_;
  config::FaultChances chances_;
  base::Rng rng_;
  std::optional<Letter> held_;  // to be overtaken by the next one
  uint64_t held_number_ = 0;
  std::unordered_map<std::string, base::Instant> last_due_;  // looked up only, never walked
  std::vector<model::Event> arrived_;
  uint64_t sequence_ = 0;
};

}  // namespace mainspring::sim
