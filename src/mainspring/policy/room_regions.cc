// SPDX-License-Identifier: Apache-2.0
#include "mainspring/policy/room_regions.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace mainspring::policy {

using model::ClusterState;
using model::Job;
using model::Node;
using model::Shape;

namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// What the eligible units of one node give back there, unit by unit.
struct Given {
  int64_t gpu_milli = 0;
  model::Resources resources;
};

Given given_by(const ClusterState& state, const model::Pod& pod) {
  Given given;
  const Shape& shape = state.inventory().shape(pod.shape);
  given.resources += shape.request;
  const Node& node = state.inventory().node(pod.node);
  for (model::DeviceMask rest = pod.devices; rest != 0; rest &= rest - 1) {
    const auto device = static_cast<size_t>(std::countr_zero(rest));
    given.gpu_milli += model::gpu_take(shape, node.gpus[device]).milli;
  }
  return given;
}

Given given_on(const ClusterState& state, const VictimPool& pool, const VictimUnit& unit,
               uint32_t node_slot) {
  Given given;
  for (const model::PodIx index : pool.pods(unit)) {
    const model::Pod& pod = state.pod(index);
    if (pod.node.slot != node_slot) continue;
    const Given one = given_by(state, pod);
    given.gpu_milli += one.gpu_milli;
    given.resources += one.resources;
  }
  return given;
}

// The heaviest pod of the claimant that waits: what a node has to offer room for.
const Shape* largest_shape(const ClusterState& state, const Job& job) {
  const Shape* largest = nullptr;
  for (const model::PodIx index : job.pods) {
    // One that was displaced itself looks for a place for its next life.
    const model::PodPhase phase = state.pod(index).phase;
    if (phase != model::PodPhase::kPending && phase != model::PodPhase::kStopping) continue;
    const Shape& shape = state.inventory().shape(state.pod(index).shape);
    const auto size = [](const Shape& one) {
      return std::pair{int64_t{one.gpu_count} * std::max(one.gpu_milli, 1),
                       one.request[model::Resource::kCpuMilli]};
    };
    if (largest == nullptr || size(*largest) < size(shape)) largest = &shape;
  }
  return largest;
}

struct NodeOffer {
  uint32_t slot = 0;
  int64_t lost_gpu_ms = kNever;  // at least, to host one pod more than now
  int64_t hosts = 0;             // pods more, when every eligible unit is gone
  int64_t lost_all_gpu_ms = 0;
};

class Offers {
 public:
  Offers(const ClusterState& state, const VictimPool& pool, const std::vector<bool>& eligible,
         const Shape& shape)
      : state_(state),
        pool_(pool),
        eligible_(eligible),
        shape_(shape),
        leaving_(state.inventory().nodes().size()) {
    for (const model::PodIx index : pool.stopping()) {
      const model::Pod& pod = state.pod(index);
      const Given given = given_by(state, pod);
      leaving_[pod.node.slot].gpu_milli += given.gpu_milli;
      leaving_[pod.node.slot].resources += given.resources;
    }
  }

  // Nodes that could host the shape once units are gone.
  std::vector<NodeOffer> all() const {
    std::vector<NodeOffer> offers;
    for (const uint32_t slot : state_.inventory().nodes_by_rank()) {
      const NodeOffer offer = of(slot);
      if (offer.lost_gpu_ms != kNever) offers.push_back(offer);
    }
    return offers;
  }

 private:
  NodeOffer of(uint32_t slot) const {
    const Node& node = state_.inventory().nodes()[slot];
    NodeOffer offer{.slot = slot};
    if (!node.usable() || !labels_match(shape_, node, state_.inventory().names()) ||
        !taints_tolerated(shape_, node)) {
      return offer;
    }
    int64_t suiting = 0;
    for (const model::Gpu& gpu : node.gpus) suiting += model::device_suits(shape_, gpu) ? 1 : 0;
    if (suiting < int64_t{shape_.gpu_count}) return offer;
    int64_t free_milli = node.free.gpu_milli + leaving_[slot].gpu_milli;
    model::Resources free = node.free.resources + leaving_[slot].resources;
    const int64_t now = fits(free_milli, free);
    for (const uint32_t number : pool_.on_node(slot)) {
      if (!eligible_[number]) continue;
      const VictimUnit& unit = pool_.units()[number];
      const Given given = given_on(state_, pool_, unit, slot);
      free_milli += given.gpu_milli;
      free += given.resources;
      offer.lost_all_gpu_ms += unit.lost_gpu_ms;
      if (offer.lost_gpu_ms == kNever && fits(free_milli, free) > now) {
        offer.lost_gpu_ms = offer.lost_all_gpu_ms;
      }
    }
    // A free amount that is in the wrong pieces: some unit may still have to go.
    offer.hosts = fits(free_milli, free) - now;
    if (offer.lost_gpu_ms == kNever && offer.lost_all_gpu_ms > 0 && now > 0) {
      offer.lost_gpu_ms = 0;
      offer.hosts = 1;
    }
    return offer;
  }

  // How many pods of the shape the amounts would hold.
  int64_t fits(int64_t gpu_milli, const model::Resources& free) const {
    int64_t pods = std::numeric_limits<int32_t>::max();
    const int64_t gpu = int64_t{shape_.gpu_count} * shape_.gpu_milli;
    if (gpu > 0) pods = std::min(pods, gpu_milli / gpu);
    for (size_t i = 0; i < model::kResourceCount; ++i) {
      if (shape_.request.amounts[i] > 0) {
        pods = std::min(pods, free.amounts[i] / shape_.request.amounts[i]);
      }
    }
    return pods;
  }

  const ClusterState& state_;
  const VictimPool& pool_;
  const std::vector<bool>& eligible_;
  const Shape& shape_;
  std::vector<Given> leaving_;  // by node slot: what is going to be free anyway
};

class RegionFinder {
 public:
  RegionFinder(const ClusterState& state, const VictimPool& pool, const std::vector<bool>& eligible,
               const Job& claimant)
      : state_(state),
        pool_(pool),
        eligible_(eligible),
        claimant_(claimant),
        seen_(pool.units().size(), 0) {}

  std::vector<Region> find(uint32_t regions_max) {
    const Shape* shape = largest_shape(state_, claimant_);
    if (shape == nullptr) return {};
    offers_ = Offers(state_, pool_, eligible_, *shape).all();
    const bool single = claimant_.pods.size() == 1;
    const model::LevelIx level = claimant_.groups.front().required_level;
    std::vector<Region> regions;
    if (single || (level.valid() && level == state_.inventory().node_level())) {
      regions = by_node(regions_max);
    } else if (level.valid()) {
      regions = by_domain(level);
    } else {
      regions.push_back(gathered("cluster", offers_, shape->gpu_count > 1));
    }
    std::erase_if(regions, [](const Region& region) { return region.units.empty(); });
    if (regions.size() > regions_max) regions.resize(regions_max);
    return regions;
  }

 private:
  std::vector<Region> by_node(uint32_t regions_max) {
    std::ranges::stable_sort(offers_, {}, &NodeOffer::lost_gpu_ms);
    std::vector<Region> regions;
    for (const NodeOffer& offer : offers_) {
      if (regions.size() == regions_max) break;
      Region& region = regions.emplace_back();
      region.where = state_.inventory().nodes()[offer.slot].name;
      region.estimate = offer.lost_gpu_ms;
      for (const uint32_t number : pool_.on_node(offer.slot)) {
        if (eligible_[number]) region.units.push_back(number);
      }
    }
    return regions;
  }

  std::vector<Region> by_domain(model::LevelIx level) {
    std::vector<uint32_t> offer_of(state_.inventory().nodes().size(), UINT32_MAX);
    for (uint32_t i = 0; i < offers_.size(); ++i) offer_of[offers_[i].slot] = i;
    std::vector<Region> regions;
    for (const model::Domain& domain : state_.inventory().domains()) {
      if (!domain.alive || domain.level != level) continue;
      std::vector<NodeOffer> inside;
      for (const uint32_t slot : domain.nodes) {
        if (offer_of[slot] != UINT32_MAX) inside.push_back(offers_[offer_of[slot]]);
      }
      const std::string& name =
          state_.inventory().name(state_.inventory().levels()[level.slot].name);
      regions.push_back(gathered(name + ":" + state_.inventory().name(domain.value), inside, true));
    }
    std::ranges::stable_sort(regions, [](const Region& left, const Region& right) {
      return left.estimate != right.estimate ? left.estimate < right.estimate
                                             : left.where < right.where;
    });
    return regions;
  }

  // The nodes that host most for least first; where any device will do, just the cheapest units.
  Region gathered(std::string where, std::vector<NodeOffer> offers, bool node_by_node) {
    Region region{.where = std::move(where)};
    std::ranges::stable_sort(offers, [](const NodeOffer& left, const NodeOffer& right) {
      return static_cast<__int128>(left.lost_all_gpu_ms) * right.hosts <
             static_cast<__int128>(right.lost_all_gpu_ms) * left.hosts;
    });
    ++round_;
    for (const NodeOffer& offer : offers) {
      for (const uint32_t number : pool_.on_node(offer.slot)) {
        if (!eligible_[number] || seen_[number] == round_) continue;
        seen_[number] = round_;
        region.units.push_back(number);
      }
    }
    if (!node_by_node) std::ranges::sort(region.units);
    if (!offers.empty()) region.estimate = offers.front().lost_gpu_ms;
    return region;
  }

  const ClusterState& state_;
  const VictimPool& pool_;
  const std::vector<bool>& eligible_;
  const Job& claimant_;
  std::vector<NodeOffer> offers_;
  std::vector<uint32_t> seen_;  // by unit: the round in which it was gathered
  uint32_t round_ = 0;
};

}  // namespace

std::vector<Region> regions_for(const ClusterState& state, const VictimPool& pool,
                                const std::vector<bool>& eligible, const Job& claimant,
                                uint32_t regions_max) {
  return RegionFinder(state, pool, eligible, claimant).find(regions_max);
}

}  // namespace mainspring::policy
