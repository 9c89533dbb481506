// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/json.h"
#include "mainspring/base/result.h"
#include "mainspring/kube/objects.h"

// Reads members of JSON objects of the API server.
//
// A member that is absent or null leaves what it would fill as it was. The first thing that is
// wrong is kept, with its path ("spec.containers[0].resources"), and reading goes on: what comes
// out then is worth nothing.

namespace mainspring::kube {

class FieldReader {
 public:
  using Json = base::Json;

  // Any text, of at most a megabyte.
  void text(const Json& object, std::string_view key, std::string& out);
  void truth(const Json& object, std::string_view key, bool& out);
  void integer(const Json& object, std::string_view key, int64_t low, int64_t high, int64_t& out);
  void integer(const Json& object, std::string_view key, int32_t low, int32_t& out);
  void time(const Json& object, std::string_view key, base::Instant& out);
  void texts(const Json& object, std::string_view key, std::vector<std::string>& out);
  void map(const Json& object, std::string_view key, StringMap& out);
  // An amount that is not negative; of a text or a number.
  void quantity(const Json& object, std::string_view key, int64_t& out);
  // Resource names and amounts in the units of PodObject::requests.
  void resources(const Json& object, std::string_view key, std::map<std::string, int64_t>& out);

  // Calls visit(child) if the member is there and an object.
  template <class Visit>
  void within(const Json& object, std::string_view key, Visit visit) {
    const Json* child = member(object, key, Json::Kind::kObject);
    if (child == nullptr) return;
    path_.push_back({key, kNoIndex});
    visit(*child);
    path_.pop_back();
  }

  // Calls visit(item) for each item of an array of objects.
  template <class Visit>
  void each(const Json& object, std::string_view key, Visit visit) {
    const Json* list = member(object, key, Json::Kind::kArray);
    if (list == nullptr) return;
    path_.push_back({key, 0});
    for (const Json& item : list->as_array()) {
      if (item.is(Json::Kind::kObject)) {
        visit(item);
      } else {
        fail({}, "must be an object");
      }
      ++path_.back().index;
    }
    path_.pop_back();
  }

  // `key` empty: the place where we are.
  void fail(std::string_view key, const std::string& why);
  [[nodiscard]] bool good() const { return !error_; }
  [[nodiscard]] base::Error error() const;

 private:
  static constexpr size_t kNoIndex = static_cast<size_t>(-1);
  struct Step {
    std::string_view key;
    size_t index;
  };

  const Json* member(const Json& object, std::string_view key, Json::Kind kind);

  std::vector<Step> path_;
  std::optional<std::string> error_;
};

// The parts that several kinds share.
void read_meta(FieldReader& fields, const base::Json& object, Meta& out);
// `key` absent: a selector that matches nothing.
void read_label_selector(FieldReader& fields, const base::Json& object, std::string_view key,
                         LabelSelector& out);
// Terms without requirements match no node, and are left out.
void read_node_terms(FieldReader& fields, const base::Json& object, std::string_view key,
                     std::vector<NodeTerm>& out);

}  // namespace mainspring::kube
