// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/node_book.h"

#include <algorithm>
#include <charconv>

namespace mainspring::kube {
namespace {

using model::Resource;

int64_t allocatable(const NodeObject& node, const std::string& name) {
  const auto found = node.allocatable.find(name);
  if (found == node.allocatable.end()) return 0;
  return std::clamp<int64_t>(found->second, 0, model::kAmountMax);
}

int64_t memory_bytes_of(const NodeObject& node, const Naming& naming) {
  const auto label = node.meta.labels.find(naming.gpu_memory_label);
  if (label == node.meta.labels.end()) return 0;
  int64_t mebibytes = 0;
  const char* end = label->second.data() + label->second.size();
  const auto read = std::from_chars(label->second.data(), end, mebibytes);
  const bool good = read.ec == std::errc{} && read.ptr == end && mebibytes > 0 &&
                    mebibytes < (model::kAmountMax >> 20);
  return good ? mebibytes << 20 : 0;
}

}  // namespace

model::NodeSpec node_spec_of(const NodeObject& node, const Naming& naming) {
  model::NodeSpec spec{.name = node.meta.name,
                       .schedulable = !node.unschedulable,
                       .ready = node.ready && !node.meta.deleting};
  for (const auto& [key, value] : node.meta.labels) spec.labels.push_back({key, value});
  spec.taints = node.taints;
  spec.allocatable[Resource::kCpuMilli] = allocatable(node, "cpu");
  spec.allocatable[Resource::kMemoryBytes] = allocatable(node, "memory");
  spec.allocatable[Resource::kEphemeralBytes] = allocatable(node, "ephemeral-storage");
  spec.allocatable[Resource::kPods] = allocatable(node, "pods");
  const auto model = node.meta.labels.find(naming.gpu_model_label);
  const int64_t memory_bytes = memory_bytes_of(node, naming);
  for (const std::string& resource : naming.gpu_resources) {
    const int64_t room = static_cast<int64_t>(model::kGpusPerNodeMax - spec.gpus.size());
    const std::string prefix = spec.gpus.empty() ? "gpu-" : resource + "/gpu-";
    const int64_t count = std::min(allocatable(node, resource), room);
    for (int64_t i = 0; i < count; ++i) {
      spec.gpus.push_back({.id = prefix + std::to_string(i),
                           .resource = resource,
                           .model = model == node.meta.labels.end() ? "" : model->second,
                           .memory_bytes = memory_bytes});
    }
  }
  return spec;
}

}  // namespace mainspring::kube
