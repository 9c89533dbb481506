// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "mainspring/kube/api_writes.h"
#include "mainspring/kube/http.h"

// Events for people (events.k8s.io/v1): "kubectl describe" shows them.
//
// Best effort: recording never waits and never fails; what there is no room or no time for is
// dropped and counted. The same news about the same object is one event whose series counts how
// often it came (after client-go's tools/events).

namespace mainspring::kube {

struct EventNews {
  ObjectRef regarding;
  std::optional<ObjectRef> related;
  std::string reason;  // one word: "Preempting"
  std::string action;  // what was done: "Evict"
  std::string note;    // a sentence; more than 1 kB is cut
  bool warning = false;
  friend auto operator<=>(const EventNews&, const EventNews&) = default;
};

struct EventRecorderOptions {
  std::string controller = "mainspring.dev/scheduler";
  std::string instance;  // of this process; more than 128 bytes are cut
  size_t waiting_max = 4096;
  size_t in_flight_max = 2;
  int64_t per_second = 20;  // requests, in the long run
  int64_t burst = 100;
  // A series is told anew at most so often, and is over when nothing came for `series_idle`.
  base::Duration series_every = base::seconds(60);
  base::Duration series_idle = base::seconds(360);
  int attempts_max = 4;
};

struct EventCounters {
  uint64_t recorded = 0;
  uint64_t written = 0;   // requests that succeeded
  uint64_t repeated = 0;  // news that only raised a count
  uint64_t dropped = 0;
};

class EventRecorder {
 public:
  // Both must outlive the recorder.
  EventRecorder(Transport& transport, const Clock& clock, EventRecorderOptions options);
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;
  ~EventRecorder() { *alive_ = false; }

  void record(EventNews news);
  // Sends what is due. O(what is sent + series that end).
  void tick(base::Instant now);
  // When `tick` is wanted next; `never` if nothing waits.
  [[nodiscard]] base::Instant next_deadline() const;
  // Nothing waits and nothing is on its way.
  [[nodiscard]] bool idle() const { return waiting_.empty() && in_flight_ == 0; }
  [[nodiscard]] const EventCounters& counters() const { return counters_; }

 private:
  struct Series {
    std::string name;  // of the event
    int64_t count = 1;
    int64_t told = 0;  // 0: it is not on the server
    base::Instant first_at;
    base::Instant last_at;
    base::Instant told_at;
    bool waiting = false;  // in `waiting_` or on its way
    int attempts = 0;
  };
  using Key = EventNews;
  using Entry = std::map<Key, Series>::iterator;

  void enqueue(Entry entry);
  void end_series(base::Instant now);
  void send(Entry entry, base::Instant now);
  void hear(Entry entry, int64_t count, const WriteReply& reply);
  bool take_token(base::Instant now);
  [[nodiscard]] HttpRequest create_request(const EventNews& news, const Series& series) const;
  [[nodiscard]] HttpRequest update_request(const EventNews& news, const Series& series) const;

  Transport& transport_;
  const Clock& clock_;
  EventRecorderOptions options_;
  EventCounters counters_;
  std::map<Key, Series> series_;
  std::deque<Entry> waiting_;
  size_t in_flight_ = 0;
  int64_t tokens_milli_;
  base::Instant tokens_at_;
  base::Instant paused_until_;
  base::Instant look_at_ = base::Instant::never();  // when a series may want to be told or end
  uint64_t names_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace mainspring::kube
