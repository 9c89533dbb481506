// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "mainspring/kube/object_sink.h"
#include "mainspring/kube/reflector_machine.h"

// Keeps what the API server has of one kind, and tells a sink of each change (object_sink.h).
//
// An object that cannot be decoded is counted and passed over; what was known of it before stays. A
// deletion that was missed is told when the next list shows it.

namespace mainspring::kube {

template <class Object>
class Reflector final : private ReflectorStore {
 public:
  using Decode = std::function<base::Result<Object>(const base::Json&)>;

  // All must outlive the reflector.
  Reflector(Transport& transport, const Clock& clock, ObjectSink<Object>& sink, Decode decode,
            ReflectorOptions options)
      : sink_(sink),
        decode_(std::move(decode)),
        machine_(transport, clock, *this, std::move(options)) {}

  void tick(base::Instant now) { machine_.tick(now); }
  [[nodiscard]] base::Instant next_deadline() const { return machine_.next_deadline(); }
  [[nodiscard]] const ReflectorCounters& counters() const { return machine_.counters(); }
  [[nodiscard]] bool synced() const { return machine_.counters().synced; }
  [[nodiscard]] const std::string& path() const { return machine_.path(); }
  [[nodiscard]] size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Object object;
    uint64_t list = 0;  // the last one that had it
  };

  void begin_list() override {
    ++list_;
    lost_item_ = false;
    // What a list has is there, even if it came back from the dead with a restored etcd.
    deleted_.clear();
  }
  void lost_item() override { lost_item_ = true; }

  base::Status put(const base::Json& json) override {
    auto object = decode_(json);
    if (!object) {
      spare(json);
      return tl::unexpected<base::Error>(object.error());
    }
    if (deleted_.contains(object->meta.uid)) return {};
    const std::string key = object->meta.key();
    auto found = entries_.find(key);
    if (found != entries_.end() && found->second.object.meta.uid != object->meta.uid) {
      const Object last = std::move(found->second.object);
      entries_.erase(found);
      sink_.gone(last);
      found = entries_.end();
    }
    if (found == entries_.end()) {
      entries_.emplace(key, Entry{*object, list_});
    } else {
      found->second = Entry{*object, list_};
    }
    sink_.seen(std::move(*object));
    return {};
  }

  base::Status remove(const base::Json& json) override {
    const auto identity = identity_of(json);
    if (!identity) return base::invalid("metadata: is missing or has no name");
    deleted_.insert(identity->uid);
    const auto found = entries_.find(identity->key);
    // Of another life of that name, or never told of: nobody waits for the news.
    if (found == entries_.end() || found->second.object.meta.uid != identity->uid) return {};
    Object last = std::move(found->second.object);
    entries_.erase(found);
    // What the event brings is newer than what is held.
    if (auto object = decode_(json)) last = std::move(*object);
    sink_.gone(last);
    return {};
  }

  void end_list() override {
    if (lost_item_) return;
    for (auto at = entries_.begin(); at != entries_.end();) {
      if (at->second.list == list_) {
        ++at;
        continue;
      }
      const Object last = std::move(at->second.object);
      at = entries_.erase(at);
      sink_.gone(last);
    }
  }

  void tell_synced() override { sink_.synced(); }

  // What cannot be decoded is still there.
  void spare(const base::Json& json) {
    const auto identity = identity_of(json);
    if (!identity) {
      lost_item_ = true;
      return;
    }
    const auto found = entries_.find(identity->key);
    if (found != entries_.end() && found->second.object.meta.uid == identity->uid) {
      found->second.list = list_;
    }
  }

  ObjectSink<Object>& sink_;
  Decode decode_;
  std::map<std::string, Entry> entries_;
  DeletedUids deleted_;
  uint64_t list_ = 0;
  bool lost_item_ = false;
  ReflectorMachine machine_;
};

}  // namespace mainspring::kube
