// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/delivery.h"

#include <algorithm>
#include <utility>

namespace mainspring::sim {
namespace {

constexpr uint64_t kMillion = 1'000'000;

bool drawn(base::Rng& rng, int32_t of_a_million) {
  return of_a_million > 0 && rng.chance(static_cast<uint64_t>(of_a_million), kMillion);
}

}  // namespace

void Delivery::send(model::EventBody body, std::string_view thing, base::Duration notice) {
  Letter letter;
  letter.event.at = agenda_.now();
  letter.event.body = std::move(body);
  letter.thing = thing;
  letter.due = agenda_.now() + notice;
  if (drawn(rng_, chances_.event_late_ppm)) {
    letter.due = letter.due + base::Duration{rng_.between(0, chances_.event_late_by.ms)};
  }
  letter.twice = drawn(rng_, chances_.event_repeated_ppm);
  std::optional<Letter> overtaken = std::exchange(held_, std::nullopt);
  if (overtaken && overtaken->thing == letter.thing && !letter.thing.empty()) {
    post(*std::exchange(overtaken, std::nullopt));
  }
  const base::Instant due = letter.due;
  if (!overtaken && drawn(rng_, chances_.event_reordered_ppm)) {
    held_ = std::move(letter);
    const uint64_t number = ++held_number_;
    agenda_.put(due + chances_.event_late_by, [this, number] {
      if (held_ && held_number_ == number) post(*std::exchange(held_, std::nullopt));
    });
    return;
  }
  post(std::move(letter));
  if (overtaken) {
    overtaken->due = std::max(overtaken->due, due);
    post(std::move(*overtaken));
  }
}

void Delivery::post(Letter letter) {
  base::Instant due = std::max(letter.due, agenda_.now());
  if (!letter.thing.empty()) {
    base::Instant& last = last_due_[letter.thing];
    due = last = std::max(due, last);
  }
  if (letter.twice) {
    // The copy of a whole state comes directly behind it: later it would be old news that looks
    // new. An old message about a pod is recognised by its incarnation.
    const bool at_once = !letter.thing.empty() && !letter.thing.starts_with("pod:");
    const int64_t after_ms = at_once ? 0 : rng_.between(0, chances_.event_late_by.ms);
    agenda_.put(due + base::Duration{after_ms}, [this, event = letter.event] { arrive(event); });
  }
  agenda_.put(due, [this, event = std::move(letter.event)] { arrive(event); });
}

void Delivery::arrive(model::Event event) {
  event.sequence = ++sequence_;
  arrived_.push_back(std::move(event));
}

std::vector<model::Event> Delivery::take_arrived() { return std::exchange(arrived_, {}); }

}  // namespace mainspring::sim
