// SPDX-License-Identifier: Apache-2.0
#include "mainspring/engine/queue_sentence.h"

#include "mainspring/engine/amount_text.h"
#include "mainspring/policy/least_charge.h"
#include "mainspring/policy/queue_shares.h"

namespace mainspring::engine {
namespace {

using model::ClusterState;
using model::Job;
using model::Queue;
using model::QueueBook;
using model::QueueIx;
using model::ReasonCode;
using model::Verdict;
using model::VerdictKind;

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

std::string text_of(const ClusterState& state, size_t dimension, int64_t amount) {
  const std::string name = state.inventory().dimension_name(dimension);
  if (dimension == model::kCpuDimension || dimension == model::kMemoryDimension) {
    return amount_text(name, amount);
  }
  const std::string what = dimension == model::kGpuDimension ? "GPU" : name.substr(4) + " GPU";
  if (amount % model::kWholeGpuMilli == 0) return counted(amount / model::kWholeGpuMilli, what);
  return amount_text("gpu-milli", amount);
}

std::string some_children(const ClusterState& state, const Queue& queue) {
  std::string names;
  constexpr size_t kShown = 3;
  for (size_t i = 0; i < queue.children.size() && i < kShown; ++i) {
    names += (i == 0 ? "" : ", ") + quoted(state.queues().row(queue.children[i]).spec.name);
  }
  return names + (queue.children.size() > kShown ? ", …" : "");
}

// The first resource of which the queue would hold too much.
std::string bound_text(const Verdict& verdict, const ClusterState& state, const Job& job) {
  const bool firm = verdict.code == ReasonCode::kQueueQuota;
  policy::QueueShares shares;
  shares.refresh(state, state.now());
  const policy::LeastCharge least = policy::least_charge(state, job);
  for (QueueIx at = job.queue; at.valid(); at = state.queues().row(at).parent) {
    const Queue& queue = state.queues().row(at);
    for (const size_t dimension : shares.dimensions()) {
      const int64_t more = dimension < least.size() ? least[dimension] : 0;
      const int64_t bound = firm ? shares.quota(at, dimension) : shares.limit(at, dimension);
      const int64_t held =
          firm ? queue.count(QueueBook::kFirm, dimension)
               : queue.held(dimension) + queue.count(QueueBook::kStopping, dimension);
      if (bound == model::kUnlimited || more == 0 || held + more <= bound) continue;
      const std::string holds = firm ? " is promised " : " may hold ";
      return "the queue " + quoted(queue.spec.name) + holds + text_of(state, dimension, bound) +
             (firm ? ", of which " : " and holds ") + text_of(state, dimension, held) +
             (firm ? " belong to jobs that cannot be displaced" : "") + "; it needs " +
             text_of(state, dimension, more) + " more";
    }
  }
  return firm ? "the quota of its queue is used up" : "the limit of its queue is reached";
}

}  // namespace

std::string queue_sentence(const Verdict& verdict, const ClusterState& state, const Job& job) {
  const Queue& queue = state.queues().row(job.queue);
  const std::string name = quoted(queue.spec.name);
  const std::string cannot = verdict.kind == VerdictKind::kNever ? "Can never start: " : "Waits: ";
  switch (verdict.code) {
    case ReasonCode::kUnknownQueue:
      if (queue.declared) {
        return cannot + "the queue " + name + " hangs below a queue that does not exist.";
      }
      return cannot + "the queue " + name + " does not exist.";
    case ReasonCode::kQueueNotLeaf:
      return cannot + "the queue " + name + " only holds other queues; jobs go into one of them (" +
             some_children(state, queue) + ").";
    case ReasonCode::kQueueForbidden: {
      const std::string& tenant = state.inventory().name(job.tenant);
      return cannot + (tenant.empty() ? "a job without a tenant" : "the tenant " + quoted(tenant)) +
             " may not use the queue " + name + ".";
    }
    case ReasonCode::kQueueLimit:
      return cannot + bound_text(verdict, state, job) + ".";
    case ReasonCode::kQueueQuota:
      return cannot + "it cannot be displaced, and " + bound_text(verdict, state, job) + ".";
    case ReasonCode::kPromised:
      return "Its place is being made free: it starts as soon as " +
             counted(static_cast<int64_t>(job.displaced.size()), "job") + " that had to give way " +
             (job.displaced.size() == 1 ? "has" : "have") + " stopped.";
    default:
      return "";
  }
}

}  // namespace mainspring::engine
