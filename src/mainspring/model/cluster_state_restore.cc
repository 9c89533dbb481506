// SPDX-License-Identifier: Apache-2.0
// What only a snapshot tells.
#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "mainspring/model/cluster_state.h"

namespace mainspring::model {

using base::invalid;
using base::Status;

namespace {

std::optional<DeviceMask> devices_in(const Inventory& inventory, const Node& node,
                                     const std::vector<std::string>& gpus) {
  DeviceMask devices = 0;
  for (const std::string& id : gpus) {
    const auto gpu = std::ranges::find_if(
        node.gpus, [&](const Gpu& candidate) { return inventory.name(candidate.id) == id; });
    if (gpu == node.gpus.end()) return std::nullopt;
    devices |= DeviceMask{1} << (gpu - node.gpus.begin());
  }
  return devices;
}

}  // namespace

Status ClusterState::on(const GpuModelsRestored& event) {
  return inventory_.number_gpu_models(event.models);
}

Status ClusterState::on(const JobRestored& event) {
  const JobIx index = find_job(event.job);
  if (!index.valid()) {
    ++stale_.unknown_job;
    return {};
  }
  Job& job = mutable_job(index);
  job.failed_starts = event.failed_starts;
  job.backoff_until = event.backoff_until;
  job.start_deadline = event.start_deadline;
  job.releasing = event.releasing;
  job.removed = event.removed;
  job.running_since = event.running_since;
  job.checkpointed_at = event.checkpointed_at;
  job.displaced_at = event.displaced_at;
  job.goes_first = event.goes_first;
  job.move_retry_at = event.move_retry_at;
  job.protected_until = event.protected_until;
  job_changes_.add(index.slot);
  return {};
}

Status ClusterState::on(const PromiseRestored& event) {
  const JobIx index = find_job(event.job);
  if (!index.valid()) {
    ++stale_.unknown_job;
    return {};
  }
  if (job(index).promised()) return invalid("job " + event.job + " was promised places twice");
  std::vector<Promise> promises;
  for (const PromisedPlace& place : event.places) {
    const PodIx pod_index = find_pod(place.pod);
    if (!pod_index.valid() || pod(pod_index).job != index) {
      return invalid("job " + event.job + " has no pod " + place.pod);
    }
    const NodeIx node = inventory_.find_node(place.node);
    if (!node.valid()) return invalid("a place is promised on the unknown node " + place.node);
    const auto devices = devices_in(inventory_, inventory_.node(node), place.gpus);
    if (!devices) return invalid("node " + place.node + " has not all promised GPUs");
    const Shape& shape = inventory_.shape(pod(pod_index).shape);
    if (std::popcount(*devices) != static_cast<int>(shape.gpu_count)) {
      return invalid("pod " + place.pod + " is promised another number of GPUs than it asks for");
    }
    promises.push_back({.pod = pod_index, .node = node, .devices = *devices});
  }
  promise(index, std::move(promises), event.until);
  Job& job = mutable_job(index);
  job.promise_broken = event.broken;
  job.displaced = event.displaced;
  return {};
}

Status ClusterState::on(const UsageRestored& event) {
  const QueueIx queue = queues_.find(event.queue);
  if (!queue.valid()) return invalid("queue " + event.queue + " is not known");
  std::vector<PastUse> past;
  for (const UsageRestored::Amount& amount : event.amounts) {
    if (amount.seconds < 0 || amount.millis < 0 || amount.millis > 999) {
      return invalid("queue " + event.queue + ": past use is negative or not in thousandths");
    }
    const size_t dimension = inventory_.find_dimension(amount.resource);
    if (dimension == Inventory::kNoDimension) {
      return invalid("queue " + event.queue + ": past use of the unknown resource " +
                     amount.resource);
    }
    if (past.size() <= dimension) past.resize(dimension + 1);
    past[dimension] = {amount.seconds, amount.millis};
  }
  queues_.restore_past(queue, event.at, std::move(past));
  return {};
}

Status ClusterState::on(const DemandRestored& event) {
  Shape& shape = inventory_.mutable_shape(inventory_.intern_shape(event.shape));
  if (event.arrivals < 0 || event.arrivals_priced < 0 || event.arrivals > kAmountMax ||
      event.arrivals_priced > event.arrivals) {
    return invalid("arrivals are not in 0..2^53 with arrivals_priced at most arrivals");
  }
  arrivals_ += event.arrivals - shape.arrivals;
  arrivals_priced_ += event.arrivals_priced - shape.arrivals_priced;
  shape.arrivals = event.arrivals;
  shape.arrivals_priced = event.arrivals_priced;
  return {};
}

}  // namespace mainspring::model
