// SPDX-License-Identifier: Apache-2.0
// What Fairness has seen, as rows.
#include <algorithm>
#include <set>

#include "mainspring/report/fairness.h"

namespace mainspring::report {

using base::Instant;
using model::ClusterState;
using model::QueueIx;

struct Fairness::Group {
  std::vector<int64_t> completions_ms;
  std::vector<int64_t> waits_ms;
  int64_t waiting_now = 0;
  base::Duration longest_wait;

  void add(const End& end) {
    completions_ms.push_back(end.completion_ms);
    waits_ms.push_back(end.waiting_ms);
  }
  void add_waiting(base::Duration wait) {
    ++waiting_now;
    longest_wait = std::max(longest_wait, wait);
  }
  [[nodiscard]] FairnessRow row(std::string name) const {
    FairnessRow made;
    made.name = std::move(name);
    made.completion = percentiles_of(completions_ms);
    made.waiting = percentiles_of(waits_ms);
    made.spread = spread_of(made.completion);
    made.waiting_now = waiting_now;
    made.longest_wait = longest_wait;
    return made;
  }
};

namespace {

void put_below(const model::Queues& queues, std::span<const QueueIx> siblings,
               std::vector<QueueIx>& order) {
  for (const QueueIx queue : siblings) {
    order.push_back(queue);
    put_below(queues, queues.row(queue).children, order);
  }
}

}  // namespace

FairnessReport Fairness::report(const ClusterState& state, Instant now) const {
  const model::Queues& queues = state.queues();
  FairnessReport report{.since = since_, .at = now, .window = kWindow, .queues = {}, .tenants = {}};
  report.forgotten = forgotten_until_ + kWindow >= now ? forgotten_ : 0;
  std::vector<Group> by_queue(queues.rows().size());
  std::map<std::string, Group> by_tenant;
  for (const auto& [tenant, account] : tenants_) by_tenant[tenant];
  std::set<uint32_t> seen;
  const auto count = [&](QueueIx queue, model::NameIx tenant, auto add) {
    add(by_tenant[state.inventory().name(tenant)]);
    seen.insert(queue.slot);
    for (QueueIx at = queue; at.valid(); at = queues.row(at).parent) add(by_queue[at.slot]);
  };
  for (const End& end : ends_) {
    if (end.at + kWindow < now) continue;
    count(end.queue, end.tenant, [&end](Group& group) { group.add(end); });
  }
  for (const SeenJob& job : jobs_) {
    if (!job.alive || job.removed || job.running_since != Instant::never()) continue;
    const base::Duration wait{std::max<int64_t>(now.ms - job.submitted_at.ms - job.ran_ms, 0)};
    count(job.queue, job.tenant, [wait](Group& group) { group.add_waiting(wait); });
  }
  const int64_t span_ms = started_ ? std::max<int64_t>(now.ms - counted_until_.ms, 0) : 0;
  std::vector<QueueIx> order;
  put_below(queues, queues.roots(), order);
  const size_t in_tree = order.size();
  for (uint32_t slot = 0; slot < queues.rows().size(); ++slot) {
    const bool used = slot < queues_.size() && queues_[slot].used_sum > 0;
    if (!queues.row(QueueIx{slot}).rooted && (used || seen.contains(slot))) {
      order.push_back(QueueIx{slot});
    }
  }
  std::sort(order.begin() + static_cast<std::ptrdiff_t>(in_tree), order.end(),
            [&queues](QueueIx left, QueueIx right) {
              return queues.row(left).spec.name < queues.row(right).spec.name;
            });
  for (const QueueIx queue : order) {
    FairnessRow row = by_queue[queue.slot].row(queues.row(queue).spec.name);
    row.depth = queues.row(queue).depth;
    if (queue.slot < queues_.size()) {
      row.owns = queues_[queue.slot].owns;
      row.gpu = queues_[queue.slot].until(span_ms);
    }
    report.queues.push_back(std::move(row));
  }
  for (const auto& [tenant, group] : by_tenant) {
    FairnessRow row = group.row(tenant);
    if (const auto found = tenants_.find(tenant); found != tenants_.end()) {
      row.owns = found->second.owns;
      row.gpu = found->second.until(span_ms);
    }
    report.tenants.push_back(std::move(row));
  }
  return report;
}

}  // namespace mainspring::report
