// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <memory>

#include <fmt/core.h>
#include <malloc.h>

#include "mainspring/base/check.h"
#include "mainspring/base/rng.h"
#include "mainspring/cli/bench_budgets.h"
#include "mainspring/cli/bench_world.h"
#include "mainspring/model/trial.h"

namespace mainspring::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::duration<double, std::nano>;

constexpr uint64_t kSeed = 42;

// What the allocator has handed out, heap and mapped blocks together.
double bytes_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

// Lowest free devices of a node, as many as asked for.
model::DeviceMask free_devices(const model::Node& node, uint32_t count) {
  model::DeviceMask mask = 0;
  for (size_t i = 0; i < node.gpus.size() && count > 0; ++i) {
    if (!node.gpus[i].wholly_free()) continue;
    mask |= model::DeviceMask{1} << i;
    --count;
  }
  MAINSPRING_CHECK(count == 0, "a benchmark ran out of devices");
  return mask;
}

struct Place {
  model::PodIx pod;
  model::NodeIx node;
  model::DeviceMask devices = 0;
};

// One-GPU jobs and a place for each, so that all devices of the state are taken once.
std::vector<Place> one_gpu_places(model::ClusterState& state) {
  std::vector<Place> places;
  const auto nodes = static_cast<uint32_t>(state.inventory().nodes().size());
  for (uint32_t slot = 0; slot < nodes; ++slot) {
    const size_t gpus = state.inventory().nodes()[slot].gpus.size();
    for (size_t i = 0; i < gpus; ++i) {
      const std::string id = fmt::format("job-{}-{}", slot, i);
      feed(state, model::JobChanged{uniform_job(id, 1, gpu_shape(1))});
      places.push_back({.pod = state.find_pod(id + "/0"),
                        .node = state.inventory().index_of(slot),
                        .devices = model::DeviceMask{1} << i});
    }
  }
  base::Rng rng(kSeed);
  rng.shuffle(places);
  return places;
}

}  // namespace

double quantile(std::vector<double>& samples, int permille) {
  MAINSPRING_CHECK(!samples.empty(), "a quantile of nothing");
  std::sort(samples.begin(), samples.end());
  const size_t rank = (samples.size() * static_cast<size_t>(permille) + 999) / 1000;
  return samples[std::clamp<size_t>(rank, 1, samples.size()) - 1];
}

// 12,500 nodes × 8 GPUs and 20,000 running pods in jobs of one to eight of them.
Measurement measure_state_memory() {
  const double before = bytes_in_use();
  auto state = std::make_unique<model::ClusterState>();
  add_tree(*state, {.zones = 5, .blocks = 25, .racks = 25, .nodes = 4}, {});
  constexpr int64_t kPods = 20'000;
  uint32_t node = 0;
  for (int64_t made = 0, number = 0; made < kPods; ++number) {
    const int64_t pods = std::min<int64_t>(1 + number % 8, kPods - made);
    const auto gpus = static_cast<uint32_t>(1 + number % 4);
    const std::string id = fmt::format("job-{}", number);
    feed(*state, model::JobChanged{uniform_job(id, pods, gpu_shape(gpus))});
    model::Trial trial(*state);
    for (int64_t i = 0; i < pods; ++i, ++node) {
      const model::NodeIx place = state->inventory().index_of(node % 12'500);
      const model::DeviceMask devices = free_devices(state->inventory().node(place), gpus);
      trial.place(state->find_pod(fmt::format("{}/{}", id, i)), place, devices, {});
    }
    trial.commit();
    made += pods;
  }
  return {.value = (bytes_in_use() - before) / 1e6, .samples = 1};
}

// A device by the name of its node, in random order, in a cluster of 4,096 GPUs.
Measurement measure_state_lookup() {
  model::ClusterState state;
  add_tree(state, {.zones = 4, .blocks = 8, .racks = 8, .nodes = 2}, {});
  constexpr size_t kKeys = 1 << 16;
  base::Rng rng(kSeed);
  std::vector<std::string> names;
  std::vector<size_t> devices;
  for (size_t i = 0; i < kKeys; ++i) {
    names.push_back(fmt::format("node-{}", rng.below(512)));
    devices.push_back(rng.below(8));
  }
  std::vector<double> samples;
  int64_t free = 0;
  for (int round = 0; round < 50; ++round) {
    const auto begin = Clock::now();
    for (size_t i = 0; i < kKeys; ++i) {
      const model::Node& node = state.inventory().node(state.inventory().find_node(names[i]));
      free += node.gpus[devices[i]].free_milli();
    }
    samples.push_back(Nanoseconds(Clock::now() - begin).count() / static_cast<double>(kKeys));
  }
  MAINSPRING_CHECK(free == int64_t{50} * 1000 * static_cast<int64_t>(kKeys), "a device is in use");
  return {.value = quantile(samples, 500), .samples = static_cast<int64_t>(50 * kKeys)};
}

// One holding through a Trial: booked with node, device and domain sums, and taken back.
Measurement measure_state_update() {
  model::ClusterState state;
  add_tree(state, {.zones = 4, .blocks = 8, .racks = 8, .nodes = 2}, {});
  const std::vector<Place> places = one_gpu_places(state);
  std::vector<double> samples;
  for (int round = 0; round < 200; ++round) {
    model::Trial trial(state);
    const auto begin = Clock::now();
    for (const Place& place : places) trial.place(place.pod, place.node, place.devices, {});
    samples.push_back(Nanoseconds(Clock::now() - begin).count() /
                      static_cast<double>(places.size()));
  }
  return {.value = quantile(samples, 500),
          .samples = static_cast<int64_t>(samples.size() * places.size())};
}

}  // namespace mainspring::cli
