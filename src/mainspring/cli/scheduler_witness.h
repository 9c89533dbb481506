// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "mainspring/base/result.h"
#include "mainspring/config/event_file.h"
#include "mainspring/kube/scheduler.h"

// The log and the recording of a running scheduler.

namespace mainspring::cli {

// One JSON line for each message on standard error: {"time", "level", "message"}. With a path,
// everything that happens goes into an event file, which `mainspring simulate FILE` repeats.
class SchedulerWitness final : public kube::Witness {
 public:
  // Errors: the file cannot be written.
  static base::Result<std::unique_ptr<SchedulerWitness>> create(const kube::Clock& clock,
                                                                const std::string& record_path);

  void began(const model::ClusterState& state) override;
  void happened(const model::Event& event) override;
  void decided(base::Instant at, const model::Plan& plan) override;
  void say(std::string_view level, const std::string& message) override;

  // Puts the recording in its place.
  base::Status finish();

 private:
  explicit SchedulerWitness(const kube::Clock& clock) : clock_(clock) {}

  const kube::Clock& clock_;
  std::unique_ptr<config::EventFileWriter> record_;
};

}  // namespace mainspring::cli
