// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "mainspring/base/rng.h"
#include "mainspring/config/fault.h"
#include "mainspring/sim/agenda.h"
#include "mainspring/sim/delivery.h"
#include "mainspring/sim/pod_lives.h"
#include "mainspring/sim/true_world.h"

// What goes wrong in the true world: faults at given times, and faults drawn from a seed.

namespace mainspring::sim {

class FaultInjector {
 public:
  FaultInjector(TrueWorld& world, Agenda& agenda, Delivery& delivery, PodLives& lives,
                const config::FaultChances& chances, base::Rng rng)
      : world_(world),
        agenda_(agenda),
        delivery_(delivery),
        lives_(lives),
        chances_(chances),
        rng_(rng) {}

  // Puts all of them on the agenda.
  void plan(const std::vector<config::TimedFault>& faults);

  // Timed faults that have not happened yet.
  [[nodiscard]] int64_t timed_left() const { return timed_left_; }
  // Faults that named something that was not there.
  [[nodiscard]] int64_t missed() const { return missed_; }

 private:
  void happen(const config::TimedFault& fault);
  void happen_to_node(const config::TimedFault& fault, uint32_t node);
  void happen_to_device(const config::TimedFault& fault, uint32_t node);
  void happen_to_job(const config::TimedFault& fault);
  void lose_node(uint32_t node);
  void restore_node(uint32_t node);
  void show_gpus(uint32_t node, int64_t count);
  void set_device(uint32_t node, uint32_t device, bool healthy, int64_t foreign_memory_bytes);
  void tell_node(uint32_t node);
  void tell_device(uint32_t node, uint32_t device, base::Duration notice = {});
  // Draws when the next one of a kind happens, and does it again after that.
  void repeat(base::Duration every, void (FaultInjector::*fault)());
  void lose_some_node();
  void lose_some_gpu();
  void take_some_gpu();
  // A random device on a node that is up, healthy, without strangers, and free if asked; or false.
  bool pick_device(bool idle, uint32_t& node, uint32_t& device);

  TrueWorld& world_;
  Agenda& agenda_;
  Delivery& delivery_;
  PodLives& lives_;
  config::FaultChances chances_;
  base::Rng rng_;
  int64_t timed_left_ = 0;
  int64_t missed_ = 0;
};

}  // namespace mainspring::sim
