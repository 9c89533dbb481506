// SPDX-License-Identifier: Apache-2.0
#include "mainspring/server/health.h"

#include "mainspring/report/metric_registry.h"

namespace mainspring::server {

Health::Health(Clock::duration silence_max, Clock::time_point now)
    : silence_max_(silence_max), beat_at_(now) {}

void Health::beat(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  beat_at_ = now;
}

void Health::set_ready(std::string_view check, bool met, std::string_view why) {
  const std::lock_guard lock(mutex_);
  checks_.insert_or_assign(std::string(check), Check{met, std::string(why)});
}

std::string Health::silence(Clock::time_point now) const {
  if (now - beat_at_ <= silence_max_) return {};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - beat_at_).count();
  return "failed: loop: it has stood still for " + std::to_string(seconds) + " s\n";
}

HttpAnswer Health::alive(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  const std::string still = silence(now);
  if (!still.empty()) return {.status = 503, .body = still};
  return {.body = "ok\n"};
}

HttpAnswer Health::ready(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  HttpAnswer answer{.body = silence(now)};
  bool met = answer.body.empty() && !checks_.empty();
  if (checks_.empty()) answer.body += "failed: start: it is not that far yet\n";
  for (const auto& [name, check] : checks_) {
    met = met && check.met;
    answer.body += (check.met ? "ok: " : "failed: ") + name;
    if (!check.met && !check.why.empty()) answer.body += ": " + check.why;
    answer.body += '\n';
  }
  if (!met) answer.status = 503;
  return answer;
}

void add_operations(HttpServer& server, const Health& health,
                    const report::PublishedText& metrics) {
  server.route("/healthz", [&health](const HttpQuestion&) { return health.alive(); });
  server.route("/readyz", [&health](const HttpQuestion&) { return health.ready(); });
  server.route("/metrics", [&metrics](const HttpQuestion&) {
    return HttpAnswer{.content_type = std::string(report::kMetricsContentType),
                      .body = *metrics.get() + process_metrics()};
  });
}

}  // namespace mainspring::server
