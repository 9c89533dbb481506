// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "mainspring/base/instant.h"
#include "mainspring/model/cluster_state.h"

// A transaction over ClusterState: every "would it fit if …" is one.
//
// An undo journal makes it cost what it touched: each step is O(devices + domains of the node).
// What is not committed is rolled back when the Trial ends. One Trial at a time per state; no event
// is applied while it is open.

namespace mainspring::model {

class Trial {
 public:
  // A position in the journal.
  using Mark = size_t;

  explicit Trial(ClusterState& state)
      : state_(state), counters_(state.inventory().counters()), claims_(state.claims()) {}
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  [[nodiscard]] const ClusterState& state() const { return state_; }

  [[nodiscard]] Mark mark() const { return journal_.size(); }
  void rollback(Mark mark);
  // Proposed holdings become claims. A what-if step (anything but `place`) must have been rolled
  // back.
  void commit();

  // Books a pending pod on a node; the caller has made sure that it fits (checked again here).
  void place(PodIx pod, NodeIx node, DeviceMask devices, base::Interval interval);

  // --- What-if only ---
  // As if the pod had ended.
  void vacate(PodIx pod);
  // As if a pod that was vacated in this Trial had not ended. False: its place is taken now.
  // O(steps of the Trial).
  bool put_back(PodIx pod);
  // As if the node had more to give.
  void grow(NodeIx node, const Resources& amount);
  // As if the device reported this of itself.
  void set_gpu(NodeIx node, size_t device, bool healthy, int64_t foreign_memory_bytes);
  // As if one more node with this description were there; its name must be new.
  NodeIx add_node(const NodeSpec& spec);
  // As if the node were cordoned or not, ready or not.
  void set_usable(NodeIx node, bool schedulable, bool ready);
  // As if the node had `count` more idle devices like its device `like`.
  void add_gpus(NodeIx node, size_t like, uint32_t count);
  // As if this job had been submitted; its id and those of its pods must be new. Row references of
  // jobs and pods do not survive the call, indexes do.
  JobIx add_job(const JobSpec& spec);

 private:
  enum class Step : uint8_t { kPlace, kVacate, kPutBack, kGrow, kGpu, kNode, kUsable, kGpus, kJob };
  struct Entry {
    Step step = Step::kPlace;
    PodIx pod;
    NodeIx node;
    JobIx job;
    DeviceMask devices = 0;
    base::Interval interval;
    HoldingState holding = HoldingState::kNone;
    PodPhase phase = PodPhase::kPending;
    PodIx previous_on_node;
    PodIx next_on_node;
    Resources amount;
    int64_t foreign_memory_bytes = 0;
    uint32_t count = 0;
    bool healthy = true;
    bool schedulable = true;
    bool ready = true;
  };

  // Whether what this Trial placed obeys the rules among pods with this one back in its place.
  [[nodiscard]] bool rules_allow_back(PodIx pod, NodeIx node) const;
  void undo(const Entry& entry);
  void undo_vacate(const Entry& entry);
  void undo_job(JobIx job);

  ClusterState& state_;
  Inventory::Counters counters_;
  uint64_t claims_ = 0;
  std::vector<Entry> journal_;
};

}  // namespace mainspring::model
