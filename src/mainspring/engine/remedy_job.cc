// SPDX-License-Identifier: Apache-2.0
// Remedies that change the job.
#include <algorithm>
#include <set>
#include <string>

#include "mainspring/engine/remedy_search.h"
#include "mainspring/engine/what_if.h"

namespace mainspring::engine {
namespace {

using model::Group;
using model::LevelIx;
using model::Node;
using model::Resource;
using model::Shape;

struct Bound {
  std::string what;
  int64_t least = 0;     // what it may be lowered to
  int64_t original = 0;  // rounded up to the unit
};

int64_t in_mib(int64_t bytes) { return bytes / kMiB + (bytes % kMiB > 0 ? 1 : 0); }

// What can be lowered in a request, the dearest first.
std::vector<Bound> bounds_of(const Shape& shape) {
  std::vector<Bound> bounds;
  if (shape.gpu_count > 1) bounds.push_back({"gpu", 1, shape.gpu_count});
  if (shape.gpu_count > 0 && !shape.whole) {
    if (shape.gpu_memory_bytes > 0) {
      bounds.push_back({"gpu-memory", 1, in_mib(shape.gpu_memory_bytes)});
    } else {
      bounds.push_back({"gpu-milli", 1, shape.gpu_milli});
    }
  }
  bounds.push_back({"memory", 0, in_mib(shape.request[Resource::kMemoryBytes])});
  bounds.push_back({"cpu", 0, shape.request[Resource::kCpuMilli]});
  bounds.push_back({"ephemeral-storage", 0, in_mib(shape.request[Resource::kEphemeralBytes])});
  std::erase_if(bounds, [](const Bound& bound) { return bound.original <= bound.least; });
  return bounds;
}

}  // namespace

void RemedySearch::lower_request() {
  size_t tried = 0;
  for (size_t i = 0; i < classes_.size() && tried < options_.choices_max; ++i) {
    ++tried;
    if (lower_class(i)) return;
  }
}

// First each amount alone; if none suffices, all at once, then each as high again as it can be.
bool RemedySearch::lower_class(size_t pod_class) {
  const Shape shape = inventory().shape(classes_[pod_class].shape);
  Remedy remedy{.kind = RemedyKind::kLowerRequest, .targets = {}, .changes = {}};
  for (const model::PodIx pod : job().pods) {
    if (state_.pod(pod).shape == classes_[pod_class].shape) {
      remedy.targets.push_back(state_.pod(pod).id);
    }
  }
  const std::vector<Bound> bounds = bounds_of(shape);
  bool found = false;
  for (const Bound& bound : bounds) {
    remedy.changes = {{bound.what, bound.least}};
    if (!starts(remedy)) continue;
    remedy.changes[0].amount = most(bound.least, bound.original, [&](int64_t amount) {
      Remedy attempt = remedy;
      attempt.changes[0].amount = amount;
      return attempt;
    });
    found = offer(remedy) || found;
  }
  if (found || bounds.size() < 2) return found;
  remedy.changes.clear();
  for (const Bound& bound : bounds) remedy.changes.push_back({bound.what, bound.least});
  if (!starts(remedy)) return false;
  for (size_t i = 0; i < bounds.size(); ++i) {
    remedy.changes[i].amount = most(bounds[i].least, bounds[i].original + 1, [&](int64_t amount) {
      Remedy attempt = remedy;
      attempt.changes[i].amount = amount;
      return attempt;
    });
  }
  for (size_t i = bounds.size(); i-- > 0;) {
    if (remedy.changes[i].amount < bounds[i].original) continue;
    remedy.changes.erase(remedy.changes.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return offer(remedy);
}

void RemedySearch::lower_minimum() {
  const auto groups = static_cast<uint32_t>(std::min(job().groups.size(), options_.choices_max));
  for (uint32_t i = 0; i < groups; ++i) {
    const int64_t now = job().groups[i].min_count;
    Remedy remedy{.kind = RemedyKind::kLowerMinimum, .targets = {}, .changes = {}, .group = i};
    remedy.targets = {inventory().name(job().groups[i].name)};
    remedy.changes = {{"min_count", 1}};
    if (now <= 1 || !starts(remedy)) continue;
    remedy.changes[0].amount = most(1, now, [&](int64_t amount) {
      Remedy attempt = remedy;
      attempt.changes[0].amount = amount;
      return attempt;
    });
    offer(remedy);
  }
}

// The narrowest wider level that helps; without a wider one that does, none at all.
void RemedySearch::widen_level() {
  const auto groups = static_cast<uint32_t>(std::min(job().groups.size(), options_.choices_max));
  for (uint32_t i = 0; i < groups; ++i) {
    const Group& group = job().groups[i];
    if (inventory().name(group.required_level_name).empty()) continue;
    Remedy remedy{.kind = RemedyKind::kWidenLevel, .targets = {}, .changes = {}, .group = i};
    remedy.targets = {inventory().name(group.name)};
    std::vector<std::string> wider;
    const LevelIx required = group.required_level;
    if (required == inventory().node_level()) {
      // Every level is wider than a node; later ones of a topology are narrower.
      for (size_t level = inventory().levels().size(); level-- > 1;) {
        wider.push_back(inventory().name(inventory().levels()[level].name));
      }
    } else if (required.valid()) {
      for (LevelIx level = inventory().levels()[required.slot].wider; level.valid();
           level = inventory().levels()[level.slot].wider) {
        wider.push_back(inventory().name(inventory().levels()[level.slot].name));
      }
    }
    wider.emplace_back();
    for (const std::string& level : wider) {
      remedy.value = level;
      if (offer(remedy)) break;
    }
  }
}

void RemedySearch::drop_selectors() {
  std::set<std::string> keys;
  for (const placement::PodClass& pods : classes_) {
    for (const auto& need : inventory().shape(pods.shape).requirements) {
      keys.insert(inventory().name(need.key));
    }
  }
  size_t tried = 0;
  for (const std::string& key : keys) {
    if (tried++ == options_.choices_max) return;
    offer({.kind = RemedyKind::kDropSelector, .targets = {}, .changes = {}, .value = key});
  }
}

void RemedySearch::drop_gpu_wishes() {
  const auto any = [this](auto wish) {
    return std::ranges::any_of(
        classes_, [&](const auto& pods) { return wish(inventory().shape(pods.shape)); });
  };
  if (any([](const Shape& shape) { return !shape.spec.gpu.models.empty(); })) {
    offer({.kind = RemedyKind::kDropGpuModel, .targets = {}, .changes = {}});
  }
  if (any([](const Shape& shape) { return shape.device_memory_bytes_min > 0; })) {
    offer({.kind = RemedyKind::kDropGpuMemory, .targets = {}, .changes = {}});
  }
}

void RemedySearch::tolerate_taints() {
  std::set<std::string> keys;
  for (const uint32_t slot : inventory().nodes_by_rank()) {
    const Node& node = inventory().nodes()[slot];
    if (!node.listed || node.taints.empty()) continue;
    for (const placement::PodClass& pods : classes_) {
      std::vector<model::Shortage> lacking;
      placement::add_taint_shortages(inventory(), node, inventory().shape(pods.shape), lacking);
      for (const model::Shortage& lack : lacking) {
        keys.insert(lack.what.substr(lack.what.find(':') + 1));
      }
    }
  }
  Remedy all{.kind = RemedyKind::kTolerateTaint, .targets = {}, .changes = {}};
  bool found = false;
  for (const std::string& key : keys) {
    if (all.targets.size() == options_.choices_max) break;
    all.targets.push_back(key);
    Remedy one = all;
    one.targets = {key};
    found = offer(one) || found;
  }
  if (found || all.targets.size() < 2 || !starts(all)) return;
  drop_needless_targets(all);
  offer(all);
}

}  // namespace mainspring::engine
