// SPDX-License-Identifier: Apache-2.0
#include "mainspring/policy/admission.h"

#include <algorithm>

#include "mainspring/model/gang.h"
#include "mainspring/policy/least_charge.h"

namespace mainspring::policy {

using model::ClusterState;
using model::Queue;
using model::QueueBook;
using model::QueueIx;
using model::ReasonCode;
using model::Verdict;
using model::VerdictKind;

namespace {

bool tenant_allowed(const ClusterState& state, const model::Job& job) {
  const std::string& tenant = state.inventory().name(job.tenant);
  for (QueueIx at = job.queue; at.valid(); at = state.queues().row(at).parent) {
    const std::vector<std::string>& tenants = state.queues().row(at).spec.tenants;
    if (!tenants.empty() && std::ranges::find(tenants, tenant) == tenants.end()) return false;
  }
  return true;
}

int64_t used(const Queue& queue, size_t dimension) {
  return queue.held(dimension) + queue.count(QueueBook::kStopping, dimension);
}

// `culprit` is the queue that is in the way.
Verdict refused(ReasonCode code, VerdictKind kind, const Queue& queue) {
  return {.kind = kind, .code = code, .culprit = queue.spec.name};
}

Verdict check_amounts(const ClusterState& state, const QueueShares& shares, const model::Job& job) {
  const LeastCharge least = least_charge(state, job);
  for (QueueIx at = job.queue; at.valid(); at = state.queues().row(at).parent) {
    const Queue& queue = state.queues().row(at);
    for (const size_t dimension : shares.dimensions()) {
      if (dimension >= least.size() || least[dimension] == 0) continue;
      const int64_t more = least[dimension];
      const int64_t limit = shares.limit(at, dimension);
      if (limit != model::kUnlimited && used(queue, dimension) + more > limit) {
        const VerdictKind kind = more > limit ? VerdictKind::kNever : VerdictKind::kNotNow;
        return refused(ReasonCode::kQueueLimit, kind, queue);
      }
      if (job.preemptible) continue;
      const int64_t quota = shares.quota(at, dimension);
      const int64_t firm = queue.count(QueueBook::kFirm, dimension);
      if (quota != model::kUnlimited && firm + more > quota) {
        const VerdictKind kind = more > quota ? VerdictKind::kNever : VerdictKind::kNotNow;
        return refused(ReasonCode::kQueueQuota, kind, queue);
      }
    }
  }
  return {};
}

}  // namespace

Verdict admit(const ClusterState& state, const QueueShares& shares, model::JobIx index) {
  const model::Job& job = state.job(index);
  if (job.pods_awaited && !minimum_met(state, job, model::Counts::kListed)) {
    return {.kind = VerdictKind::kNotNow, .code = ReasonCode::kPodsMissing};
  }
  if (!state.queues().declared()) return {};
  const Queue& queue = state.queues().row(job.queue);
  if (!queue.rooted) return refused(ReasonCode::kUnknownQueue, VerdictKind::kNever, queue);
  if (!queue.children.empty()) {
    return refused(ReasonCode::kQueueNotLeaf, VerdictKind::kNever, queue);
  }
  if (!tenant_allowed(state, job)) {
    return refused(ReasonCode::kQueueForbidden, VerdictKind::kNever, queue);
  }
  return check_amounts(state, shares, job);
}

bool within_limits(const ClusterState& state, const QueueShares& shares, model::JobIx index) {
  if (shares.dimensions().empty()) return true;
  const model::Job& job = state.job(index);
  const Asks asked = asks_of(state, job);
  for (QueueIx at = job.queue; at.valid(); at = state.queues().row(at).parent) {
    const Queue& queue = state.queues().row(at);
    for (const size_t dimension : shares.dimensions()) {
      if (!asks(asked, dimension)) continue;
      const int64_t limit = shares.limit(at, dimension);
      if (limit != model::kUnlimited && used(queue, dimension) > limit) return false;
      const int64_t quota = shares.quota(at, dimension);
      if (job.preemptible || quota == model::kUnlimited) continue;
      if (queue.count(QueueBook::kFirm, dimension) > quota) return false;
    }
  }
  return true;
}

}  // namespace mainspring::policy
