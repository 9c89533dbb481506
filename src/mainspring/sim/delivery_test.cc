// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/delivery.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace mainspring::sim {
namespace {

std::vector<model::Event> run(const config::FaultChances& chances, uint64_t seed) {
  Agenda agenda;
  Delivery delivery(agenda, chances, base::Rng(seed));
  for (int i = 0; i < 400; ++i) {
    agenda.put(base::Instant{i * 100}, [&delivery, i] {
      const std::string node = "n" + std::to_string(i % 3);
      // The number is told as foreign memory.
      delivery.send(model::GpuSampled{.node = node, .foreign_memory_bytes = i}, "node:" + node);
      delivery.send(model::PodStarted{"p" + std::to_string(i), 0}, {});
    });
  }
  std::vector<model::Event> arrived;
  while (!agenda.empty()) {
    agenda.advance(agenda.next());
    agenda.run_due();
    for (model::Event& event : delivery.take_arrived()) {
      EXPECT_LE(event.at, agenda.now());
      arrived.push_back(std::move(event));
    }
  }
  return arrived;
}

TEST(Delivery, WithoutChanceEverythingComesAtOnceAndOnce) {
  const auto events = run({}, 1);
  ASSERT_EQ(events.size(), 800U);
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].sequence, i + 1);
    EXPECT_EQ(events[i].at.ms, static_cast<int64_t>(i / 2) * 100);
  }
}

TEST(Delivery, WhatTellsAWholeStateKeepsItsOrderAndNothingIsLost) {
  config::FaultChances chances;
  chances.event_late_ppm = chances.event_repeated_ppm = chances.event_reordered_ppm = 300'000;
  bool pods_out_of_order = false;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::map<std::string, int64_t> last_of_node;
    std::map<int64_t, int> samples;
    std::map<std::string, int> pods;
    int last_pod = -1;
    const auto events = run(chances, seed);
    for (const model::Event& event : events) {
      if (const auto* sample = std::get_if<model::GpuSampled>(&event.body)) {
        const auto [last, first] = last_of_node.try_emplace(sample->node, -1);
        ASSERT_GE(sample->foreign_memory_bytes, last->second) << "old news looked new";
        last->second = sample->foreign_memory_bytes;
        ++samples[sample->foreign_memory_bytes];
      } else if (const auto* started = std::get_if<model::PodStarted>(&event.body)) {
        const int pod = std::stoi(started->pod.substr(1));
        pods_out_of_order = pods_out_of_order || pod < last_pod;
        last_pod = pod;
        ++pods[started->pod];
      }
    }
    EXPECT_EQ(samples.size(), 400U);
    EXPECT_EQ(pods.size(), 400U);
    EXPECT_GT(events.size(), 900U);
    for (const auto& [pod, times] : pods) EXPECT_LE(times, 2) << pod;
  }
  EXPECT_TRUE(pods_out_of_order);
}

}  // namespace
}  // namespace mainspring::sim
