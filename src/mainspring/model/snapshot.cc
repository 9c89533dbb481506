// SPDX-License-Identifier: Apache-2.0
#include "mainspring/model/snapshot.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace mainspring::model {
namespace {

std::vector<bool> shapes_of_pods(const ClusterState& state) {
  std::vector<bool> used(state.inventory().shapes().size());
  for (const Pod& pod : state.pods()) {
    if (pod.alive) used[pod.shape.slot] = true;
  }
  return used;
}

// Written in this order, because each part needs what stands before it:
//   configuration, with every GPU resource name ever known, in order of their numbers; GPU models
//   likewise
//   shapes, in order of their numbers; queues
//   nodes in order of rank, with devices that are gone but held, and strangers on them
//   jobs, with pods that were withdrawn but hold a place
//   pods in their places, per node from the first that came to the last; pods that left
//   promised places
//   what must wait until the places are taken: devices and nodes that left, the true
//   configuration, demand (jobs counted themselves again), what each job has been through, and
//   what queues used
class SnapshotWriter {
 public:
  explicit SnapshotWriter(const ClusterState& state)
      : state_(state), inventory_(state.inventory()) {}

  std::vector<Event> write() {
    CoreConfig wide = state_.config();
    wide.gpu_resources.assign(inventory_.gpu_resources().begin(), inventory_.gpu_resources().end());
    const bool narrower = wide.gpu_resources != state_.config().gpu_resources;
    add(ConfigChanged{std::move(wide)});
    const auto models = inventory_.gpu_models();
    add(GpuModelsRestored{{models.begin(), models.end()}});
    each_shape([this](const Shape& shape) { add(DemandRestored{shape.spec, 0, 0}); });
    for (const Queue& queue : state_.queues().rows()) {
      if (queue.declared) add(QueueChanged{queue.spec});
    }
    for (const uint32_t slot : inventory_.nodes_by_rank()) add_node(inventory_.nodes()[slot]);
    for (const Job& job : state_.jobs()) {
      if (job.alive) add(JobChanged{spec_of(job, true)});
    }
    add_pods();
    // A job that changes loses what is promised to it, so this comes before.
    for (const Job& job : state_.jobs()) {
      if (job.alive && any_withdrawn(job)) {
        add(JobChanged{spec_of(job, false)});
      }
    }
    for (const Job& job : state_.jobs()) {
      if (job.alive && job.promised()) add_promise(job);
    }
    for (const uint32_t slot : inventory_.nodes_by_rank()) add_losses(inventory_.nodes()[slot]);
    if (narrower) add(ConfigChanged{state_.config()});
    each_shape([this](const Shape& shape) {
      add(DemandRestored{shape.spec, shape.arrivals, shape.arrivals_priced});
    });
    for (const Job& job : state_.jobs()) {
      if (job.alive) add_history(job);
    }
    for (const Queue& queue : state_.queues().rows()) {
      if (queue.declared) add_usage(queue);
    }
    return std::move(events_);
  }

 private:
  // Those that a pod has, or had.
  template <class Visit>
  void each_shape(const Visit& visit) const {
    const std::vector<bool> used = shapes_of_pods(state_);
    for (size_t slot = 0; slot < used.size(); ++slot) {
      const Shape& shape = inventory_.shapes()[slot];
      if (used[slot] || shape.arrivals > 0) visit(shape);
    }
  }

  void add(EventBody body) {
    events_.push_back({state_.sequence(), state_.now(), std::move(body)});
  }

  [[nodiscard]] bool any_withdrawn(const Job& job) const {
    return std::ranges::any_of(job.pods, [this](PodIx pod) { return state_.pod(pod).withdrawn; });
  }

  [[nodiscard]] NodeSpec spec_of(const Node& node, bool with_absent) const {
    NodeSpec spec{.name = node.name,
                  .schedulable = node.schedulable,
                  .ready = node.ready,
                  .allocatable = node.allocatable};
    for (const NodeLabel& label : node.labels) {
      spec.labels.push_back({inventory_.name(label.key), inventory_.name(label.value)});
    }
    for (const NodeTaint& taint : node.taints) {
      spec.taints.push_back(
          {inventory_.name(taint.key), inventory_.name(taint.value), taint.effect});
    }
    for (const OtherResource& other : node.others) {
      if (other.total > 0) spec.others.push_back({inventory_.name(other.name), other.total});
    }
    for (const AttachmentLimit& limit : node.attachments_max) {
      spec.attachments_max.push_back({inventory_.name(limit.driver), limit.most});
    }
    // The state has them in order of numbers.
    std::ranges::sort(spec.others);
    for (const Gpu& gpu : node.gpus) {
      if (!gpu.present && !with_absent) continue;
      spec.gpus.push_back({.id = inventory_.name(gpu.id),
                           .resource = inventory_.gpu_resources()[gpu.resource],
                           .model = inventory_.gpu_models()[gpu.model],
                           .memory_bytes = gpu.memory_bytes,
                           .healthy = gpu.healthy});
    }
    return spec;
  }

  void add_node(const Node& node) {
    add(NodeChanged{spec_of(node, true)});
    for (const Gpu& gpu : node.gpus) {
      if (gpu.foreign_memory_bytes == 0) continue;
      add(GpuSampled{.node = node.name,
                     .gpu = inventory_.name(gpu.id),
                     .healthy = gpu.healthy,
                     .foreign_memory_bytes = gpu.foreign_memory_bytes});
    }
  }

  void add_losses(const Node& node) {
    const bool absent = std::ranges::any_of(node.gpus, [](const Gpu& gpu) { return !gpu.present; });
    if (absent) add(NodeChanged{spec_of(node, false)});
    if (!node.listed) add(NodeGone{node.name});
  }

  [[nodiscard]] JobSpec spec_of(const Job& job, bool with_withdrawn) const {
    JobSpec spec{.id = job.id,
                 .queue = state_.queues().row(job.queue).spec.name,
                 .tenant = inventory_.name(job.tenant),
                 .priority = job.priority,
                 .preemptible = job.preemptible,
                 .may_displace = job.may_displace,
                 .submitted_at = job.submitted_at,
                 .expected_run = job.expected_run,
                 .checkpoint_interval = job.checkpoint_interval,
                 .restart_time = job.restart_time,
                 .pods_awaited = job.pods_awaited};
    for (const Group& group : job.groups) {
      spec.groups.push_back({.name = inventory_.name(group.name),
                             .parent = group.parent,
                             .min_count = group.min_count,
                             .required_level = inventory_.name(group.required_level_name),
                             .preferred_level = inventory_.name(group.preferred_level_name)});
    }
    std::vector<ShapeIx> shapes;
    for (const PodIx index : job.pods) {
      const Pod& pod = state_.pod(index);
      if (pod.withdrawn && !with_withdrawn) continue;
      auto shape = std::ranges::find(shapes, pod.shape);
      if (shape == shapes.end()) {
        spec.shapes.push_back(inventory_.shape(pod.shape).spec);
        shape = shapes.insert(shapes.end(), pod.shape);
      }
      // A withdrawn pod is in no group; the root stands in until it is withdrawn again.
      spec.pods.push_back({.id = pod.id,
                           .group = pod.withdrawn ? 0 : pod.group,
                           .shape = static_cast<uint32_t>(shape - shapes.begin())});
    }
    return spec;
  }

  void add_pods() {
    for (const Job& job : state_.jobs()) {
      for (const PodIx index : job.pods) {
        const Pod& pod = state_.pod(index);
        if (pod.holds() || (pod.incarnation == 0 && pod.phase == PodPhase::kPending)) continue;
        add(PodFound{.pod = pod.id,
                     .incarnation = pod.incarnation,
                     .phase = static_cast<uint8_t>(pod.phase)});
      }
    }
    for (const uint32_t slot : inventory_.nodes_by_rank()) {
      // The list of a node begins with the pod that came last.
      std::vector<PodIx> pods;
      for (PodIx pod = inventory_.nodes()[slot].first_pod; pod.valid();
           pod = state_.pod(pod).next_on_node) {
        pods.push_back(pod);
      }
      for (size_t i = pods.size(); i-- > 0;) add_holding(state_.pod(pods[i]));
    }
  }

  void add_holding(const Pod& pod) {
    const Node& node = inventory_.node(pod.node);
    PodFound found{.pod = pod.id,
                   .incarnation = pod.incarnation,
                   .node = node.name,
                   .phase = static_cast<uint8_t>(pod.phase),
                   .from = pod.interval.from,
                   .until = pod.interval.until,
                   .confirmed = pod.holding == HoldingState::kConfirmed};
    found.gpus = gpu_names(node, pod.devices);
    add(std::move(found));
  }

  [[nodiscard]] std::vector<std::string> gpu_names(const Node& node, DeviceMask devices) const {
    std::vector<std::string> names;
    for (DeviceMask rest = devices; rest != 0; rest &= rest - 1) {
      const Gpu& gpu = node.gpus[static_cast<size_t>(std::countr_zero(rest))];
      names.push_back(inventory_.name(gpu.id));
    }
    return names;
  }

  void add_promise(const Job& job) {
    PromiseRestored promise{.job = job.id,
                            .until = job.promise_until,
                            .broken = job.promise_broken,
                            .displaced = job.displaced};
    for (const Promise& one : job.promises) {
      const Node& node = inventory_.node(one.node);
      promise.places.push_back(
          {.pod = state_.pod(one.pod).id, .node = node.name, .gpus = gpu_names(node, one.devices)});
    }
    add(std::move(promise));
  }

  void add_usage(const Queue& queue) {
    const Queues& queues = state_.queues();
    if (queues.half_life().ms == 0) return;
    UsageRestored usage{.queue = queue.spec.name, .at = state_.now()};
    const auto past = queues.past_until(queues.find(queue.spec.name), state_.now());
    for (size_t i = 0; i < past.size(); ++i) {
      if (past[i] == PastUse{}) continue;
      usage.amounts.push_back({inventory_.dimension_name(i), past[i].seconds, past[i].millis});
    }
    add(std::move(usage));
  }

  void add_history(const Job& job) {
    const JobRestored plain{.job = job.id};
    JobRestored history{.job = job.id,
                        .failed_starts = job.failed_starts,
                        .backoff_until = job.backoff_until,
                        .start_deadline = job.start_deadline,
                        .releasing = job.releasing,
                        .removed = job.removed,
                        .running_since = job.running_since,
                        .checkpointed_at = job.checkpointed_at,
                        .displaced_at = job.displaced_at,
                        .goes_first = job.goes_first,
                        .move_retry_at = job.move_retry_at,
                        .protected_until = job.protected_until};
    if (history != plain) add(std::move(history));
  }

  const ClusterState& state_;
  const Inventory& inventory_;
  std::vector<Event> events_;
};

}  // namespace

std::vector<Event> take_snapshot(const ClusterState& state) {
  return SnapshotWriter(state).write();
}

std::vector<DemandRestored> end_of_unused_demand(const ClusterState& state) {
  const auto shapes = state.inventory().shapes();
  const std::vector<bool> used = shapes_of_pods(state);
  std::vector<DemandRestored> ends;
  for (size_t slot = 0; slot < shapes.size(); ++slot) {
    if (!used[slot] && shapes[slot].arrivals > 0) ends.push_back({.shape = shapes[slot].spec});
  }
  return ends;
}

ClusterState without_unused_names(const ClusterState& state) {
  ClusterState again;
  for (const Event& event : take_snapshot(state)) {
    const auto done = again.apply(event);
    MAINSPRING_CHECK(done.has_value(), "a state refuses its own snapshot");
  }
  MAINSPRING_CHECK(again.hash() == state.hash(), "a state differs from its snapshot");
  return again;
}

}  // namespace mainspring::model
