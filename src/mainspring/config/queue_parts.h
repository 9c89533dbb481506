// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "mainspring/config/section.h"
#include "mainspring/model/queue_spec.h"

// Reading the tree of queues, as scenarios and the scheduler's own file write it.

namespace mainspring::config {

// One queue of `queue_table` without those below it.
model::QueueSpec read_queue(const Section& section);

// The tree as the file nests it, flattened, parents first; remembers where each queue stood.
class QueueTreeReader {
 public:
  // A queue and all below it; `parent` is empty for one that stands alone.
  void read(const Section& section, const std::string& parent);
  // The tree as a whole; after all of it was read.
  void check() const;

  // What to say of a name that is no queue.
  [[nodiscard]] std::string unknown(const std::string& name) const;
  void add_name(const std::string& name) { names_.insert(name); }
  [[nodiscard]] bool knows(const std::string& name) const { return names_.contains(name); }
  [[nodiscard]] std::vector<model::QueueSpec> take() { return std::move(queues_); }

 private:
  std::vector<model::QueueSpec> queues_;
  std::vector<Section> sections_;  // of each
  std::set<std::string> names_;
};

}  // namespace mainspring::config
