// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/json.h"
#include "mainspring/base/result.h"
#include "mainspring/base/rng.h"
#include "mainspring/kube/http.h"
#include "mainspring/kube/list_stream.h"

// Follows the objects of one kind: lists them, then watches what changes, and starts over where it
// must. This part knows the protocol and nothing of the kind; reflector.h puts a type around it.
//
// The rules are those of client-go's reflector (kubernetes/client-go, tools/cache/reflector.go):
// the first list is the server's cached one; a watch goes on from the last version that was seen,
// which bookmarks advance; "expired" leads to a new list, "too many requests" to the same watch
// later.

namespace mainspring::kube {

struct ReflectorOptions {
  // "/api/v1/pods"; several are versions of the same kind, of which the first that is served
  // counts.
  std::vector<std::string> paths;
  std::string field_selector;
  std::string label_selector;
  // A server that does not serve the kind has none of it, and is asked again every `ask_again`.
  // Otherwise 404 is a failure like any other.
  bool may_be_absent = false;
  uint64_t seed = 0;  // of jitter
  base::Duration ask_again = base::seconds(30);
  base::Duration back_off_min = base::milliseconds(800);
  base::Duration back_off_max = base::seconds(30);
  base::Duration list_silence_max = base::seconds(60);
  // Bookmarks come about once a minute.
  base::Duration watch_silence_max = base::seconds(150);
  // A watch that has followed the changes for so long is once compared with a list: what a faulty
  // server failed to tell does not stay wrong for ever.
  base::Duration relist_after = base::seconds(3600);
};

struct ReflectorCounters {
  uint64_t lists = 0;  // that were begun, pages not counted
  uint64_t watches = 0;
  uint64_t events = 0;  // bookmarks not counted
  uint64_t bookmarks = 0;
  uint64_t decode_errors = 0;  // objects that were passed over
  uint64_t failures = 0;       // lists and watches that failed, expired ones included
  uint64_t bytes = 0;
  base::Instant last_heard_at;  // an event, a bookmark, or the end of a list
  bool synced = false;
  bool absent = false;     // the server does not serve the kind
  std::string last_error;  // of the last failure or object passed over
};

// Whoever keeps the objects. A Status that is an error: the object cannot be used.
class ReflectorStore {
 public:
  virtual ~ReflectorStore() = default;
  virtual void begin_list() = 0;
  virtual base::Status put(const base::Json& object) = 0;
  virtual base::Status remove(const base::Json& object) = 0;
  // What was not put since `begin_list` is gone.
  virtual void end_list() = 0;
  // An item of the list could not even be read.
  virtual void lost_item() = 0;
  virtual void tell_synced() = 0;
};

class ReflectorMachine final : private StreamSink {
 public:
  // All must outlive the machine.
  ReflectorMachine(Transport& transport, const Clock& clock, ReflectorStore& store,
                   ReflectorOptions options);
  ReflectorMachine(const ReflectorMachine&) = delete;
  ReflectorMachine& operator=(const ReflectorMachine&) = delete;
  ~ReflectorMachine() override;

  // Does what is due; the first call begins.
  void tick(base::Instant now);
  // When `tick` is wanted next, whatever comes in between; `never`: only after news.
  [[nodiscard]] base::Instant next_deadline() const { return wake_at_; }
  [[nodiscard]] const ReflectorCounters& counters() const { return counters_; }
  // The path that is served.
  [[nodiscard]] const std::string& path() const { return options_.paths[path_]; }

 private:
  enum class Doing : uint8_t { kNothing, kListing, kWatching };

  void on_status(int status, std::optional<base::Duration> retry_after) override;
  void on_bytes(std::string_view bytes) override;
  void on_end(const base::Status& how) override;

  void open(Doing what, const std::string& query, base::Duration silence_max);
  void start_list();
  void start_list_page();
  void start_watch();
  void go_on();
  void later(Doing next, base::Duration wait);
  void back_off(Doing next, const std::string& why, std::optional<base::Duration> retry_after);
  void drop_stream();

  void take_item(std::string_view text);
  void end_list_page();
  void list_failed(const base::Status& how);
  void become_absent();
  void tell_synced();

  bool take_line(std::string_view line);
  bool take_event(const std::string& type, const base::Json& object);
  void take_error(const base::Json& status);
  void watch_ended(const base::Status& how);
  void watch_refused();
  void expired(const std::string& why);

  Transport& transport_;
  const Clock& clock_;
  ReflectorStore& store_;
  ReflectorOptions options_;
  base::Rng rng_;
  ReflectorCounters counters_;

  size_t path_ = 0;
  std::string selector_query_;
  std::string version_;             // the last that was seen; empty: none
  std::string list_version_ = "0";  // empty: the newest, read from the source
  bool in_pages_ = true;
  std::string continue_token_;
  base::Instant listed_at_;

  Doing doing_ = Doing::kNothing;
  Doing next_ = Doing::kListing;
  base::Instant wake_at_;
  base::Instant opened_at_;
  std::optional<StreamId> stream_;
  int status_ = 0;
  std::optional<base::Duration> retry_after_;
  std::string refusal_;  // the body of a reply that is no success
  uint64_t events_of_stream_ = 0;
  std::unique_ptr<ListStream> list_;
  LineStream lines_;
  std::string scratch_;

  base::Duration back_off_{0};
  base::Instant backed_off_at_;
  int failures_in_row_ = 0;
};

// Objects whose deletion a watch told: what it says of them later comes too late. Bounded.
class DeletedUids {
 public:
  void clear() {
    known_.clear();
    in_order_.clear();
  }
  void insert(const std::string& uid);
  [[nodiscard]] bool contains(const std::string& uid) const { return known_.contains(uid); }

 private:
  static constexpr size_t kCountMax = 4096;
  std::set<std::string> known_;
  std::deque<std::string> in_order_;
};

// Where an object is, as far as one can tell even of one that cannot be used.
struct ObjectIdentity {
  std::string key;  // Meta::key
  std::string uid;
};
std::optional<ObjectIdentity> identity_of(const base::Json& object);

}  // namespace mainspring::kube
