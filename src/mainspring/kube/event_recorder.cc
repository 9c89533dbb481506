// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/event_recorder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "mainspring/base/json.h"
#include "mainspring/kube/time_text.h"

namespace mainspring::kube {
namespace {

using base::Json;

constexpr size_t kNoteBytesMax = 1024;
constexpr size_t kWordBytesMax = 128;
// A name has at most 253 characters, and ours adds a suffix.
constexpr size_t kNameBytesMax = 200;

// Cut between two characters, not within one.
void shorten(std::string& text, size_t bytes_max) {
  if (text.size() <= bytes_max) return;
  while (bytes_max > 0 && (static_cast<unsigned char>(text[bytes_max]) & 0xc0) == 0x80) --bytes_max;
  text.resize(bytes_max);
}

Json reference(const ObjectRef& object) {
  Json json = Json::object();
  json.append("apiVersion", object.api_version);
  json.append("kind", object.kind);
  json.append("name", object.name);
  if (!object.namespace_name.empty()) json.append("namespace", object.namespace_name);
  if (!object.uid.empty()) json.append("uid", object.uid);
  return json;
}

// Objects without a namespace have their events in this one.
std::string_view namespace_of(const EventNews& news) {
  const std::string& name = news.regarding.namespace_name;
  return name.empty() ? std::string_view("default") : std::string_view(name);
}

std::string target(const EventNews& news) {
  return fmt::format("/apis/events.k8s.io/v1/namespaces/{}/events", namespace_of(news));
}

}  // namespace

EventRecorder::EventRecorder(Transport& transport, const Clock& clock, EventRecorderOptions options)
    : transport_(transport),
      clock_(clock),
      options_(std::move(options)),
      tokens_milli_(options_.burst * 1000),
      tokens_at_(clock.now()) {
  shorten(options_.controller, kWordBytesMax);
  shorten(options_.instance, kWordBytesMax);
  if (options_.instance.empty()) options_.instance = options_.controller;
}

void EventRecorder::record(EventNews news) {
  ++counters_.recorded;
  shorten(news.note, kNoteBytesMax);
  shorten(news.reason, kWordBytesMax);
  shorten(news.action, kWordBytesMax);
  const base::Instant now = clock_.now();
  const auto found = series_.find(news);
  if (found != series_.end()) {
    ++counters_.repeated;
    ++found->second.count;
    found->second.last_at = now;
    if (!found->second.waiting) {
      look_at_ = std::min(look_at_, found->second.told_at + options_.series_every);
    }
    return;
  }
  constexpr size_t kSeriesPerWaiting = 4;
  const size_t series_max = kSeriesPerWaiting * options_.waiting_max;
  if (waiting_.size() >= options_.waiting_max || series_.size() >= series_max) {
    ++counters_.dropped;
    return;
  }
  Series series;
  std::string stem = news.regarding.name;
  shorten(stem, kNameBytesMax);
  series.name = fmt::format("{}.{:x}.{:x}", stem, now.ms, ++names_);
  series.first_at = series.last_at = now;
  enqueue(series_.emplace(std::move(news), std::move(series)).first);
}

void EventRecorder::enqueue(Entry entry) {
  entry->second.waiting = true;
  waiting_.push_back(entry);
}

base::Instant EventRecorder::next_deadline() const {
  if (waiting_.empty() || in_flight_ >= options_.in_flight_max) return look_at_;
  base::Instant due = std::max(paused_until_, tokens_at_);
  if (tokens_milli_ < 1000) {
    due = std::max(due,
                   tokens_at_ + base::Duration{(1000 - tokens_milli_) / options_.per_second + 1});
  }
  return std::min(due, look_at_);
}

bool EventRecorder::take_token(base::Instant now) {
  const int64_t gained = std::min<int64_t>((now - tokens_at_).ms, 3'600'000) * options_.per_second;
  tokens_milli_ = std::min(options_.burst * 1000, tokens_milli_ + gained);
  tokens_at_ = now;
  if (tokens_milli_ < 1000) return false;
  tokens_milli_ -= 1000;
  return true;
}

void EventRecorder::tick(base::Instant now) {
  if (now >= look_at_) end_series(now);
  while (!waiting_.empty() && in_flight_ < options_.in_flight_max && now >= paused_until_) {
    if (!take_token(now)) return;
    const Entry entry = waiting_.front();
    waiting_.pop_front();
    send(entry, now);
  }
}

void EventRecorder::end_series(base::Instant now) {
  look_at_ = base::Instant::never();
  for (auto at = series_.begin(); at != series_.end();) {
    Series& series = at->second;
    const Entry entry = at++;
    if (series.waiting) continue;
    const bool ended = now >= series.last_at + options_.series_idle;
    const bool untold = series.count > series.told;
    if (untold && (ended || now >= series.told_at + options_.series_every)) {
      enqueue(entry);
    } else if (ended) {
      series_.erase(entry);
    } else {
      const base::Instant next =
          untold ? series.told_at + options_.series_every : series.last_at + options_.series_idle;
      look_at_ = std::min(look_at_, next);
    }
  }
}

void EventRecorder::send(Entry entry, base::Instant now) {
  Series& series = entry->second;
  series.told_at = now;
  ++in_flight_;
  const int64_t count = series.count;
  HttpRequest request = series.told == 0 ? create_request(entry->first, series)
                                         : update_request(entry->first, series);
  transport_.send(std::move(request),
                  [this, entry, count, alive = alive_](const base::Result<HttpReply>& reply) {
                    if (*alive) hear(entry, count, reply_of(reply));
                  });
}

void EventRecorder::hear(Entry entry, int64_t count, const WriteReply& reply) {
  --in_flight_;
  Series& series = entry->second;
  series.waiting = false;
  const base::Instant now = clock_.now();
  // An event of that name was made by an earlier try whose reply was lost.
  const bool made = reply.outcome == WriteOutcome::kConflict && series.told == 0;
  if (reply.outcome == WriteOutcome::kDone || made) {
    ++counters_.written;
    series.told = count;
    series.attempts = 0;
    look_at_ = std::min(look_at_, now + options_.series_every);
    return;
  }
  const bool vanished = reply.outcome == WriteOutcome::kGone && series.told > 0;
  const bool passing =
      reply.outcome == WriteOutcome::kThrottled || reply.outcome == WriteOutcome::kUnknown;
  if (vanished) series.told = 0;  // events live for an hour or so: this one begins anew
  if ((vanished || passing) && ++series.attempts < options_.attempts_max) {
    const base::Duration wait = reply.retry_after.value_or(base::seconds(1 << series.attempts));
    if (passing) paused_until_ = std::max(paused_until_, now + wait);
    enqueue(entry);
    return;
  }
  ++counters_.dropped;
  series_.erase(entry);
}

HttpRequest EventRecorder::create_request(const EventNews& news, const Series& series) const {
  Json meta = Json::object();
  meta.append("name", series.name);
  meta.append("namespace", namespace_of(news));
  Json body = Json::object();
  body.append("apiVersion", "events.k8s.io/v1");
  body.append("kind", "Event");
  body.append("metadata", std::move(meta));
  body.append("eventTime", micro_time_text(series.first_at));
  body.append("reportingController", options_.controller);
  body.append("reportingInstance", options_.instance);
  body.append("action", news.action);
  body.append("reason", news.reason);
  body.append("type", news.warning ? "Warning" : "Normal");
  body.append("regarding", reference(news.regarding));
  if (news.related) body.append("related", reference(*news.related));
  body.append("note", news.note);
  if (series.count > 1) {
    Json repeats = Json::object();
    repeats.append("count", series.count);
    repeats.append("lastObservedTime", micro_time_text(series.last_at));
    body.append("series", std::move(repeats));
  }
  HttpRequest request;
  request.method = "POST";
  request.target = target(news);
  request.content_type = "application/json";
  request.body = body.dump();
  return request;
}

HttpRequest EventRecorder::update_request(const EventNews& news, const Series& series) const {
  Json repeats = Json::object();
  repeats.append("count", series.count);
  repeats.append("lastObservedTime", micro_time_text(series.last_at));
  Json body = Json::object();
  body.append("series", std::move(repeats));
  HttpRequest request;
  request.method = "PATCH";
  request.target = target(news) + "/" + series.name;
  request.content_type = "application/merge-patch+json";
  request.body = body.dump();
  return request;
}

}  // namespace mainspring::kube
