// SPDX-License-Identifier: Apache-2.0
#include "mainspring/report/queue_tree.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace mainspring::report {

using model::ClusterState;
using model::Queue;
using model::QueueBook;
using model::QueueIx;

namespace {

struct JobCounts {
  int64_t running = 0;
  int64_t waiting = 0;
};

std::vector<JobCounts> count_jobs(const ClusterState& state) {
  const model::Queues& queues = state.queues();
  std::vector<JobCounts> counts(queues.rows().size());
  for (const model::Job& job : state.jobs()) {
    if (!job.alive || job.removed) continue;
    const bool runs = job.running_since != base::Instant::never();
    for (QueueIx at = job.queue; at.valid(); at = queues.row(at).parent) {
      ++(runs ? counts[at.slot].running : counts[at.slot].waiting);
    }
  }
  return counts;
}

QueueAmounts amounts_of(const ClusterState& state, const policy::QueueShares& shares, QueueIx index,
                        size_t dimension, const std::vector<model::PastUse>& past) {
  const Queue& queue = state.queues().row(index);
  QueueAmounts amounts;
  amounts.resource = state.inventory().dimension_name(dimension);
  amounts.quota = shares.quota(index, dimension);
  amounts.limit = shares.limit(index, dimension);
  amounts.weight = queue.resource(amounts.resource).weight;
  amounts.weight_milli = shares.weight_milli(index, dimension);
  amounts.share = shares.share(index, dimension);
  amounts.held = queue.held(dimension);
  amounts.stopping = queue.count(QueueBook::kStopping, dimension);
  if (amounts.quota != model::kUnlimited) {
    amounts.borrowed = std::max<int64_t>(amounts.held - amounts.quota, 0);
  }
  const int64_t asked = queue.count(QueueBook::kDemand, dimension);
  amounts.pending = std::max<int64_t>(asked - amounts.held - amounts.stopping, 0);
  if (dimension < past.size()) amounts.past_seconds = past[dimension].seconds;
  return amounts;
}

// Siblings are those who share what lies above them.
void compare_past(QueueTree& tree) {
  for (size_t column = 0; column < tree.resources.size(); ++column) {
    std::map<std::string_view, __int128> sums;
    for (const QueueLine& line : tree.queues) {
      sums[line.parent] += line.amounts[column].past_seconds;
    }
    for (QueueLine& line : tree.queues) {
      QueueAmounts& amounts = line.amounts[column];
      const __int128 whole = sums[line.parent];
      if (whole == 0) continue;
      const auto part = static_cast<__int128>(amounts.past_seconds) * 1000 / whole;
      amounts.past_milli = static_cast<int64_t>(part);
    }
  }
}

void put_below(const model::Queues& queues, std::span<const QueueIx> siblings,
               std::vector<QueueIx>& order) {
  for (const QueueIx queue : siblings) {
    order.push_back(queue);
    put_below(queues, queues.row(queue).children, order);
  }
}

}  // namespace

QueueTree queue_tree(const ClusterState& state, const policy::QueueShares& shares,
                     base::Instant now) {
  QueueTree tree;
  for (const size_t dimension : shares.dimensions()) {
    tree.resources.push_back(state.inventory().dimension_name(dimension));
    tree.capacity.push_back(shares.capacity(dimension));
  }
  if (tree.resources.empty()) return tree;
  const model::Queues& queues = state.queues();
  const std::vector<JobCounts> jobs = count_jobs(state);
  std::vector<QueueIx> order;
  put_below(queues, queues.roots(), order);
  for (const QueueIx index : order) {
    const Queue& queue = queues.row(index);
    QueueLine& line = tree.queues.emplace_back();
    line.name = queue.spec.name;
    line.parent = queue.spec.parent;
    line.depth = queue.depth;
    line.priority = queue.spec.priority;
    line.leaf = queue.children.empty();
    line.jobs_running = jobs[index.slot].running;
    line.jobs_waiting = jobs[index.slot].waiting;
    const std::vector<model::PastUse> past = queues.past_use(index, now);
    for (const size_t dimension : shares.dimensions()) {
      line.amounts.push_back(amounts_of(state, shares, index, dimension, past));
    }
  }
  compare_past(tree);
  return tree;
}

}  // namespace mainspring::report
