// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "mainspring/report/published_text.h"
#include "mainspring/server/http_server.h"

// Whether the scheduler lives, and whether it can do its work, as named checks that the scheduler's
// thread sets and probes read.

namespace mainspring::server {

class Health {
 public:
  using Clock = std::chrono::steady_clock;

  // Alive: a beat came within `silence_max`. Counts from the construction.
  explicit Health(Clock::duration silence_max = std::chrono::seconds(60),
                  Clock::time_point now = Clock::now());

  // The scheduler's loop went round.
  void beat(Clock::time_point now = Clock::now());
  // A check that readiness needs. `why` is said when it is not met.
  void set_ready(std::string_view check, bool met, std::string_view why = {});

  [[nodiscard]] HttpAnswer alive(Clock::time_point now = Clock::now()) const;
  // Also only while it lives, and not before any check was set.
  [[nodiscard]] HttpAnswer ready(Clock::time_point now = Clock::now()) const;

 private:
  struct Check {
    bool met = false;
    std::string why;
  };

  [[nodiscard]] std::string silence(Clock::time_point now) const;

  const Clock::duration silence_max_;
  mutable std::mutex mutex_;
  Clock::time_point beat_at_;
  std::map<std::string, Check, std::less<>> checks_;
};

// /healthz, /readyz and /metrics. Both must outlive the server.
void add_operations(HttpServer& server, const Health& health, const report::PublishedText& metrics);

// What Prometheus expects of every process: CPU seconds, memory, open files, start time.
std::string process_metrics();

}  // namespace mainspring::server
