// SPDX-License-Identifier: Apache-2.0
#include "mainspring/cli/bench_cluster.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "mainspring/base/check.h"

namespace mainspring::cli {

using Clock = std::chrono::steady_clock;

BenchCluster::BenchCluster(const TreeShape& tree, const NodeForm& form) {
  add_tree(state_, tree, form);
  (void)cycle();
}

double BenchCluster::submit_ms(model::JobSpec job, model::Plan& plan) {
  const auto begin = Clock::now();
  feed(state_, model::JobChanged{std::move(job)});
  plan = cycle();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

void BenchCluster::submit(const model::JobSpec& job, size_t pods_expected) {
  model::Plan plan;
  (void)submit_ms(job, plan);
  MAINSPRING_CHECK(pods_bound(plan) == pods_expected, "a benchmark's job was not placed");
}

void BenchCluster::start(const model::Plan& plan) {
  for (const model::Decision& decision : plan.decisions) {
    const auto* bind = std::get_if<model::Bind>(&decision);
    if (bind == nullptr) continue;
    for (const model::PodBinding& pod : bind->pods) {
      feed(state_, model::PodBound{pod.pod, pod.incarnation});
      feed(state_, model::PodStarted{pod.pod, pod.incarnation});
    }
  }
}

void BenchCluster::remove(const model::JobSpec& job) {
  feed(state_, model::JobGone{job.id});
  for (const model::PodSpec& pod : job.pods) {
    const model::PodIx index = state_.find_pod(pod.id);
    if (!index.valid()) continue;
    feed(state_, model::PodGone{.pod = pod.id,
                                .incarnation = state_.pod(index).incarnation,
                                .end = model::PodEnd::kRemoved});
  }
  (void)cycle();
}

size_t pods_bound(const model::Plan& plan) {
  size_t count = 0;
  for (const model::Decision& decision : plan.decisions) {
    if (const auto* bind = std::get_if<model::Bind>(&decision)) count += bind->pods.size();
  }
  return count;
}

bool explains(const model::Plan& plan, const std::string& job, model::VerdictKind kind) {
  return std::ranges::any_of(plan.explanations, [&](const model::Explanation& entry) {
    return entry.job == job && entry.verdict.kind == kind;
  });
}

}  // namespace mainspring::cli
