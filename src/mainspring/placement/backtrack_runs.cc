// SPDX-License-Identifier: Apache-2.0
// Runs of identical pods: how many on which node, and on which of its devices.
#include <algorithm>
#include <tuple>

#include "mainspring/base/check.h"
#include "mainspring/placement/backtrack.h"
#include "mainspring/placement/node_fit.h"

namespace mainspring::placement {

using model::Gpu;
using model::Shape;

bool Backtrack::enter_run(uint32_t task) {
  const Task entered = tasks_[task];
  if (!watch(entered)) return false;
  if (!ruled(entered.index)) {
    const uint32_t frame = open_frame(task, entered.index, entered.scope, entered.count);
    return spread(frame, 0, entered.count);
  }
  // Where one pod goes decides where the next may: they are placed one by one.
  uint32_t next = entered.next;
  if (entered.count > 1) {
    next = push_task(TaskKind::kRun, entered.index, 0, entered.count - 1, entered.scope, next);
  }
  const uint32_t one = push_task(TaskKind::kRun, entered.index, 1, 1, entered.scope, next);
  return spread(open_frame(one, entered.index, entered.scope, 1), 0, 1);
}

bool Backtrack::ruled(uint32_t run) const {
  return rules_.any() && rules_.ruled(demand_->run(run).shape);
}

bool Backtrack::admitted(uint32_t run, uint32_t node_slot) const {
  return !rules_.any() || rules_.admits(demand_->run(run).shape, node_slot);
}

uint32_t Backtrack::open_frame(uint32_t task, uint32_t run, uint32_t scope, int64_t count) {
  const uint32_t number = frame_count_++;
  if (frames_.size() < frame_count_) frames_.resize(2 * size_t{frame_count_});
  Frame& frame = frames_[number];
  frame.task = task;
  frame.run = run;
  frame.scope = scope;
  frame.count = count;
  frame.complete = false;
  frame.linked_from = kNone;
  frame.list.clear();
  if (scopes_.everywhere(scope)) {
    index_.open(*inventory_, demand_->run(run).shape, frame.cursor);
  } else {
    gather(frame);
  }
  return number;
}

// All candidates of a scope at once, in the order in which they are tried.
void Backtrack::gather(Frame& frame) {
  const Shape& shape = inventory_->shape(demand_->run(frame.run).shape);
  scopes_.nodes(frame.scope, slots_);
  most_.clear();
  size_t kept = 0;
  for (const uint32_t slot : slots_) {
    const model::Node& node = inventory_->nodes()[slot];
    const int64_t most = bins_.fit(shape, slot, frame.count);
    if (most == 0 || !eligible(*inventory_, shape, node)) continue;
    if (!admitted(frame.run, slot)) continue;
    slots_[kept++] = slot;
    most_.push_back(most);
  }
  slots_.resize(kept);
  costs_.resize(kept);
  scorer_.costs(*inventory_, slots_, shape, costs_);
  priced_.clear();
  for (size_t i = 0; i < kept; ++i) {
    priced_.push_back({.cost = costs_[i],
                       .rank = inventory_->nodes()[slots_[i]].rank,
                       .slot = slots_[i],
                       .most = most_[i]});
  }
  const uint32_t counting = scopes_.counting(frame.scope);
  if (counting != Scopes::kNone) order_by_domain(frame, counting);
  std::ranges::sort(priced_);
  for (const Priced& priced : priced_) {
    frame.list.push_back({.slot = priced.slot, .most = priced.most});
  }
  sum_up(frame);
}

// So that the pods end up in few domains: those in use come first; then, as long as none can take
// all the rest, the one that takes most; then the one that takes the rest most tightly.
void Backtrack::order_by_domain(Frame& frame, uint32_t counting) {
  const model::LevelIx level = scopes_.level(counting);
  for (Priced& priced : priced_) priced.domain_order = scopes_.domain_of(level, priced.slot);
  std::ranges::sort(priced_, {}, &Priced::domain_order);
  counts_.clear();
  for (const Priced& priced : priced_) {
    if (counts_.empty() || counts_.back().domain != priced.domain_order) {
      const bool known = priced.domain_order != Scopes::kNone;
      counts_.push_back({.domain = priced.domain_order,
                         .rank = known ? scopes_.rank_of(level, priced.domain_order) : UINT32_MAX,
                         .in_use = known && scopes_.in_use(counting, priced.domain_order)});
    }
    counts_.back().most += priced.most;
  }
  // Largest first; nodes that lie in no domain of the level come last.
  std::ranges::sort(counts_, [](const DomainCount& a, const DomainCount& b) {
    return std::tuple(a.domain == Scopes::kNone, !a.in_use, -a.most, a.rank) <
           std::tuple(b.domain == Scopes::kNone, !b.in_use, -b.most, b.rank);
  });
  int64_t left = frame.count;
  uint32_t next = 0;
  size_t tightest = SIZE_MAX;
  for (size_t i = 0; i < counts_.size() && left > 0; ++i) {
    if (!counts_[i].in_use && counts_[i].domain != Scopes::kNone && counts_[i].most >= left) {
      tightest = i;
      while (tightest + 1 < counts_.size() && counts_[tightest + 1].most >= left &&
             counts_[tightest + 1].domain != Scopes::kNone) {
        ++tightest;
      }
      while (tightest > i && counts_[tightest - 1].most == counts_[tightest].most) --tightest;
      counts_[tightest].order = next++;
      break;
    }
    counts_[i].order = next++;
    left -= counts_[i].most;
  }
  for (DomainCount& count : counts_) {
    if (count.order == kNone) count.order = next++;
  }
  std::ranges::sort(counts_, {}, &DomainCount::domain);
  size_t at = 0;
  for (Priced& priced : priced_) {
    while (counts_[at].domain != priced.domain_order) ++at;
    priced.domain_order = counts_[at].order;
  }
}

void Backtrack::sum_up(Frame& frame) {
  frame.complete = true;
  int64_t after = 0;
  for (size_t i = frame.list.size(); i-- > 0;) {
    frame.list[i].after = after;
    after += frame.list[i].most;
  }
}

// Whether there is such a candidate; lists what is still missing up to it.
bool Backtrack::list_until(Frame& frame, uint32_t candidate) {
  const auto listed = static_cast<uint32_t>(frame.list.size());
  if (candidate < listed) return true;
  if (frame.complete) return false;
  const Shape& shape = inventory_->shape(demand_->run(frame.run).shape);
  uint32_t slot = 0;
  while (frame.list.size() <= candidate && frame.cursor.next(slot)) {
    const int64_t most = bins_.fit(shape, slot, frame.count);
    if (most > 0 && admitted(frame.run, slot)) frame.list.push_back({.slot = slot, .most = most});
  }
  if (frame.list.size() <= candidate) sum_up(frame);
  if (frame.linked_from != kNone) link(frame, listed);
  return candidate < frame.list.size();
}

// Finds interchangeable nodes among the candidates from this one on, which the run has not touched
// yet. Where nodes are counted as domains, one in use differs from its equal that is not.
void Backtrack::link(Frame& frame, uint32_t from) {
  if (scopes_.counts_nodes(frame.scope)) return;
  if (from <= frame.linked_from) {
    frame.last_of_key.clear();
    frame.linked_from = from;
  }
  for (uint32_t i = from; i < frame.list.size(); ++i) {
    frame.list[i].same = frame.last_of_key.exchange(bins_.key(frame.list[i].slot), i);
  }
}

// Walks over the candidates from this one on until `left` pods have a node.
bool Backtrack::spread(uint32_t number, uint32_t candidate, int64_t left) {
  for (;; ++candidate) {
    Frame& frame = frames_[number];
    if (left == 0) {
      current_ = tasks_[frame.task].next;
      return true;
    }
    if (!list_until(frame, candidate)) return false;
    Candidate& here = frame.list[candidate];
    int64_t most = std::min(left, here.most);
    const bool allowed = scopes_.allows(frame.scope, here.slot);
    if (!allowed) {
      most = 0;
    } else if (here.same != kNone) {
      // Of interchangeable nodes, an earlier one never takes less.
      most = std::min(most, frame.list[here.same].taken);
    }
    const int64_t least = frame.complete ? std::max<int64_t>(0, left - here.after) : 0;
    if (most < least) return false;
    here.taken = allowed ? most : INT64_MAX;
    if (most > least) {
      Choice& choice = push_choice(ChoiceKind::kSpread);
      choice.index = number;
      choice.position = candidate;
      choice.tried = most;
      choice.least = least;
      choice.left = left;
    }
    if (turned_back_) ++steps_;
    left -= most;
    if (most > 0 && !put(number, candidate, most, left)) return false;
  }
}

bool Backtrack::advance_spread() {
  Choice& choice = choices_.back();
  Frame& frame = frames_[choice.index];
  // Anew only when the part that is known has doubled at least.
  if (choice.position < frame.linked_from / 2 || frame.linked_from == kNone) {
    link(frame, choice.position);
  }
  if (frame.complete) {
    const int64_t after = frame.list[choice.position].after;
    choice.least = std::max(choice.least, choice.left - after);
  }
  const int64_t pods = --choice.tried;
  const uint32_t number = choice.index;
  const uint32_t candidate = choice.position;
  const int64_t left = choice.left - pods;
  if (pods <= choice.least) {
    const bool possible = pods == choice.least;
    pop_choice();
    if (!possible) return false;
  }
  frame.list[candidate].taken = pods;
  if (pods > 0 && !put(number, candidate, pods, left)) return false;
  return spread(number, candidate + 1, left);
}

// Books `pods` pods of the run on this node. `left_behind`: pods that are to be placed behind it.
bool Backtrack::put(uint32_t number, uint32_t candidate, int64_t pods, int64_t left_behind) {
  Frame& frame = frames_[number];
  const Shape& shape = inventory_->shape(demand_->run(frame.run).shape);
  const uint32_t slot = frame.list[candidate].slot;
  const uint32_t first_device = shape.gpu_count > 0 ? list_devices(frame, slot, pods) : 0;
  bins_.take(slot, shape, pods);
  scopes_.open(frame.scope, slot);
  if (rules_.any()) {
    rules_.add(demand_->run(frame.run).shape, slot, static_cast<int32_t>(pods));
  }
  moves_.push_back({.run = frame.run,
                    .node = slot,
                    .pods = static_cast<uint32_t>(pods),
                    .first_unit = static_cast<uint32_t>(units_.size())});
  if (shape.gpu_count == 0) return true;
  return split(number, candidate, first_device, pods * shape.gpu_count, left_behind);
}

// The devices that can serve the shape, into `devices_`: what the scorer would take first, then
// the fullest, so that whole devices stay whole.
uint32_t Backtrack::list_devices(const Frame& frame, uint32_t node_slot, int64_t pods) {
  const Shape& shape = inventory_->shape(demand_->run(frame.run).shape);
  const std::span<const Gpu> gpus = bins_.gpus(node_slot);
  const model::DeviceMask wanted =
      pods == 1 ? scorer_.best_spot(*inventory_, node_slot, shape).devices : 0;
  const auto first = static_cast<uint32_t>(devices_.size());
  for (uint32_t i = 0; i < gpus.size(); ++i) {
    const int64_t units = std::min(pods, device_units(shape, gpus[i]));
    if (units > 0) devices_.push_back({.device = i, .most = units});
  }
  const auto own = std::span(devices_).subspan(first);
  std::ranges::sort(own, [&](const Device& left, const Device& right) {
    const auto key = [&](const Device& device) {
      const Gpu& gpu = gpus[device.device];
      return std::tuple((wanted >> device.device & 1) == 0, gpu.free_milli(), gpu.memory_bytes,
                        gpu.model, device.device);
    };
    return key(left) < key(right);
  });
  int64_t after = 0;
  for (size_t i = own.size(); i-- > 0;) {
    own[i].after = after;
    after += own[i].most;
    for (size_t j = i; j-- > 0 && own[i].same == kNone;) {
      if (alike(gpus[own[i].device], gpus[own[j].device]))
        own[i].same = first + static_cast<uint32_t>(j);
    }
  }
  return first;
}

bool Backtrack::alike(const Gpu& left, const Gpu& right) {
  return left.memory_bytes == right.memory_bytes &&
         left.memory_used_bytes == right.memory_used_bytes &&
         left.foreign_memory_bytes == right.foreign_memory_bytes &&
         left.used_milli == right.used_milli && left.model == right.model &&
         left.resource == right.resource && (left.holders == 0) == (right.holders == 0) &&
         left.usable() == right.usable();
}

// Spreads `units` parts of one device each over the listed devices from this one on. Any vector of
// counts that fits each device and is at most the number of pods can be dealt to the pods.
bool Backtrack::split(uint32_t number, uint32_t candidate, uint32_t device, int64_t units,
                      int64_t left_behind) {
  for (; units > 0; ++device) {
    if (device >= devices_.size()) return false;
    Device& here = devices_[device];
    int64_t most = std::min(units, here.most);
    if (here.same != kNone) most = std::min(most, devices_[here.same].taken);
    const int64_t least = std::max<int64_t>(0, units - here.after);
    if (most < least) return false;
    here.taken = most;
    // Identical pods that come all at once do not care which of them has which device.
    if (most > least && (demand_->runs().size() > 1 || ruled(frames_[number].run))) {
      Choice& choice = push_choice(ChoiceKind::kSplit);
      choice.index = number;
      choice.position = device;
      choice.candidate = candidate;
      choice.tried = most;
      choice.least = least;
      choice.left = units;
      choice.left_behind = left_behind;
    }
    if (turned_back_) ++steps_;
    if (most > 0)
      take_device(frames_[number], frames_[number].list[candidate].slot, here.device, most);
    units -= most;
  }
  return true;
}

bool Backtrack::advance_split() {
  Choice& choice = choices_.back();
  const uint32_t number = choice.index;
  const uint32_t candidate = choice.candidate;
  const uint32_t device = choice.position;
  const int64_t left_behind = choice.left_behind;
  const int64_t taken = --choice.tried;
  const int64_t units = choice.left - taken;
  if (taken == choice.least) pop_choice();
  devices_[device].taken = taken;
  if (taken > 0) {
    take_device(frames_[number], frames_[number].list[candidate].slot, devices_[device].device,
                taken);
  }
  if (!split(number, candidate, device + 1, units, left_behind)) return false;
  return spread(number, candidate + 1, left_behind);
}

void Backtrack::take_device(const Frame& frame, uint32_t node_slot, uint32_t device,
                            int64_t units) {
  bins_.take_device(node_slot, inventory_->shape(demand_->run(frame.run).shape), device, units);
  units_.push_back({device, static_cast<uint32_t>(units)});
  moves_.back().unit_count = static_cast<uint32_t>(units_.size()) - moves_.back().first_unit;
}

// As many as there is room for, without turning back.
uint32_t Backtrack::fill(uint32_t run, uint32_t scope, uint32_t count) {
  if (!ruled(run)) return fill_once(run, scope, count);
  uint32_t filled = 0;
  while (filled < count && fill_once(run, scope, 1) == 1) ++filled;
  return filled;
}

uint32_t Backtrack::fill_once(uint32_t run, uint32_t scope, uint32_t count) {
  const uint32_t number = open_frame(kNone, run, scope, count);
  int64_t left = count;
  for (uint32_t candidate = 0; left > 0 && list_until(frames_[number], candidate); ++candidate) {
    const Candidate& here = frames_[number].list[candidate];
    if (!scopes_.allows(scope, here.slot)) continue;
    const int64_t pods = std::min(left, here.most);
    left -= pods;
    const bool done = put(number, candidate, pods, left);
    MAINSPRING_CHECK(done, "devices that were counted could not be dealt out");
  }
  choices_.clear();
  return count - static_cast<uint32_t>(left);
}

}  // namespace mainspring::placement
