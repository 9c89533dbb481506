// SPDX-License-Identifier: Apache-2.0
#include "mainspring/report/fairness.h"

#include <algorithm>
#include <bit>

#include "mainspring/model/queue_spec.h"

namespace mainspring::report {

using base::Instant;
using model::ClusterState;
using model::QueueIx;

namespace {

int64_t milli_of(const ClusterState& state, model::PodIx pod, model::NodeIx node,
                 model::DeviceMask devices) {
  const model::Shape& shape = state.inventory().shape(state.pod(pod).shape);
  int64_t milli = 0;
  for (model::DeviceMask rest = devices; rest != 0; rest &= rest - 1) {
    const auto device = static_cast<size_t>(std::countr_zero(rest));
    milli += model::gpu_take(shape, state.inventory().node(node).gpus[device]).milli;
  }
  return milli;
}

// What the job counts for in its queue's books: held and not asked to stop, or promised.
int64_t held_milli(const ClusterState& state, const model::Job& job) {
  int64_t milli = 0;
  for (const model::PodIx index : job.pods) {
    const model::Pod& pod = state.pod(index);
    if (!pod.holds() || pod.phase == model::PodPhase::kStopping) continue;
    milli += milli_of(state, index, pod.node, pod.devices);
  }
  for (const model::Promise& promise : job.promises) {
    milli += milli_of(state, promise.pod, promise.node, promise.devices);
  }
  return milli;
}

// The one tenant that a queue belongs to, or nullptr.
const std::string* owner_of(const model::Queues& queues, QueueIx queue) {
  for (QueueIx at = queue; at.valid(); at = queues.row(at).parent) {
    const std::vector<std::string>& tenants = queues.row(at).spec.tenants;
    if (!tenants.empty()) return tenants.size() == 1 ? &tenants.front() : nullptr;
  }
  return nullptr;
}

}  // namespace

void Fairness::Account::pass(int64_t span_ms) {
  owned_sum += static_cast<Wide>(owned) * span_ms;
  used_sum += static_cast<Wide>(used) * span_ms;
  lent_sum += static_cast<Wide>(lent) * span_ms;
  borrowed_sum += static_cast<Wide>(borrowed) * span_ms;
}

GpuTime Fairness::Account::until(int64_t span_ms) const {
  Account later = *this;
  later.pass(span_ms);
  const auto devices = [](Wide sum) { return static_cast<int64_t>(sum / model::kWholeGpuMilli); };
  return {devices(later.owned_sum), devices(later.used_sum), devices(later.lent_sum),
          devices(later.borrowed_sum)};
}

void Fairness::observe(const model::Event& event, const ClusterState& state) {
  const auto* gone = std::get_if<model::JobGone>(&event.body);
  catch_up(state, gone == nullptr ? nullptr : &gone->job);
}

void Fairness::catch_up(const ClusterState& state, const std::string* taken_away) {
  const model::ChangeLog& log = state.job_changes();
  if (jobs_.size() < state.jobs().size()) jobs_.resize(state.jobs().size());
  if (log.holds(cursor_)) {
    for (const uint32_t slot : log.since(cursor_)) look_at(state, slot, taken_away);
  } else {
    for (uint32_t slot = 0; slot < jobs_.size(); ++slot) look_at(state, slot, taken_away);
  }
  cursor_ = log.end();
}

void Fairness::look_at(const ClusterState& state, uint32_t slot, const std::string* taken_away) {
  SeenJob& seen = jobs_[slot];
  const model::Job& job = state.jobs()[slot];
  const Instant now = state.now();
  const bool same = seen.alive && job.alive && job.generation == seen.generation;
  const Instant since = same ? job.running_since : Instant::never();
  if (seen.alive && since != seen.running_since && seen.running_since != Instant::never()) {
    seen.ran_ms += std::max<int64_t>(now.ms - seen.running_since.ms, 0);
  }
  seen.running_since = since;
  if (seen.alive && !same) {
    const bool removed = seen.removed || (taken_away != nullptr && *taken_away == seen.id);
    if (!removed) {
      const int64_t completion_ms = std::max<int64_t>(now.ms - seen.submitted_at.ms, 0);
      ends_.push_back({now, seen.queue, seen.tenant, completion_ms,
                       std::max<int64_t>(completion_ms - seen.ran_ms, 0)});
      if (ends_.size() > ends_max_) {
        forgotten_until_ = ends_.front().at;
        ++forgotten_;
        ends_.pop_front();
      }
      while (ends_.front().at + kWindow < now) ends_.pop_front();
    }
    const auto charged = seen.charged;
    const int64_t held = seen.held_milli;
    seen = SeenJob{};
    seen.charged = charged;
    seen.held_milli = held;
  }
  if (!job.alive) return;
  seen.alive = true;
  seen.generation = job.generation;
  seen.id = job.id;
  seen.removed = job.removed;
  seen.queue = job.queue;
  seen.tenant = job.tenant;
  seen.submitted_at = job.submitted_at;
  seen.running_since = job.running_since;
}

void Fairness::count_held(const ClusterState& state) {
  const model::ChangeLog& log = state.job_changes();
  std::vector<uint32_t> slots;
  if (log.holds(held_cursor_)) {
    const auto changed = log.since(held_cursor_);
    slots.assign(changed.begin(), changed.end());
    std::ranges::sort(slots);
    slots.erase(std::ranges::unique(slots).begin(), slots.end());
  } else {
    for (uint32_t slot = 0; slot < jobs_.size(); ++slot) slots.push_back(slot);
  }
  held_cursor_ = log.end();
  for (const uint32_t slot : slots) {
    SeenJob& seen = jobs_[slot];
    if (seen.held_milli != 0) {
      const auto found = held_.find(seen.charged);
      found->second -= seen.held_milli;
      if (found->second == 0) held_.erase(found);
    }
    seen.held_milli = seen.alive ? held_milli(state, state.jobs()[slot]) : 0;
    seen.charged = {seen.queue.slot, seen.tenant};
    if (seen.held_milli != 0) held_[seen.charged] += seen.held_milli;
  }
}

void Fairness::observe(const ClusterState& state, const policy::QueueShares& shares, Instant now) {
  if (!started_) {
    started_ = true;
    since_ = counted_until_ = now;
  }
  const int64_t span_ms = std::max<int64_t>(now.ms - counted_until_.ms, 0);
  catch_up(state, nullptr);
  if (counted_ && claims_ == state.claims() && shares_version_ == shares.version()) return;
  for (Account& account : queues_) account.pass(span_ms);
  for (auto& [tenant, account] : tenants_) account.pass(span_ms);
  counted_until_ = std::max(counted_until_, now);
  count_held(state);
  set_rates(state, shares);
  counted_ = true;
  claims_ = state.claims();
  shares_version_ = shares.version();
}

void Fairness::set_rates(const ClusterState& state, const policy::QueueShares& shares) {
  const model::Queues& queues = state.queues();
  queues_.resize(queues.rows().size());
  const bool shared = std::ranges::count(shares.dimensions(), model::kGpuDimension) > 0;
  for (uint32_t slot = 0; slot < queues_.size(); ++slot) {
    Account& account = queues_[slot];
    const model::Queue& queue = queues.row(QueueIx{slot});
    const int64_t quota = shared && queue.rooted ? shares.quota(QueueIx{slot}, model::kGpuDimension)
                                                 : model::kUnlimited;
    account.owns = quota != model::kUnlimited;
    account.owned = account.owns ? quota : 0;
    account.used = queue.held(model::kGpuDimension);
    account.borrowed = account.owns ? std::max<int64_t>(account.used - quota, 0) : 0;
    account.lent = 0;
  }
  lend(state, queues.roots(), 0, 0);
  set_tenant_rates(state);
}

void Fairness::lend(const ClusterState& state, std::span<const QueueIx> siblings,
                    int64_t borrowed_above, int64_t lent_above) {
  const auto idle_of = [](const Account& account) {
    return std::max<int64_t>(account.owned - account.used, 0);
  };
  int64_t idle = 0;
  int64_t borrowed = 0;
  for (const QueueIx queue : siblings) {
    idle += idle_of(queues_[queue.slot]);
    borrowed += queues_[queue.slot].borrowed;
  }
  const int64_t wanted = std::max<int64_t>(borrowed - borrowed_above, 0) + lent_above;
  const int64_t lent = std::min(idle, wanted);
  for (const QueueIx queue : siblings) {
    Account& account = queues_[queue.slot];
    if (lent > 0) {
      account.lent = static_cast<int64_t>(static_cast<Wide>(idle_of(account)) * lent / idle);
    }
    lend(state, state.queues().row(queue).children, account.borrowed, account.lent);
  }
}

void Fairness::set_tenant_rates(const ClusterState& state) {
  const model::Queues& queues = state.queues();
  for (auto& [tenant, account] : tenants_) {
    account.owned = account.used = account.lent = account.borrowed = 0;
    account.owns = false;
  }
  for (const auto& [where, milli] : held_) {
    Account& account = tenants_[state.inventory().name(where.second)];
    const Account& queue = queues_[where.first];
    account.used += milli;
    if (queue.borrowed > 0) {
      account.borrowed +=
          static_cast<int64_t>(static_cast<Wide>(queue.borrowed) * milli / queue.used);
    }
  }
  for (uint32_t slot = 0; slot < queues_.size(); ++slot) {
    const model::Queue& queue = queues.row(QueueIx{slot});
    if (!queue.rooted || !queue.children.empty() || !queues_[slot].owns) continue;
    const std::string* owner = owner_of(queues, QueueIx{slot});
    if (owner == nullptr) continue;
    Account& account = tenants_[*owner];
    account.owns = true;
    account.owned += queues_[slot].owned;
    account.lent += queues_[slot].lent;
  }
}

}  // namespace mainspring::report
