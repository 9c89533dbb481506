// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mainspring/base/result.h"
#include "mainspring/kube/objects.h"
#include "mainspring/model/spec.h"

// What one pod asks for, in the model's words.

namespace mainspring::kube {

// Which pods are Mainspring's, and how its resources are called.
struct Naming {
  std::vector<std::string> schedulers = {"mainspring"};
  std::vector<std::string> gpu_resources = {"nvidia.com/gpu", "amd.com/gpu"};
  std::string gpu_model_label = "nvidia.com/gpu.product";
  std::string gpu_memory_label = "nvidia.com/gpu.memory";  // MiB
  std::string default_queue = "default";
  StringMap namespace_queues;

  [[nodiscard]] bool is_ours(const PodObject& pod) const;
};

// Why a pod stays pending by its own fault, or until something that does not exist yet does.
struct Obstacle {
  std::string code;     // one word, as a reason code: "FractionNeedsAgent"
  std::string message;  // a sentence
  friend bool operator==(const Obstacle&, const Obstacle&) = default;
};

// The shape that placement looks at. An obstacle when the pod asks for what is not planned.
tl::expected<model::PodShape, Obstacle> shape_of(const PodObject& pod, const Naming& naming);

// The same for a pod that already has its node: only what it takes matters, and of GPUs at most
// `gpus_max` of the one resource that it asks for.
model::PodShape taken_by(const PodObject& pod, const Naming& naming, uint32_t gpus_max);

// The part of a job that its pods say by annotations; equal on all of them.
struct JobWishes {
  std::string queue;
  std::optional<uint32_t> min_count;
  std::string required_level;
  std::string preferred_level;
  base::Duration checkpoint_interval;
  base::Duration restart_time;
  base::Duration expected_run;
  friend bool operator==(const JobWishes&, const JobWishes&) = default;
};

// `size` is what a minimum in percent is taken of, where the pod does not say it; 0: not known.
// The error names the annotation.
base::Result<JobWishes> wishes_of(const PodObject& pod, const Naming& naming, uint32_t size);

// A pod with a controller may be displaced unless it says no; one without only if it says yes.
bool is_preemptible(const PodObject& pod);

}  // namespace mainspring::kube
