// SPDX-License-Identifier: Apache-2.0
#include "mainspring/model/queue_spec.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "mainspring/model/resources.h"

namespace mainspring::model {
namespace {

using base::invalid;
using base::Status;

constexpr size_t kNameLengthMax = 253;
// GPU, CPU, memory, and as many GPU models as any cluster has.
constexpr size_t kQueueResourcesMax = 64 + 3;
constexpr int32_t kPpmMax = 1'000'000;
constexpr std::string_view kModelPrefix = "gpu:";

// Names are echoed in logs, metrics and sentences: printable ASCII, and no spaces where words are
// told apart by them.
Status check_text(const std::string& field, std::string_view text, bool spaces) {
  if (text.empty()) return invalid(field + " is empty");
  if (text.size() > kNameLengthMax) return invalid(field + " is longer than 253 characters");
  for (const char character : text) {
    const auto code = static_cast<unsigned char>(character);
    if (code == 0x20 && !spaces) return invalid(field + " has a space");
    if (code < 0x20 || code == 0x7f) return invalid(field + " has a control character");
    if (code > 0x7f) return invalid(field + " has a character outside ASCII");
  }
  return {};
}

Status check_resource_name(const std::string& name) {
  if (name == "gpu" || name == "cpu" || name == "memory") return {};
  if (!name.starts_with(kModelPrefix)) {
    const bool shown = check_text("resources.name", name, false).has_value();
    return invalid("resources.name" + (shown ? " " + name : std::string()) +
                   " is none of gpu, cpu, memory and gpu:MODEL");
  }
  return check_text("resources.name: MODEL in gpu:MODEL", name.substr(kModelPrefix.size()), true);
}

Status check_bounded(const std::string& field, int64_t amount) {
  if (amount < kUnlimited) {
    return invalid(field + " is below -1 (" + std::to_string(amount) + "); -1 means unlimited");
  }
  if (amount > kAmountMax) {
    return invalid(field + " is above 2^53 (" + std::to_string(amount) + ")");
  }
  return {};
}

Status check_resource(const QueueResource& resource) {
  if (auto ok = check_resource_name(resource.name); !ok) return ok;
  const std::string field = "resources." + resource.name;
  if (auto ok = check_bounded(field + ".quota", resource.quota); !ok) return ok;
  if (auto ok = check_bounded(field + ".limit", resource.limit); !ok) return ok;
  if (resource.weight < 1 || resource.weight > kWeightMax) {
    return invalid(field + ".weight is not in 1..1000000000 (" + std::to_string(resource.weight) +
                   ")");
  }
  if (resource.quota_ppm < 0 || resource.quota_ppm > kPpmMax) {
    return invalid(field + ".quota_ppm is not in 0..1000000, which is 100 % (" +
                   std::to_string(resource.quota_ppm) + ")");
  }
  if (resource.quota != 0 && resource.quota_ppm != 0) {
    return invalid(field + ": quota and quota_ppm exclude each other");
  }
  if (resource.limit != kUnlimited && resource.quota > resource.limit) {
    return invalid(field + ".quota (" + std::to_string(resource.quota) + ") is above its limit (" +
                   std::to_string(resource.limit) + ")");
  }
  return {};
}

Status check_parts(const QueueSpec& queue) {
  if (!queue.parent.empty()) {
    if (auto ok = check_text("parent", queue.parent, false); !ok) return ok;
    if (queue.parent == queue.name) return invalid("parent is the queue itself");
  }
  if (queue.resources.size() > kQueueResourcesMax) {
    return invalid("resources has more than 67 entries");
  }
  std::vector<std::string_view> names;
  for (const QueueResource& resource : queue.resources) {
    if (auto ok = check_resource(resource); !ok) return ok;
    names.push_back(resource.name);
  }
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
    return invalid("resources names " + std::string(*twice) + " twice");
  }
  for (const std::string& tenant : queue.tenants) {
    if (auto ok = check_text("tenants", tenant, true); !ok) return ok;
  }
  if (queue.min_run_before_preempt.ms < 0) return invalid("min_run_before_preempt is negative");
  if (queue.min_run_before_reclaim.ms < 0) return invalid("min_run_before_reclaim is negative");
  if (queue.displace_after.ms < 0) return invalid("displace_after is negative");
  return {};
}

std::string place_of(const QueueSpec& queue) { return "queue " + queue.name; }

// The tree by positions in the list. A parent that is not there is kNowhere.
struct Tree {
  static constexpr size_t kNowhere = SIZE_MAX;

  std::map<std::string_view, size_t> by_name;
  std::vector<size_t> parent;

  explicit Tree(std::span<const QueueSpec> queues) {
    for (size_t i = 0; i < queues.size(); ++i) by_name.emplace(queues[i].name, i);
    for (const QueueSpec& queue : queues) {
      const auto found = by_name.find(queue.parent);
      parent.push_back(found == by_name.end() ? kNowhere : found->second);
    }
  }

  [[nodiscard]] size_t ancestor(size_t of, size_t steps) const {
    while (of != kNowhere && steps-- > 0) of = parent[of];
    return of;
  }
};

Status check_shape(std::span<const QueueSpec> queues, const Tree& tree) {
  for (size_t i = 0; i < queues.size(); ++i) {
    if (tree.by_name.at(queues[i].name) != i) {
      return invalid(place_of(queues[i]) + ": name occurs twice");
    }
    if (!queues[i].parent.empty() && tree.parent[i] == Tree::kNowhere) {
      return invalid(place_of(queues[i]) + ": parent " + queues[i].parent + " is not there");
    }
  }
  for (size_t i = 0; i < queues.size(); ++i) {
    const size_t above = tree.ancestor(i, kQueueDepthMax);
    if (above == Tree::kNowhere) continue;
    // So many steps up lead to a root, or else onto a circle.
    const size_t last = tree.ancestor(above, queues.size());
    if (last != Tree::kNowhere) {
      return invalid(place_of(queues[last]) + ": parent leads back to the queue itself");
    }
    return invalid(place_of(queues[i]) + ": more than 15 levels lie above it");
  }
  return {};
}

// Position of the parent (kNowhere: the roots) and name of a resource.
using SiblingKey = std::pair<size_t, std::string_view>;

Status check_sums(std::span<const QueueSpec> queues, const Tree& tree) {
  std::map<SiblingKey, int64_t> sums;
  for (size_t i = 0; i < queues.size(); ++i) {
    for (const QueueResource& resource : queues[i].resources) {
      int64_t& sum = sums[{tree.parent[i], resource.name}];
      sum += std::max<int64_t>(resource.quota, 0);
      if (sum > kTotalMax) {
        return invalid(place_of(queues[i]) + ": resources." + resource.name +
                       ".quota: with its siblings it is above 2^61");
      }
    }
  }
  return {};
}

// --- Warnings ---

std::string amount_text(std::string_view resource, int64_t amount) {
  if (amount == kUnlimited) return "everything";
  if (resource == "memory") return std::to_string(amount) + " bytes";
  std::string text = std::to_string(amount / 1000);
  if (amount % 1000 != 0) {
    const std::string digits = std::to_string(1000 + amount % 1000);
    text += "." + digits.substr(1);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

const QueueResource* find_resource(const QueueSpec& queue, std::string_view name) {
  const auto found = std::ranges::find(queue.resources, name, &QueueResource::name);
  return found == queue.resources.end() ? nullptr : &*found;
}

// What the children of one queue, or the roots, are promised of one resource.
struct Promised {
  int64_t sum = 0;  // of those written as amounts
  int64_t ppm = 0;  // of those written as parts
  bool unlimited = false;
};

class Warnings {
 public:
  explicit Warnings(std::span<const QueueSpec> queues) : queues_(queues), tree_(queues) {
    for (size_t i = 0; i < queues.size(); ++i) {
      for (const QueueResource& resource : queues[i].resources) {
        Promised& promised = promised_[{tree_.parent[i], resource.name}];
        if (resource.quota == kUnlimited) promised.unlimited = true;
        // Trees with larger sums are refused, but may be looked at before.
        const int64_t quota = std::clamp<int64_t>(resource.quota, 0, kTotalMax);
        promised.sum = std::min(promised.sum + quota, kTotalMax);
        promised.ppm += resource.quota_ppm;
      }
    }
  }

  std::vector<std::string> all() {
    warn(Tree::kNowhere);
    for (size_t i = 0; i < queues_.size(); ++i) warn(i);
    return std::move(out_);
  }

 private:
  // What the queue is promised; none where that is a part of the cluster.
  [[nodiscard]] std::optional<int64_t> quota(size_t queue, std::string_view name) const {
    std::vector<int64_t> parts;  // of parts, from the queue upwards
    for (size_t at = queue; at != Tree::kNowhere && parts.size() < kQueueDepthMax;
         at = tree_.parent[at]) {
      const QueueResource* resource = find_resource(queues_[at], name);
      if (resource != nullptr && resource->quota_ppm != 0) {
        parts.push_back(resource->quota_ppm);
        continue;
      }
      int64_t amount = resource == nullptr ? 0 : resource->quota;
      if (amount == kUnlimited) return amount;
      for (size_t i = parts.size(); i-- > 0;) {
        amount = static_cast<int64_t>(static_cast<__int128>(amount) * parts[i] / kPpmMax);
      }
      return amount;
    }
    return std::nullopt;
  }

  void warn(size_t parent) {
    const std::string who =
        parent == Tree::kNowhere ? "the roots" : "the children of queue " + queues_[parent].name;
    for (auto it = promised_.lower_bound({parent, std::string_view()});
         it != promised_.end() && it->first.first == parent; ++it) {
      const std::string_view name = it->first.second;
      const Promised& promised = it->second;
      const std::string start = who + " are promised ";
      const std::string resource(name);
      if (promised.ppm > kPpmMax) {
        const std::string percent = amount_text("", promised.ppm / 10);
        std::string text = start;
        text += percent;
        text += " % of the ";
        text += resource;
        text += parent == Tree::kNowhere ? " of the cluster" : " of their parent";
        out_.push_back(text + ": their shares are scaled down");
      }
      if (parent != Tree::kNowhere) warn_of_parent(parent, name, promised, start);
    }
  }

  void warn_of_parent(size_t parent, std::string_view name, const Promised& promised,
                      const std::string& start) {
    const QueueResource* own = find_resource(queues_[parent], name);
    const std::optional<int64_t> quota_of_parent = quota(parent, name);
    if (!quota_of_parent || (promised.sum == 0 && !promised.unlimited)) return;
    const bool parent_unlimited = *quota_of_parent == kUnlimited;
    const __int128 parts =
        parent_unlimited ? 0 : static_cast<__int128>(*quota_of_parent) * promised.ppm / kPpmMax;
    const __int128 exact = static_cast<__int128>(promised.sum) + parts;
    const auto sum = promised.unlimited
                         ? kUnlimited
                         : static_cast<int64_t>(std::min<__int128>(exact, kTotalMax));
    const std::string resource(name);
    if (!parent_unlimited && (promised.unlimited || sum > *quota_of_parent)) {
      out_.push_back(start + amount_text(name, sum) + " of " + resource + ", but it is promised " +
                     amount_text(name, *quota_of_parent) + ": their shares are scaled down");
    }
    const int64_t limit = own == nullptr ? kUnlimited : own->limit;
    if (limit != kUnlimited && (promised.unlimited || sum > limit)) {
      out_.push_back(start + amount_text(name, sum) + " of " + resource + ", but its limit is " +
                     amount_text(name, limit) + ": they never get it all at once");
    }
  }

  std::span<const QueueSpec> queues_;
  Tree tree_;
  std::map<SiblingKey, Promised> promised_;
  std::vector<std::string> out_;
};

}  // namespace

Status validate(const QueueSpec& queue) {
  if (auto ok = check_text("queue.name", queue.name, false); !ok) return ok;
  if (auto ok = check_parts(queue); !ok) return base::in_context(place_of(queue), ok.error());
  return {};
}

Status validate(std::span<const QueueSpec> queues) {
  if (queues.size() > kQueuesMax) return invalid("queues has more than 20,000 entries");
  for (const QueueSpec& queue : queues) {
    if (auto ok = validate(queue); !ok) return ok;
  }
  const Tree tree(queues);
  if (auto ok = check_shape(queues, tree); !ok) return ok;
  return check_sums(queues, tree);
}

std::vector<std::string> warnings(std::span<const QueueSpec> queues) {
  return Warnings(queues).all();
}

}  // namespace mainspring::model
