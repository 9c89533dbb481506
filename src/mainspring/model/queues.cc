// SPDX-License-Identifier: Apache-2.0
#include "mainspring/model/queues.h"

#include <algorithm>

#include "mainspring/base/check.h"
#include "mainspring/model/resources.h"

namespace mainspring::model {
namespace {

// A half-life has so many parts, and past use fades at the end of each.
constexpr int64_t kParts = 64;
// 2^(-1/64) in units of 2^-32.
constexpr uint64_t kFade = 4'248'701'965;
constexpr int kFadeBits = 32;
// After so many half-lives nothing is left that counts.
constexpr int64_t kHalfLivesMax = 64;
// Far above what any cluster uses; keeps sums from overflowing.
constexpr int64_t kPastMax = int64_t{1} << 60;

// Bytes over months would not fit.
constexpr int64_t kBytesPerMiB = int64_t{1} << 20;

void add_to(Amounts& amounts, size_t dimension, int64_t by) {
  if (amounts.size() <= dimension) amounts.resize(dimension + 1, 0);
  amounts[dimension] += by;
  MAINSPRING_CHECK(amounts[dimension] >= 0, "a queue counts less than nothing");
}

void add_to(Amounts& amounts, const PodCharge& charge, int64_t sign) {
  for (size_t i = 0; i < kModelDimension; ++i) add_to(amounts, i, sign * charge.base[i]);
  for (uint32_t i = 0; i < charge.model_count; ++i) {
    add_to(amounts, charge.models[i].dimension, sign * charge.models[i].amount);
  }
}

void fade(std::vector<PastUse>& past) {
  for (PastUse& one : past) {
    const auto whole = static_cast<unsigned __int128>(one.seconds) * 1000 +
                       static_cast<unsigned __int128>(one.millis);
    const unsigned __int128 left = whole * kFade >> kFadeBits;
    one = {static_cast<int64_t>(left / 1000), static_cast<int64_t>(left % 1000)};
  }
}

void integrate(std::vector<PastUse>& past, const Amounts& held, base::Duration span) {
  if (past.size() < held.size()) past.resize(held.size());
  for (size_t i = 0; i < held.size(); ++i) {
    const int64_t amount = i == kMemoryDimension ? held[i] / kBytesPerMiB : held[i];
    const auto sum =
        static_cast<unsigned __int128>(past[i].seconds) * 1000 +
        static_cast<unsigned __int128>(past[i].millis) +
        static_cast<unsigned __int128>(amount) * static_cast<unsigned __int128>(span.ms);
    const unsigned __int128 most = static_cast<unsigned __int128>(kPastMax) * 1000;
    const unsigned __int128 kept = std::min(sum, most);
    past[i] = {static_cast<int64_t>(kept / 1000), static_cast<int64_t>(kept % 1000)};
  }
}

}  // namespace

const QueueResource& Queue::resource(std::string_view name) const {
  static const QueueResource kSilent;
  const auto found = std::ranges::find(spec.resources, name, &QueueResource::name);
  return found == spec.resources.end() ? kSilent : *found;
}

QueueIx Queues::find(std::string_view name) const {
  const uint32_t slot = by_name_.find(name);
  return slot == base::IdMap::kNone ? QueueIx{} : QueueIx{slot};
}

QueueIx Queues::intern(std::string_view name) {
  if (const QueueIx known = find(name); known.valid()) return known;
  const auto slot = static_cast<uint32_t>(rows_.size());
  Queue& queue = rows_.emplace_back();
  queue.spec.name = name;
  queue.past_at = now_;
  by_name_.insert(name, slot);
  return QueueIx{slot};
}

bool Queues::makes_circle(const QueueSpec& spec) const {
  std::string_view above = spec.parent;
  for (size_t steps = 0; !above.empty() && steps <= kQueueDepthMax; ++steps) {
    if (above == spec.name) return true;
    const QueueIx index = find(above);
    if (!index.valid() || !row(index).declared) return false;
    above = row(index).spec.parent;
  }
  return !above.empty();
}

// What siblings are promised together has to stay countable.
base::Status Queues::check_siblings(const QueueSpec& spec) const {
  for (const QueueResource& resource : spec.resources) {
    int64_t sum = std::max<int64_t>(resource.quota, 0);
    for (const Queue& other : rows_) {
      if (!other.declared || other.spec.parent != spec.parent) continue;
      if (other.spec.name == spec.name) continue;
      sum += std::max<int64_t>(other.resource(resource.name).quota, 0);
      if (sum > kTotalMax) {
        return base::invalid("queue " + spec.name + ": resources." + resource.name +
                             ".quota: with its siblings it is above 2^61");
      }
    }
  }
  return {};
}

base::Status Queues::put(const QueueSpec& spec) {
  if (auto ok = validate(spec); !ok) return ok;
  if (makes_circle(spec)) {
    return base::invalid("queue " + spec.name + ": parent " + spec.parent +
                         " lies below it, or more than 16 levels deep");
  }
  if (auto ok = check_siblings(spec); !ok) return ok;
  const QueueIx known = find(spec.name);
  const bool is_new = !known.valid() || !row(known).declared;
  if (is_new && declared_ == kQueuesMax) {
    return base::invalid("queue " + spec.name + ": more than 20,000 queues");
  }
  Queue& queue = rows_[intern(spec.name).slot];
  if (!queue.declared) {
    ++declared_;
    queue.past.clear();
    queue.past_at = now_;
  }
  queue.declared = true;
  queue.spec = spec;
  rebuild();
  return {};
}

void Queues::remove(QueueIx index) {
  Queue& queue = rows_[index.slot];
  MAINSPRING_CHECK(queue.declared && queue.children.empty(), "a queue in use was removed");
  std::string name = std::move(queue.spec.name);
  queue.spec = QueueSpec{.name = std::move(name)};
  queue.declared = false;
  --declared_;
  rebuild();
}

// The tree anew, with its sums. What the queues used so far is settled before it is.
void Queues::rebuild() {
  for (Queue& queue : rows_) {
    accrue(queue, now_);
    queue.rooted = false;
    queue.parent = QueueIx{};
    queue.children.clear();
    queue.depth = 0;
    queue.total = queue.own;
  }
  roots_.clear();
  std::vector<QueueIx> by_name;
  for (uint32_t slot = 0; slot < rows_.size(); ++slot) {
    if (rows_[slot].declared) by_name.push_back(QueueIx{slot});
  }
  std::ranges::sort(by_name, {}, [this](QueueIx index) { return row(index).spec.name; });
  for (const QueueIx index : by_name) {
    Queue& queue = rows_[index.slot];
    const QueueIx parent = queue.spec.parent.empty() ? QueueIx{} : find(queue.spec.parent);
    if (parent.valid() && row(parent).declared) {
      queue.parent = parent;
      rows_[parent.slot].children.push_back(index);
    } else if (queue.spec.parent.empty()) {
      roots_.push_back(index);
    }
  }
  for (const QueueIx index : by_name) {
    Queue& queue = rows_[index.slot];
    QueueIx top = index;
    for (QueueIx above = queue.parent; above.valid(); above = row(above).parent) {
      ++queue.depth;
      top = above;
      for (size_t book = 0; book < kQueueBookCount; ++book) {
        for (size_t i = 0; i < queue.own[book].size(); ++i) {
          add_to(rows_[above.slot].total[book], i, queue.own[book][i]);
        }
      }
    }
    queue.rooted = row(top).spec.parent.empty();
  }
  ++demands_;
}

void Queues::charge(QueueIx index, QueueBook book, const PodCharge& charge, int64_t sign) {
  const auto number = static_cast<size_t>(book);
  if (book == QueueBook::kDemand) {
    ++demands_;
    for (size_t i = 0; i < asked_.size(); ++i) asked_[i] += sign * charge.base[i];
  }
  add_to(rows_[index.slot].own[number], charge, sign);
  for (QueueIx at = index; at.valid(); at = row(at).parent) {
    Queue& queue = rows_[at.slot];
    if (book == QueueBook::kHeld) accrue(queue, now_);
    add_to(queue.total[number], charge, sign);
  }
}

// Counting is exact, and fading happens at fixed times: it does not matter when this is called.
void Queues::accrue(Queue& queue, base::Instant now) const {
  if (half_life_.ms == 0 || !queue.declared) {
    queue.past.clear();
    queue.past_at = now;
    return;
  }
  const int64_t part = std::max<int64_t>(half_life_.ms / kParts, 1);
  if (now.ms - queue.past_at.ms > kHalfLivesMax * half_life_.ms) {
    queue.past.clear();
    queue.past_at = base::Instant{now.ms - kHalfLivesMax * half_life_.ms};
  }
  const Amounts& held = queue.total[static_cast<size_t>(QueueBook::kHeld)];
  while (queue.past_at < now) {
    const base::Instant turn{(queue.past_at.ms / part + 1) * part};
    const base::Instant until = std::min(turn, now);
    integrate(queue.past, held, until - queue.past_at);
    queue.past_at = until;
    if (until == turn) fade(queue.past);
  }
}

std::vector<PastUse> Queues::past_use(QueueIx index, base::Instant now) const {
  if (half_life_.ms == 0) return {};
  const int64_t part = std::max<int64_t>(half_life_.ms / kParts, 1);
  Queue queue = row(index);
  const base::Instant turn{now.ms / part * part};
  if (turn > queue.past_at) accrue(queue, turn);
  return queue.past;
}

std::vector<PastUse> Queues::past_until(QueueIx index, base::Instant now) const {
  if (half_life_.ms == 0) return {};
  Queue queue = row(index);
  accrue(queue, now);
  return queue.past;
}

void Queues::set_half_life(base::Duration half_life) {
  if (half_life == half_life_) return;
  for (Queue& queue : rows_) accrue(queue, now_);
  half_life_ = half_life;
  ++demands_;
}

void Queues::restore_past(QueueIx index, base::Instant at, std::vector<PastUse> past) {
  rows_[index.slot].past = std::move(past);
  rows_[index.slot].past_at = at;
  ++demands_;
}

void Queues::check_sums() const {
  std::array<int64_t, kModelDimension> asked{};
  for (const Queue& queue : rows_) {
    const Amounts& own = queue.own[static_cast<size_t>(QueueBook::kDemand)];
    for (size_t i = 0; i < asked.size(); ++i) asked[i] += amount_at(own, i);
  }
  MAINSPRING_CHECK(asked == asked_, "what all queues ask for is not the sum of what each does");
  for (const Queue& queue : rows_) {
    for (size_t book = 0; book < kQueueBookCount; ++book) {
      const size_t dimensions = queue.total[book].size();
      for (size_t i = 0; i < dimensions; ++i) {
        int64_t sum = amount_at(queue.own[book], i);
        for (const QueueIx child : queue.children) sum += amount_at(row(child).total[book], i);
        MAINSPRING_CHECK(sum == queue.total[book][i], "a queue's sums are not those of its parts");
      }
    }
  }
}

}  // namespace mainspring::model
