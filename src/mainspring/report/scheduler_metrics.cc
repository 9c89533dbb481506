// SPDX-License-Identifier: Apache-2.0
#include "mainspring/report/scheduler_metrics.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace mainspring::report {
namespace {

using enum MetricUnit;

constexpr int64_t kMs = 1000;
constexpr int64_t kSecond = 1000 * kMs;
constexpr int64_t kHour = 3600 * kSecond;

// For what the scheduler and the API server do.
std::vector<int64_t> short_bounds() {
  return {kMs / 10, kMs / 2,   kMs,       2 * kMs,   5 * kMs, 10 * kMs,    25 * kMs,
          50 * kMs, 100 * kMs, 250 * kMs, 500 * kMs, kSecond, 5 * kSecond, 10 * kSecond};
}

// For what people wait for.
std::vector<int64_t> long_bounds() {
  return {10 * kMs,     100 * kMs,     500 * kMs,      kSecond, 5 * kSecond, 30 * kSecond,
          60 * kSecond, 300 * kSecond, 1800 * kSecond, kHour,   6 * kHour,   24 * kHour};
}

struct QueueCounts {
  int64_t pending_jobs = 0;
  int64_t pending_pods = 0;
  int64_t running_jobs = 0;
};

struct WaitCounts {
  int64_t active = 0;
  int64_t backoff = 0;
  int64_t unschedulable = 0;
};

void count_wait(const model::Job& job, base::Instant now, WaitCounts& counts) {
  if (job.promised()) {
    counts.active += job.pods_pending;
  } else if (job.backoff_until > now) {
    counts.backoff += job.pods_pending;
  } else {
    counts.unschedulable += job.pods_pending;
  }
}

}  // namespace

FieldMetrics::FieldMetrics(MetricRegistry& registry)
    : scheduling_duration(registry.histogram(
          "scheduler_scheduling_duration_seconds",
          "From the begin of the cycle that placed a pod until its binding was confirmed.",
          short_bounds(), kMicro)),
      pending_pods(registry.gauge(
          "scheduler_pending_pods",
          "Pods that wait: active (their place is being made free), backoff (their job failed to "
          "start lately), unschedulable (there is no place for them now), gated (they have "
          "scheduling gates).",
          {"queue"})),
      fragmentation_score(registry.gauge("scheduler_fragmentation_score",
                                         "Of the GPUs that are free, the part that lies on nodes "
                                         "where others are taken: 0 is none, "
                                         "1 is all.",
                                         {}, kMilli)),
      gpu_memory_used(registry.gauge(
          "scheduler_gpu_mem_used_avg",
          "Mean part of the memory of GPUs that is in use; absent while nothing measures it.", {},
          kMilli)) {}

QueueMetrics::QueueMetrics(MetricRegistry& registry)
    : queue_pending_jobs(registry.gauge("mainspring_queue_pending_jobs",
                                        "Jobs of the queue whose minimum does not run.",
                                        {"queue"})),
      queue_pending_pods(registry.gauge("mainspring_queue_pending_pods",
                                        "Pods of the queue that have no node.", {"queue"})),
      queue_running_jobs(registry.gauge("mainspring_queue_running_jobs",
                                        "Jobs of the queue whose minimum runs.", {"queue"})),
      queue_wait(registry.histogram(
          "mainspring_queue_wait_seconds",
          "From when a job of the queue was submitted until its minimum was bound.", long_bounds(),
          kMicro, {"queue"})) {}

EffectMetrics::EffectMetrics(MetricRegistry& registry)
    : binds(registry.counter("mainspring_binds_total", "Pods that were bound.", {"queue"})),
      bind_failures(registry.counter("mainspring_bind_failures_total",
                                     "Binds that the API server refused or did not answer.",
                                     {"reason"})),
      bind_duration(registry.histogram("mainspring_bind_duration_seconds",
                                       "From sending a bind until the answer.", short_bounds(),
                                       kMicro)),
      binds_in_flight(
          registry.gauge("mainspring_binds_in_flight", "Binds that are sent and not answered.")),
      compensations(registry.counter(
          "mainspring_gang_compensations_total",
          "Gangs that were taken back because a part of them could not be bound or started.")),
      lost_members(registry.counter("mainspring_lost_members_total",
                                    "Pods that a node refused after they were bound to it.")),
      evictions(registry.counter("mainspring_evictions_total",
                                 "Pods that were evicted, by the right under which: preempt, "
                                 "reclaim, consolidate, release.",
                                 {"rule"})),
      eviction_failures(registry.counter("mainspring_eviction_failures_total",
                                         "Evictions that the API server refused.", {"reason"})),
      shadow_decisions(registry.counter(
          "mainspring_shadow_decisions_total",
          "In shadow mode, what the other scheduler did with a pod that had a decision: same node, "
          "different node, or not_followed when the decision was overtaken.",
          {"outcome"})) {}

OperationMetrics::OperationMetrics(MetricRegistry& registry)
    : cycle_duration(registry.histogram("mainspring_cycle_duration_seconds",
                                        "Length of a cycle, in which decisions are made.",
                                        short_bounds(), kMicro)),
      watch_relists(registry.counter("mainspring_watch_relists_total",
                                     "Times that a kind was listed anew.", {"resource"})),
      watch_synced(registry.gauge("mainspring_watch_synced",
                                  "1 when all objects of the kind are known.", {"resource"})),
      api_requests(registry.counter("mainspring_api_requests_total",
                                    "Requests to the API server; the code is error when no answer "
                                    "came.",
                                    {"verb", "code"})),
      leader(registry.gauge("mainspring_leader", "1 when this replica is the one that acts.")),
      config_reloads(registry.counter("mainspring_config_reloads_total",
                                      "Changes of the configuration file: success, or failure for "
                                      "one with a mistake, which changes nothing.",
                                      {"result"})),
      nodes(registry.gauge("mainspring_nodes", "Nodes that are known.")),
      gpus(registry.gauge("mainspring_gpus", "GPUs that are known and healthy.")),
      gpus_free(registry.gauge("mainspring_gpus_free", "GPUs of which nobody uses any part.")) {}

SchedulerMetrics::SchedulerMetrics(std::string_view version)
    : FieldMetrics(registry),
      QueueMetrics(registry),
      EffectMetrics(registry),
      OperationMetrics(registry) {
  for (MetricFamily* family : {&scheduling_duration, &cycle_duration, &bind_duration,
                               &binds_in_flight, &compensations, &lost_members, &leader}) {
    family->at();
  }
  for (const char* result : {"success", "failure"}) config_reloads.at({result});
  registry
      .gauge("mainspring_build_info", "Always 1; the label says which version this is.",
             {"version"})
      .at({version})
      .set(1);
}

void SchedulerMetrics::observe(const model::ClusterState& state, base::Instant now, int64_t gated) {
  std::map<std::string_view, QueueCounts> queues;
  for (const model::Queue& queue : state.queues().rows()) {
    if (queue.declared && queue.children.empty()) queues[queue.spec.name];
  }
  WaitCounts waits;
  for (const model::Job& job : state.jobs()) {
    if (!job.alive || job.removed) continue;
    QueueCounts& counts = queues[state.queues().row(job.queue).spec.name];
    const bool runs = job.running_since != base::Instant::never();
    ++(runs ? counts.running_jobs : counts.pending_jobs);
    counts.pending_pods += job.pods_pending;
    count_wait(job, now, waits);
  }
  for (MetricFamily* family : {&queue_pending_jobs, &queue_pending_pods, &queue_running_jobs}) {
    family->clear();
  }
  for (const auto& [name, counts] : queues) {
    queue_pending_jobs.at({name}).add(counts.pending_jobs);
    queue_pending_pods.at({name}).add(counts.pending_pods);
    queue_running_jobs.at({name}).add(counts.running_jobs);
  }
  pending_pods.at({"active"}).set(waits.active);
  pending_pods.at({"backoff"}).set(waits.backoff);
  pending_pods.at({"unschedulable"}).set(waits.unschedulable);
  pending_pods.at({"gated"}).set(gated);
  int64_t usable = 0;
  for (const model::Node& node : state.inventory().nodes()) {
    if (!node.alive) continue;
    usable += std::ranges::count_if(node.gpus, [](const model::Gpu& gpu) { return gpu.usable(); });
  }
  nodes.at().set(static_cast<int64_t>(state.inventory().node_count()));
  gpus.at().set(usable);
  gpus_free.at().set(state.inventory().total_free().gpus);
  fragmentation_score.at().set(fragmentation_milli(state));
}

int64_t fragmentation_milli(const model::ClusterState& state) {
  int64_t free = 0;
  int64_t beside_others = 0;
  for (const model::Node& node : state.inventory().nodes()) {
    if (!node.usable()) continue;
    free += node.free.gpus;
    const auto usable = std::ranges::count_if(node.gpus, &model::Gpu::usable);
    if (node.free.gpus < usable) beside_others += node.free.gpus;
  }
  return free == 0 ? 0 : 1000 * beside_others / free;
}

}  // namespace mainspring::report
