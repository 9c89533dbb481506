// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "mainspring/base/instant.h"
#include "mainspring/model/cluster_state.h"
#include "mainspring/report/metric_registry.h"

// What a running scheduler tells Prometheus. docs/reference/metrics.md is printed from this.

namespace mainspring::report {

// Under the names that others use, for dashboards that exist.
struct FieldMetrics {
  explicit FieldMetrics(MetricRegistry& registry);

  MetricFamily& scheduling_duration;  // histogram; one sample for each pod that is bound
  MetricFamily& pending_pods;         // {queue}: active, backoff, unschedulable, gated
  MetricFamily& fragmentation_score;  // thousandths
  MetricFamily& gpu_memory_used;      // thousandths; absent until somebody measures it
};

struct QueueMetrics {
  explicit QueueMetrics(MetricRegistry& registry);

  MetricFamily& queue_pending_jobs;  // {queue}
  MetricFamily& queue_pending_pods;  // {queue}
  MetricFamily& queue_running_jobs;  // {queue}
  MetricFamily& queue_wait;          // histogram {queue}; one sample for each job that starts
};

// What is done to the cluster.
struct EffectMetrics {
  explicit EffectMetrics(MetricRegistry& registry);

  MetricFamily& binds;              // {queue}
  MetricFamily& bind_failures;      // {reason}
  MetricFamily& bind_duration;      // histogram
  MetricFamily& binds_in_flight;    //
  MetricFamily& compensations;      //
  MetricFamily& lost_members;       //
  MetricFamily& evictions;          // {rule}
  MetricFamily& eviction_failures;  // {reason}
  MetricFamily& shadow_decisions;   // {outcome}: same, different, not_followed
};

// How the scheduler itself fares, and what it knows.
struct OperationMetrics {
  explicit OperationMetrics(MetricRegistry& registry);

  MetricFamily& cycle_duration;  // histogram
  MetricFamily& watch_relists;   // {resource}
  MetricFamily& watch_synced;    // {resource}
  MetricFamily& api_requests;    // {verb, code}
  MetricFamily& leader;          //
  MetricFamily& config_reloads;  // {result}: success, failure
  MetricFamily& nodes;           //
  MetricFamily& gpus;            //
  MetricFamily& gpus_free;       //
};

// Constructed before the families that it holds.
struct RegistryHolder {
  MetricRegistry registry;
};

// Written by the scheduler's thread alone. Durations are given in microseconds.
struct SchedulerMetrics : RegistryHolder,
                          FieldMetrics,
                          QueueMetrics,
                          EffectMetrics,
                          OperationMetrics {
  explicit SchedulerMetrics(std::string_view version);
  SchedulerMetrics(const SchedulerMetrics&) = delete;
  SchedulerMetrics& operator=(const SchedulerMetrics&) = delete;

  // Sets the gauges that describe the state: pending pods, queues, nodes, GPUs, fragmentation.
  // `gated` are pods with scheduling gates, which no job has yet. O(jobs + nodes).
  void observe(const model::ClusterState& state, base::Instant now, int64_t gated);
};

// Of the GPUs that are free, the thousandths that lie on nodes of which another part is taken: 0
// when every free GPU could be part of a whole free node. O(nodes × GPUs).
int64_t fragmentation_milli(const model::ClusterState& state);

}  // namespace mainspring::report
