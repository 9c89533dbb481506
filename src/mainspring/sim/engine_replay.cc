// SPDX-License-Identifier: Apache-2.0
#include "mainspring/sim/engine_replay.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "mainspring/base/check.h"
#include "mainspring/base/hash.h"
#include "mainspring/base/id_map.h"
#include "mainspring/sim/checker.h"
#include "mainspring/sim/static_world.h"

namespace mainspring::sim {
namespace {

constexpr int64_t kProgressEvery = 1024;
constexpr int kMibShift = 20;

std::vector<std::string> models_of(const std::string& spec) {
  std::vector<std::string> models;
  for (size_t at = 0; at < spec.size();) {
    const size_t end = std::min(spec.find('|', at), spec.size());
    if (end > at) models.push_back(spec.substr(at, end - at));
    at = end + 1;
  }
  return models;
}

model::PodShape shape_of(const OpenbPod& pod) {
  model::PodShape shape;
  shape.request[model::Resource::kCpuMilli] = pod.cpu_milli;
  shape.request[model::Resource::kMemoryBytes] = pod.memory_mib << kMibShift;
  shape.request[model::Resource::kPods] = 1;
  if (pod.gpu_count == 0) return shape;
  shape.gpu.count = static_cast<uint32_t>(pod.gpu_count);
  shape.gpu.milli = static_cast<int32_t>(pod.gpu_milli);
  shape.gpu.models = models_of(pod.gpu_spec);
  return shape;
}

model::NodeSpec spec_of(const OpenbNode& node) {
  model::NodeSpec spec{.name = node.name};
  spec.allocatable[model::Resource::kCpuMilli] = node.cpu_milli;
  spec.allocatable[model::Resource::kMemoryBytes] = node.memory_mib << kMibShift;
  spec.allocatable[model::Resource::kPods] = kStaticPodsPerNodeMax;
  for (int64_t gpu = 0; gpu < node.gpu_count; ++gpu) {
    spec.gpus.push_back({.id = "gpu-" + std::to_string(gpu), .model = node.gpu_model});
  }
  return spec;
}

class EngineReplay {
 public:
  EngineReplay(const OpenbInputs& inputs, const EngineReplayOptions& options)
      : inputs_(inputs), options_(options), engine_(options.engine) {
    if (options.check) checker_.emplace();
  }

  base::Result<EngineReplayResult> run() {
    if (auto ok = forbid_moves(); !ok) return base::failure(ok.error().code, ok.error().message);
    for (const uint32_t node : inputs_.order.nodes) {
      if (auto ok = add_node(inputs_.nodes[node]); !ok) {
        return base::failure(ok.error().code, ok.error().message);
      }
    }
    OpenbResult result{.curve = AllocationCurve(capacity_milli_),
                       .capacity_milli = capacity_milli_};
    shapes_.reserve(inputs_.pods.size());
    for (const OpenbPod& pod : inputs_.pods) shapes_.push_back(shape_of(pod));
    model::JobSpec& job = arrival_.job;
    job.groups.push_back({.name = "all"});
    job.shapes.resize(1);
    job.pods.resize(1);
    for (const uint32_t pod : inputs_.order.pods) {
      MAINSPRING_CHECK(pod < shapes_.size(), "the order names pods of the list");
      arrive(pod, result);
      result.curve.arrived(inputs_.pods[pod].gpu_milli_total(), result.allocated_milli);
      if (options_.progress && result.arrived_pods % kProgressEvery == 0) {
        options_.progress(result.arrived_pods);
      }
    }
    result.run_hash = hash_.value();
    EngineReplayResult outcome{.result = result};
    if (checker_) {
      checker_->sweep(state_, nullptr, state_.now());
      outcome.violation_count = checker_->violation_count();
      for (const Violation& one : checker_->violations())
        outcome.violations.push_back(one.sentence);
    }
    return outcome;
  }

 private:
  // In a static world nothing ends, so nothing can be moved either.
  base::Status forbid_moves() {
    model::CoreConfig config;
    config.consolidate_lost_max = {};
    model::Event event;
    event.body = model::ConfigChanged{config};
    if (auto ok = state_.apply(event); !ok) return ok;
    if (checker_) checker_->observe(event, true, {});
    return {};
  }

  base::Status add_node(const OpenbNode& node) {
    model::Event event;
    event.body = model::NodeChanged{spec_of(node)};
    if (auto ok = state_.apply(event); !ok) return ok;
    if (checker_) checker_->observe(event, true, {});
    row_by_name_.insert(node.name, node.row);
    capacity_milli_ += node.gpu_count * kMilliPerGpu;
    return {};
  }

  void arrive(uint32_t pod, OpenbResult& result) {
    const int64_t number = result.arrived_pods++;
    const base::Instant now{number};
    model::JobSpec& job = arrival_.job;
    job.id = "job-" + std::to_string(number);
    job.submitted_at = now;
    job.shapes[0] = shapes_[pod];
    job.pods[0].id = "pod-" + std::to_string(number);
    model::Event event;
    event.sequence = static_cast<uint64_t>(number) + 1;
    event.at = now;
    event.body = std::move(arrival_);
    const bool accepted = state_.apply(event).has_value();
    MAINSPRING_CHECK(accepted, "the state refused a pod of the list");
    const model::Plan plan = engine_.run_cycle(state_, now);
    if (checker_) {
      checker_->observe(event, accepted, now);
      checker_->judge(plan, now);
      checker_->inspect(state_, nullptr, now);
    }
    arrival_ = std::move(std::get<model::JobChanged>(event.body));
    count(plan, pod, result);
  }

  // What the arrival got; a pod that waited before cannot get anything in a world where nothing
  // comes free.
  void count(const model::Plan& plan, uint32_t pod, OpenbResult& result) {
    int64_t row = -1;
    uint8_t devices = 0;
    for (const model::Decision& decision : plan.decisions) {
      const auto* bind = std::get_if<model::Bind>(&decision);
      MAINSPRING_CHECK(bind != nullptr && bind->job == arrival_.job.id && bind->pods.size() == 1,
                       "something else than the arrival was decided in a static world");
      const model::PodBinding& binding = bind->pods[0];
      row = row_by_name_.find(binding.node);
      for (const std::string& gpu : binding.gpus) {
        devices = static_cast<uint8_t>(devices | 1U << (gpu.back() - '0'));
      }
      ++result.placed_pods;
      result.allocated_milli += inputs_.pods[pod].gpu_milli_total();
    }
    hash_.add(row);
    hash_.add(devices);
  }

  const OpenbInputs& inputs_;
  const EngineReplayOptions& options_;
  engine::Engine engine_;
  model::ClusterState state_;
  std::optional<Checker> checker_;
  base::IdMap row_by_name_;
  std::vector<model::PodShape> shapes_;
  model::JobChanged arrival_;  // one for all, so that its memory is used again
  int64_t capacity_milli_ = 0;
  base::RunHash hash_;
};

}  // namespace

base::Result<EngineReplayResult> replay_openb(const OpenbInputs& inputs,
                                              const EngineReplayOptions& options) {
  return EngineReplay(inputs, options).run();
}

}  // namespace mainspring::sim
