// SPDX-License-Identifier: Apache-2.0
#include "mainspring/cli/scheduler_witness.h"

#include <cstdio>
#include <utility>

#include "mainspring/base/json.h"
#include "mainspring/kube/time_text.h"
#include "mainspring/model/snapshot.h"
#include "mainspring/sim/run_digest.h"

namespace mainspring::cli {

base::Result<std::unique_ptr<SchedulerWitness>> SchedulerWitness::create(
    const kube::Clock& clock, const std::string& record_path) {
  std::unique_ptr<SchedulerWitness> witness(new SchedulerWitness(clock));
  if (record_path.empty()) return witness;
  auto record = config::EventFileWriter::create(record_path);
  if (!record) return tl::unexpected(record.error());
  witness->record_ = std::move(*record);
  return witness;
}

void SchedulerWitness::began(const model::ClusterState& state) {
  if (record_ == nullptr) return;
  for (const model::Event& event : model::take_snapshot(state)) record_->snapshot(event);
  record_->end_snapshot();
}

void SchedulerWitness::happened(const model::Event& event) {
  if (record_ != nullptr) record_->event(event);
}

void SchedulerWitness::decided(base::Instant at, const model::Plan& plan) {
  if (record_ != nullptr) record_->cycle(at, sim::digest_of_decisions(plan));
}

void SchedulerWitness::say(std::string_view level, const std::string& message) {
  base::Json line = base::Json::object();
  line.append("time", kube::micro_time_text(clock_.now()));
  line.append("level", level);
  line.append("message", message);
  const std::string text = line.dump() + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

base::Status SchedulerWitness::finish() {
  return record_ == nullptr ? base::Status{} : record_->finish();
}

}  // namespace mainspring::cli
