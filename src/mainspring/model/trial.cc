// SPDX-License-Identifier: Apache-2.0
#include "mainspring/model/trial.h"

#include <algorithm>
#include <bit>

#include "mainspring/base/check.h"
#include "mainspring/model/rule_view.h"

namespace mainspring::model {

Trial::~Trial() { rollback(0); }

void Trial::rollback(Mark mark) {
  MAINSPRING_CHECK(mark <= journal_.size(), "a Trial was rolled back to a mark ahead of it");
  while (journal_.size() > mark) {
    undo(journal_.back());
    journal_.pop_back();
  }
  state_.inventory_.restore(counters_);
  state_.claims_ = claims_;
}

void Trial::commit() {
  for (const Entry& entry : journal_) {
    MAINSPRING_CHECK(entry.step == Step::kPlace, "a what-if step was committed");
    Pod& pod = state_.mutable_pod(entry.pod);
    pod.holding = HoldingState::kClaimed;
    const Inventory& inventory = state_.inventory();
    if (inventory.tags().awaited(inventory.shape(pod.shape))) state_.inventory_.reconsider();
  }
  if (!journal_.empty()) ++state_.claims_;
  claims_ = state_.claims_;
  counters_ = state_.inventory().counters();
  journal_.clear();
}

void Trial::place(PodIx pod_index, NodeIx node_index, DeviceMask devices, base::Interval interval) {
  const Pod& pod = state_.pod(pod_index);
  const Node& node = state_.inventory().node(node_index);
  const Shape& shape = state_.inventory().shape(pod.shape);
  MAINSPRING_CHECK(pod.phase == PodPhase::kPending, "only a pending pod can be placed");
  MAINSPRING_CHECK(node.usable(), "a pod was placed on a node that takes none");
  MAINSPRING_CHECK(shape.request.within(node.free.resources),
                   "a pod was placed where it does not fit");
  MAINSPRING_CHECK(others_fit(shape, node.others, 1) == 1 && volumes_fit(shape, node),
                   "a pod was placed where a resource or a volume is lacking");
  MAINSPRING_CHECK(std::popcount(devices) == static_cast<int>(shape.gpu_count),
                   "a pod was given another number of devices than it asks for");
  for (DeviceMask rest = devices; rest != 0; rest &= rest - 1) {
    const auto device = static_cast<size_t>(std::countr_zero(rest));
    MAINSPRING_CHECK(device < node.gpus.size() && device_fits(shape, node.gpus[device]),
                     "a pod was given a device that cannot serve it");
  }
  state_.hold(pod_index, node_index, devices, interval, HoldingState::kProposed);
  journal_.push_back({.step = Step::kPlace, .pod = pod_index});
}

void Trial::vacate(PodIx pod_index) {
  const Pod& pod = state_.pod(pod_index);
  MAINSPRING_CHECK(state_.inventory().node(pod.node).listed, "what-if on a node that left");
  journal_.push_back({.step = Step::kVacate,
                      .pod = pod_index,
                      .node = pod.node,
                      .devices = pod.devices,
                      .interval = pod.interval,
                      .holding = pod.holding,
                      .phase = pod.phase,
                      .previous_on_node = pod.previous_on_node,
                      .next_on_node = pod.next_on_node});
  state_.let_go(pod_index);
}

bool Trial::put_back(PodIx pod) {
  if (state_.pod(pod).holds()) return false;
  const auto left = std::ranges::find_if(journal_, [pod](const Entry& entry) {
    return entry.step == Step::kVacate && entry.pod == pod;
  });
  MAINSPRING_CHECK(left != journal_.end(), "a pod was put back that had not been taken out");
  const Entry was = *left;
  const Node& node = state_.inventory().node(was.node);
  const Shape& shape = state_.inventory().shape(state_.pod(pod).shape);
  if (!shape.request.within(node.allocatable - node.used)) return false;
  if (others_fit(shape, node.others, 1) == 0 || !volumes_fit(shape, node)) return false;
  for (DeviceMask rest = was.devices; rest != 0; rest &= rest - 1) {
    const Gpu& gpu = node.gpus[static_cast<size_t>(std::countr_zero(rest))];
    if (shape.whole ? gpu.holders > 0 : gpu_take(shape, gpu).milli > gpu.free_milli()) return false;
    if (!shape.whole && gpu_take(shape, gpu).memory_bytes > gpu.free_memory_bytes()) return false;
  }
  if (!rules_allow_back(pod, was.node)) return false;
  state_.hold(pod, was.node, was.devices, was.interval, was.holding);
  state_.set_phase(pod, was.phase);
  journal_.push_back({.step = Step::kPutBack, .pod = pod});
  return true;
}

bool Trial::rules_allow_back(PodIx pod, NodeIx node) const {
  const ShapeIx own = state_.pod(pod).shape;
  const Shape& shape = state_.inventory().shape(own);
  if (shape.tags.empty() && shape.rules.empty()) return true;
  std::vector<ShapeIx> shapes{own};
  std::vector<RuleView::Place> places;
  for (const Entry& entry : journal_) {
    if (entry.step != Step::kPlace) continue;
    const Pod& placed = state_.pod(entry.pod);
    shapes.push_back(placed.shape);
    places.push_back({placed.shape, placed.node.slot});
  }
  RuleView rules;
  rules.begin(state_.inventory(), shapes);
  if (!rules.any()) return true;
  for (const RuleView::Place& place : places) rules.add(place.shape, place.node, -1);
  rules.add(own, node.slot, 1);
  return rules.add_all(std::move(places));
}

void Trial::grow(NodeIx node, const Resources& amount) {
  state_.inventory_.grow(node, amount);
  journal_.push_back({.step = Step::kGrow, .node = node, .amount = amount});
}

void Trial::set_gpu(NodeIx node, size_t device, bool healthy, int64_t foreign_memory_bytes) {
  const Gpu& gpu = state_.inventory().node(node).gpus[device];
  journal_.push_back({.step = Step::kGpu,
                      .node = node,
                      .devices = device,
                      .foreign_memory_bytes = gpu.foreign_memory_bytes,
                      .healthy = gpu.healthy});
  state_.inventory_.sample_gpu(node, device, healthy, foreign_memory_bytes);
}

NodeIx Trial::add_node(const NodeSpec& spec) {
  const auto node = state_.inventory_.put_node(spec);
  MAINSPRING_CHECK(node.has_value(), "a what-if node was refused");
  journal_.push_back({.step = Step::kNode, .node = *node});
  return *node;
}

void Trial::set_usable(NodeIx index, bool schedulable, bool ready) {
  const Node& node = state_.inventory().node(index);
  journal_.push_back(
      {.step = Step::kUsable, .node = index, .schedulable = node.schedulable, .ready = node.ready});
  state_.inventory_.set_usable(index, schedulable, ready);
}

void Trial::add_gpus(NodeIx node, size_t like, uint32_t count) {
  state_.inventory_.add_gpus(node, like, count);
  journal_.push_back({.step = Step::kGpus, .node = node, .count = count});
}

JobIx Trial::add_job(const JobSpec& spec) {
  MAINSPRING_CHECK(!state_.find_job(spec.id).valid(), "a what-if job has the id of a real one");
  const auto done = state_.on(JobChanged{spec});
  MAINSPRING_CHECK(done.has_value() && !spec.pods.empty(), "a what-if job was refused");
  const JobIx job = state_.find_job(spec.id);
  journal_.push_back({.step = Step::kJob, .job = job});
  return job;
}

void Trial::undo(const Entry& entry) {
  switch (entry.step) {
    case Step::kPlace:
    case Step::kPutBack:
      state_.let_go(entry.pod);
      return;
    case Step::kVacate:
      undo_vacate(entry);
      return;
    case Step::kGrow: {
      Resources back;
      back -= entry.amount;
      state_.inventory_.grow(entry.node, back);
      return;
    }
    case Step::kGpu:
      state_.inventory_.sample_gpu(entry.node, static_cast<size_t>(entry.devices), entry.healthy,
                                   entry.foreign_memory_bytes);
      return;
    case Step::kNode:
      state_.inventory_.unlist_node(entry.node);
      state_.inventory_.drop_node(entry.node);
      return;
    case Step::kUsable:
      state_.inventory_.set_usable(entry.node, entry.schedulable, entry.ready);
      return;
    case Step::kGpus:
      state_.inventory_.remove_gpus(entry.node, entry.count);
      return;
    case Step::kJob:
      undo_job(entry.job);
      return;
  }
}

// Erases in reverse order of creation, so that the next real job gets the slots that it would have
// got anyway; nor did anybody ask for these shapes.
void Trial::undo_job(JobIx index) {
  Job& job = state_.mutable_job(index);
  for (const PodIx pod : job.pods) {
    --state_.inventory_.mutable_shape(state_.pod(pod).shape).arrivals;
    --state_.arrivals_;
  }
  std::ranges::reverse(job.pods);
  state_.erase_job(index);
}

// Puts the pod back where it was, also in the list of its node: undoing happens in reverse order,
// so its neighbours of then are its neighbours again.
void Trial::undo_vacate(const Entry& entry) {
  state_.hold(entry.pod, entry.node, entry.devices, entry.interval, entry.holding);
  state_.set_phase(entry.pod, entry.phase);
  if (!entry.previous_on_node.valid()) return;
  Node& node = state_.inventory_.mutable_node(entry.node);
  Pod& pod = state_.mutable_pod(entry.pod);
  node.first_pod = pod.next_on_node;
  state_.mutable_pod(node.first_pod).previous_on_node = PodIx{};
  pod.previous_on_node = entry.previous_on_node;
  pod.next_on_node = entry.next_on_node;
  state_.mutable_pod(entry.previous_on_node).next_on_node = entry.pod;
  if (entry.next_on_node.valid())
    state_.mutable_pod(entry.next_on_node).previous_on_node = entry.pod;
}

}  // namespace mainspring::model
