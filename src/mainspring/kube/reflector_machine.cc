// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/reflector_machine.h"

#include <algorithm>
#include <utility>

#include "mainspring/base/check.h"
#include "mainspring/kube/managed_fields.h"
#include "mainspring/kube/query_text.h"

namespace mainspring::kube {
namespace {

using base::Json;

constexpr size_t kRefusalBytesMax = size_t{1} << 16;
constexpr int64_t kPageItems = 500;
// A watch that ends sooner, and without an event, is a fault.
constexpr base::Duration kShortWatch = base::seconds(1);
constexpr base::Duration kQuiet = base::seconds(120);
constexpr base::Duration kRetryAfterMax = base::seconds(300);
// So many watches that cannot be opened, and the version is no longer trusted.
constexpr int kFailedWatchesMax = 4;

std::string text_of(const Json* value) {
  return value != nullptr && value->is(Json::Kind::kString) ? value->as_string() : std::string();
}

// Of a Status object.
struct Refusal {
  int64_t code = 0;
  std::string message;
  std::optional<base::Duration> retry_after;
  bool version_too_large = false;
};

Refusal refusal_of(const Json& status) {
  Refusal refusal;
  refusal.message = text_of(status.find("message")).substr(0, 300);
  const Json* code = status.find("code");
  if (code != nullptr && code->is(Json::Kind::kInt)) refusal.code = code->as_int();
  // "Too large resource version": the server's cache is not there yet.
  refusal.version_too_large =
      refusal.message.find("Too large resource version") != std::string::npos;
  const Json* details = status.find("details");
  if (details == nullptr) return refusal;
  const Json* wait = details->find("retryAfterSeconds");
  if (wait != nullptr && wait->is(Json::Kind::kInt) && wait->as_int() > 0) {
    refusal.retry_after = base::seconds(std::min<int64_t>(wait->as_int(), 86'400));
  }
  return refusal;
}

Refusal refusal_of(const std::string& body) {
  const auto status = base::parse_json(body, {.depth_max = 16});
  if (status) return refusal_of(*status);
  return {.message = body.substr(0, 100)};
}

}  // namespace

void DeletedUids::insert(const std::string& uid) {
  if (uid.empty() || !known_.insert(uid).second) return;
  in_order_.push_back(uid);
  if (in_order_.size() <= kCountMax) return;
  known_.erase(in_order_.front());
  in_order_.pop_front();
}

std::optional<ObjectIdentity> identity_of(const Json& object) {
  const Json* meta = object.find("metadata");
  if (meta == nullptr) return std::nullopt;
  const std::string name = text_of(meta->find("name"));
  if (name.empty()) return std::nullopt;
  const std::string space = text_of(meta->find("namespace"));
  return ObjectIdentity{space.empty() ? name : space + "/" + name, text_of(meta->find("uid"))};
}

ReflectorMachine::ReflectorMachine(Transport& transport, const Clock& clock, ReflectorStore& store,
                                   ReflectorOptions options)
    : transport_(transport),
      clock_(clock),
      store_(store),
      options_(std::move(options)),
      rng_(options_.seed) {
  MAINSPRING_CHECK(!options_.paths.empty(), "a reflector needs a path");
  if (!options_.field_selector.empty()) {
    selector_query_ += "&fieldSelector=" + query_text(options_.field_selector);
  }
  if (!options_.label_selector.empty()) {
    selector_query_ += "&labelSelector=" + query_text(options_.label_selector);
  }
}

ReflectorMachine::~ReflectorMachine() {
  if (stream_) transport_.close(*stream_);
}

void ReflectorMachine::tick(base::Instant now) {
  if (doing_ == Doing::kNothing && now >= wake_at_) go_on();
}

void ReflectorMachine::go_on() {
  if (next_ == Doing::kWatching) {
    start_watch();
  } else {
    start_list();
  }
}

void ReflectorMachine::open(Doing what, const std::string& query, base::Duration silence_max) {
  doing_ = what;
  wake_at_ = base::Instant::never();
  opened_at_ = clock_.now();
  status_ = 0;
  retry_after_.reset();
  refusal_.clear();
  events_of_stream_ = 0;
  lines_ = LineStream();
  HttpRequest request;
  request.target = path() + "?" + query + selector_query_;
  request.timeout = silence_max;
  stream_ = transport_.open(std::move(request), *this);
}

void ReflectorMachine::start_list() {
  ++counters_.lists;
  continue_token_.clear();
  store_.begin_list();
  start_list_page();
}

void ReflectorMachine::start_list_page() {
  // Paging goes around the server's cache: only where that is wanted anyway.
  std::string query = "resourceVersion=" + query_text(list_version_);
  if (list_version_.empty() && in_pages_) query = "limit=" + std::to_string(kPageItems);
  if (!continue_token_.empty()) query += "&continue=" + query_text(continue_token_);
  list_ = std::make_unique<ListStream>([this](std::string_view text) { take_item(text); });
  open(Doing::kListing, query, options_.list_silence_max);
}

void ReflectorMachine::start_watch() {
  ++counters_.watches;
  const int64_t seconds = rng_.between(300, 600);
  open(Doing::kWatching,
       "watch=true&allowWatchBookmarks=true&resourceVersion=" + query_text(version_) +
           "&timeoutSeconds=" + std::to_string(seconds),
       options_.watch_silence_max);
}

void ReflectorMachine::later(Doing next, base::Duration wait) {
  doing_ = Doing::kNothing;
  next_ = next;
  wake_at_ = clock_.now() + wait;
}

void ReflectorMachine::back_off(Doing next, const std::string& why,
                                std::optional<base::Duration> retry_after) {
  ++counters_.failures;
  counters_.last_error = why;
  const base::Instant now = clock_.now();
  const bool quiet = now - backed_off_at_ > kQuiet;
  back_off_ = quiet ? options_.back_off_min
                    : std::min(base::Duration{back_off_.ms * 2}, options_.back_off_max);
  base::Duration wait{back_off_.ms + rng_.between(0, back_off_.ms)};
  wait = std::min(wait, options_.back_off_max);
  if (retry_after) {
    const base::Duration asked = std::min(*retry_after, kRetryAfterMax);
    wait = base::Duration{asked.ms + rng_.between(0, asked.ms / 4 + 1)};
  }
  backed_off_at_ = now + wait;
  later(next, wait);
}

void ReflectorMachine::drop_stream() {
  if (stream_) transport_.close(*stream_);
  stream_.reset();
  list_.reset();
}

void ReflectorMachine::on_status(int status, std::optional<base::Duration> retry_after) {
  status_ = status;
  retry_after_ = retry_after;
}

void ReflectorMachine::on_bytes(std::string_view bytes) {
  counters_.bytes += bytes.size();
  if (status_ != 200) {
    refusal_ += bytes.substr(0, kRefusalBytesMax - std::min(refusal_.size(), kRefusalBytesMax));
    return;
  }
  const bool listing = doing_ == Doing::kListing;
  const base::Status fed =
      listing ? list_->feed(bytes)
              : lines_.feed(bytes, [this](std::string_view line) { return take_line(line); });
  if (fed) return;
  drop_stream();
  back_off(Doing::kListing, fed.error().message, std::nullopt);
}

void ReflectorMachine::on_end(const base::Status& how) {
  stream_.reset();
  if (doing_ == Doing::kWatching) {
    watch_ended(how);
  } else if (status_ == 200 && how) {
    end_list_page();
  } else {
    list_failed(how);
  }
}

void ReflectorMachine::take_item(std::string_view text) {
  const auto object = base::parse_json(without_managed_fields(text, scratch_));
  const base::Status put =
      object ? store_.put(*object) : base::Status(tl::unexpected<base::Error>(object.error()));
  if (!object) store_.lost_item();
  if (put) return;
  ++counters_.decode_errors;
  counters_.last_error = put.error().message;
}

void ReflectorMachine::end_list_page() {
  const auto end = list_->finish();
  list_.reset();
  if (!end) {
    back_off(Doing::kListing, end.error().message, std::nullopt);
    return;
  }
  if (!end->continue_token.empty()) {
    continue_token_ = end->continue_token;
    start_list_page();
    return;
  }
  store_.end_list();
  version_ = end->resource_version;
  list_version_ = version_;
  in_pages_ = true;
  listed_at_ = counters_.last_heard_at = clock_.now();
  counters_.absent = false;
  tell_synced();
  start_watch();
}

void ReflectorMachine::list_failed(const base::Status& how) {
  list_.reset();
  const Refusal refusal = refusal_of(refusal_);
  std::string why = how ? "list: " + std::to_string(status_) + " " + refusal.message
                        : "list: " + how.error().message;
  if (how && status_ == 404 && options_.may_be_absent) {
    if (path_ + 1 < options_.paths.size()) {
      ++path_;
      list_version_ = "0";
      start_list();
      return;
    }
    become_absent();
    return;
  }
  const bool gone = status_ == 410 || refusal.version_too_large;
  if (!how || !gone) {
    back_off(Doing::kListing, why, retry_after_);
    return;
  }
  // Asked for the newest state there is; a page whose token expired asks without pages.
  const bool was_newest = list_version_.empty();
  if (was_newest) in_pages_ = false;
  list_version_.clear();
  if (was_newest && continue_token_.empty()) {
    back_off(Doing::kListing, why, retry_after_);
    return;
  }
  ++counters_.failures;
  counters_.last_error = std::move(why);
  start_list();
}

void ReflectorMachine::become_absent() {
  path_ = 0;
  list_version_ = "0";
  version_.clear();
  counters_.absent = true;
  // The list that was begun stays empty: whatever there was is gone.
  store_.end_list();
  tell_synced();
  later(Doing::kListing, options_.ask_again);
}

void ReflectorMachine::tell_synced() {
  if (counters_.synced) return;
  counters_.synced = true;
  store_.tell_synced();
}

bool ReflectorMachine::take_line(std::string_view line) {
  const auto event = base::parse_json(without_managed_fields(line, scratch_));
  const Json* object = event ? event->find("object") : nullptr;
  if (object != nullptr) return take_event(text_of(event->find("type")), *object);
  ++counters_.decode_errors;
  const std::string why =
      "watch: " + (event ? std::string("an event without an object") : event.error().message);
  drop_stream();
  back_off(Doing::kListing, why, std::nullopt);
  return false;
}

bool ReflectorMachine::take_event(const std::string& type, const Json& object) {
  counters_.last_heard_at = clock_.now();
  ++events_of_stream_;
  if (type == "ERROR") {
    take_error(object);
    return false;
  }
  const Json* meta = object.find("metadata");
  const std::string version = text_of(meta == nullptr ? nullptr : meta->find("resourceVersion"));
  if (!version.empty()) list_version_ = version_ = version;
  failures_in_row_ = 0;
  if (type == "BOOKMARK") {
    ++counters_.bookmarks;
    return true;
  }
  ++counters_.events;
  base::Status taken;
  if (type == "ADDED" || type == "MODIFIED") {
    taken = store_.put(object);
  } else if (type == "DELETED") {
    taken = store_.remove(object);
  } else {
    taken = base::invalid("an event of the unknown type \"" + type.substr(0, 50) + "\"");
  }
  if (taken) return true;
  ++counters_.decode_errors;
  counters_.last_error = taken.error().message;
  return true;
}

void ReflectorMachine::take_error(const Json& status) {
  const Refusal refusal = refusal_of(status);
  const std::string why = "watch: " + std::to_string(refusal.code) + " " + refusal.message;
  const bool first = events_of_stream_ == 1;
  drop_stream();
  // One that has expired at its very beginning, again and again, must not become a tight loop.
  const bool at_once = refusal.code == 410 && (!first || failures_in_row_++ == 0);
  if (at_once) {
    expired(why);
  } else {
    const bool same_again = refusal.code == 429;
    back_off(same_again ? Doing::kWatching : Doing::kListing, why, refusal.retry_after);
  }
}

void ReflectorMachine::expired(const std::string& why) {
  ++counters_.failures;
  counters_.last_error = why;
  start_list();
}

void ReflectorMachine::watch_ended(const base::Status& how) {
  if (status_ != 200 && status_ != 0) {
    watch_refused();
    return;
  }
  const base::Instant now = clock_.now();
  const bool lived = events_of_stream_ > 0 || now - opened_at_ >= kShortWatch;
  if (!how) counters_.last_error = "watch: " + how.error().message;
  if (status_ == 200 && lived) {
    if (!how) ++counters_.failures;
    if (now - listed_at_ >= options_.relist_after) {
      start_list();
    } else {
      start_watch();
    }
    return;
  }
  back_off(Doing::kWatching, how ? "watch: it ended at once" : "watch: " + how.error().message,
           std::nullopt);
}

void ReflectorMachine::watch_refused() {
  const Refusal refusal = refusal_of(refusal_);
  const std::string why = "watch: " + std::to_string(status_) + " " + refusal.message;
  if (status_ == 410 && failures_in_row_++ == 0) {
    expired(why);
    return;
  }
  const bool same_again = status_ != 410 && status_ != 404 && failures_in_row_ < kFailedWatchesMax;
  ++failures_in_row_;
  if (!same_again && status_ != 429) failures_in_row_ = 1;
  back_off(same_again || status_ == 429 ? Doing::kWatching : Doing::kListing, why, retry_after_);
}

}  // namespace mainspring::kube
