// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mainspring/base/id_map.h"
#include "mainspring/base/instant.h"
#include "mainspring/model/event.h"
#include "mainspring/model/plan.h"
#include "mainspring/model/spec.h"

// What is really the case in the simulated cluster, whatever the scheduler believes: which nodes
// are up, which devices work, which strangers sit on them, and which pod occupies what.

namespace mainspring::sim {

struct WorldDevice {
  model::GpuSpec spec;
  bool visible = true;  // the node reports it
  int64_t foreign_memory_bytes = 0;
  int64_t used_milli = 0;
  int64_t used_memory_bytes = 0;
};

struct WorldNode {
  model::NodeSpec spec;  // as configured; `gpus` and `schedulable` are kept below
  bool up = true;
  bool cordoned = false;
  std::vector<WorldDevice> devices;
  model::Resources used;
  std::set<uint32_t> pods;
};

enum class WorldPhase : uint8_t { kIdle, kBinding, kStarting, kRunning, kStopping, kDone };

struct WorldPod {
  std::string id;
  uint32_t job = 0;       // number in the order of submission
  uint32_t position = 0;  // in JobSpec::pods
  model::PodShape shape;
  uint32_t incarnation = 0;
  WorldPhase phase = WorldPhase::kIdle;
  bool succeeded = false;
  bool displaced = false;                    // its last life ended for somebody else's sake
  bool stuck = false;                        // it stops, and does not go by itself
  model::PodEnd end = model::PodEnd::kLost;  // what a pod that stops ends as
  uint32_t node = 0;
  std::vector<uint32_t> devices;
  base::Instant started_at;

  [[nodiscard]] bool occupies() const {
    return phase == WorldPhase::kStarting || phase == WorldPhase::kRunning ||
           phase == WorldPhase::kStopping;
  }
};

class TrueWorld {
 public:
  explicit TrueWorld(const std::vector<model::NodeSpec>& nodes);

  [[nodiscard]] std::vector<WorldNode>& nodes() { return nodes_; }
  [[nodiscard]] const std::vector<WorldNode>& nodes() const { return nodes_; }
  [[nodiscard]] std::vector<WorldPod>& pods() { return pods_; }
  [[nodiscard]] const std::vector<WorldPod>& pods() const { return pods_; }
  // base::IdMap::kNone where there is none.
  [[nodiscard]] uint32_t find_node(std::string_view name) const { return node_by_name_.find(name); }
  [[nodiscard]] uint32_t find_pod(std::string_view id) const { return pod_by_id_.find(id); }
  [[nodiscard]] uint32_t find_device(uint32_t node, std::string_view id) const;

  // The pods of a job, in its order. Returns the number of the first.
  uint32_t add_pods(const model::JobSpec& job, uint32_t job_number);

  // What the node reports of itself.
  [[nodiscard]] model::NodeSpec report(const WorldNode& node) const;

  // Why the pod cannot be bound so, as the outside would say it; empty when it can.
  [[nodiscard]] std::string why_not(const WorldPod& pod, const model::PodBinding& binding) const;
  void occupy(uint32_t pod, const model::PodBinding& binding);
  void vacate(uint32_t pod);

  // GPU capacity that is there now (healthy, reported, on a node that is up), and what pods hold.
  [[nodiscard]] int64_t capacity_milli() const { return capacity_milli_; }
  [[nodiscard]] int64_t held_milli() const { return held_milli_; }
  [[nodiscard]] int64_t held_milli(const WorldPod& pod) const;
  // After anything but a pod changed on the node.
  void recount_capacity(uint32_t node);

  // The nodes on which something was occupied since the last call.
  std::vector<uint32_t> take_touched();

 private:
  std::vector<WorldNode> nodes_;
  std::vector<int64_t> node_capacity_milli_;
  std::vector<WorldPod> pods_;
  base::IdMap node_by_name_;
  base::IdMap pod_by_id_;
  int64_t capacity_milli_ = 0;
  int64_t held_milli_ = 0;
  std::vector<uint32_t> touched_;
};

}  // namespace mainspring::sim
