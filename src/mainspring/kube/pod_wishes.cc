// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/pod_wishes.h"

#include <algorithm>
#include <charconv>

#include "mainspring/config/amount.h"
#include "mainspring/kube/annotations.h"

namespace mainspring::kube {
namespace {

using base::invalid;
using base::Result;
using model::Resource;

tl::unexpected<Obstacle> obstacle(std::string code, std::string message) {
  return tl::unexpected<Obstacle>(Obstacle{std::move(code), std::move(message)});
}

bool names_gpu(const Naming& naming, const std::string& resource) {
  return std::ranges::find(naming.gpu_resources, resource) != naming.gpu_resources.end();
}

// What the model knows by itself; nothing for any other resource.
std::optional<Resource> plain_resource(const std::string& name) {
  if (name == "cpu") return Resource::kCpuMilli;
  if (name == "memory") return Resource::kMemoryBytes;
  if (name == "ephemeral-storage") return Resource::kEphemeralBytes;
  return std::nullopt;
}

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(by), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

Result<base::Duration> duration_of(const PodObject& pod, std::string_view key) {
  const std::string_view text = pod.meta.annotation(key);
  if (text.empty()) return base::Duration{};
  const auto amount = config::parse_amount(text, config::AmountKind::kDuration);
  if (!amount) {
    return invalid("annotation " + std::string(key) + ": \"" + std::string(text) + "\" " +
                   amount.error().message);
  }
  return base::Duration{*amount};
}

std::optional<uint32_t> count_of(std::string_view text) {
  uint32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size() || count == 0) return std::nullopt;
  return count;
}

Result<std::optional<uint32_t>> min_count_of(const PodObject& pod, uint32_t size) {
  std::string_view text = pod.meta.annotation(annotation::kMinCount);
  if (text.empty()) return std::optional<uint32_t>{};
  const std::string place =
      "annotation " + std::string(annotation::kMinCount) + ": \"" + std::string(text) + "\"";
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  const auto count = count_of(text);
  if (!count || (percent && *count > 100)) {
    return invalid(place + " is neither a count of pods such as 8 nor a part of them such as 75%");
  }
  if (!percent) return count;
  if (const auto said = count_of(pod.meta.annotation(annotation::kGroupSize))) size = *said;
  if (size == 0) {
    return invalid(place + " is a part of a whole that is not known: say the whole with " +
                   std::string(annotation::kGroupSize));
  }
  return std::optional<uint32_t>(static_cast<uint32_t>((uint64_t{size} * *count + 99) / 100));
}

// What the pod demands that placement does not look at yet; empty: nothing. Such a pod waits rather
// than run where it must not.
std::string not_planned(const PodObject& pod) {
  if (pod.node_terms.size() > 1) return "node affinity with several alternatives";
  if (!pod.node_terms.empty() && !pod.node_terms[0].fields.empty()) {
    return "node affinity by fields";
  }
  if (!pod.affinity.empty()) return "required affinity to other pods";
  if (!pod.anti_affinity.empty()) return "required anti-affinity to other pods";
  if (!pod.spread.empty()) return "a topology spread constraint (DoNotSchedule)";
  if (!pod.host_ports.empty()) return "a port of its node";
  if (!pod.claims.empty()) return "a persistent volume claim";
  if (!pod.resource_claims.empty()) return "a resource claim (DRA)";
  return {};
}

}  // namespace

bool Naming::is_ours(const PodObject& pod) const {
  return std::ranges::find(schedulers, pod.scheduler_name) != schedulers.end();
}

tl::expected<model::PodShape, Obstacle> shape_of(const PodObject& pod, const Naming& naming) {
  model::PodShape shape;
  shape.request[Resource::kPods] = 1;
  for (const auto& [name, amount] : pod.requests) {
    if (amount == 0) continue;
    if (const auto resource = plain_resource(name)) {
      shape.request[*resource] = std::min(amount, model::kAmountMax);
    } else if (names_gpu(naming, name)) {
      if (shape.gpu.count > 0) {
        return obstacle("TwoGpuResources", "Cannot start: the pod asks for GPUs of two kinds, " +
                                               shape.gpu.resource + " and " + name + ".");
      }
      shape.gpu.resource = name;
      shape.gpu.count = static_cast<uint32_t>(std::min<int64_t>(amount, model::kGpusPerNodeMax));
      if (amount > static_cast<int64_t>(model::kGpusPerNodeMax)) {
        return obstacle("TooManyGpus", "Cannot start: the pod asks for " + std::to_string(amount) +
                                           " GPUs; no node can have more than 64.");
      }
    } else {
      return obstacle("UnknownResource",
                      "Cannot start: the pod asks for " + name +
                          ", a resource that the configuration does not name as a GPU.");
    }
  }
  if (!pod.meta.annotation(annotation::kGpuShare).empty() ||
      !pod.meta.annotation(annotation::kGpuMemory).empty()) {
    return obstacle("FractionNeedsAgent",
                    "Waits: a part of a GPU is given out by the node agent, which is not running.");
  }
  if (pod.impossible_terms) {
    return obstacle("NodeRequirements",
                    "Cannot start: its required node affinity has no term, which no node meets.");
  }
  if (const std::string what = not_planned(pod); !what.empty()) {
    return obstacle("NotPlannedYet",
                    "Waits: the pod asks for " + what +
                        ", which this version of Mainspring does not plan; another scheduler can.");
  }
  shape.gpu.models = split(pod.meta.annotation(annotation::kGpuModel), ',');
  for (const auto& [key, value] : pod.node_selector) {
    shape.node_requirements.push_back({key, model::SelectorOp::kIn, {value}});
  }
  if (!pod.node_terms.empty()) {
    const auto& labels = pod.node_terms[0].labels;
    shape.node_requirements.insert(shape.node_requirements.end(), labels.begin(), labels.end());
  }
  std::ranges::sort(shape.node_requirements);
  shape.tolerations = pod.tolerations;
  std::ranges::sort(shape.tolerations);
  return shape;
}

model::PodShape taken_by(const PodObject& pod, const Naming& naming, uint32_t gpus_max) {
  model::PodShape shape;
  shape.request[Resource::kPods] = 1;
  for (const auto& [name, amount] : pod.requests) {
    if (const auto resource = plain_resource(name)) {
      shape.request[*resource] = std::clamp<int64_t>(amount, 0, model::kAmountMax);
    } else if (names_gpu(naming, name) && amount > 0) {
      shape.gpu.resource = name;
      shape.gpu.count = static_cast<uint32_t>(std::min<int64_t>(amount, gpus_max));
    }
  }
  return shape;
}

Result<JobWishes> wishes_of(const PodObject& pod, const Naming& naming, uint32_t size) {
  JobWishes wishes;
  wishes.queue = pod.meta.annotation(annotation::kQueue);
  if (wishes.queue.empty()) {
    const auto mapped = naming.namespace_queues.find(pod.meta.namespace_name);
    wishes.queue = mapped == naming.namespace_queues.end() ? naming.default_queue : mapped->second;
  }
  const auto min_count = min_count_of(pod, size);
  if (!min_count) return tl::unexpected(min_count.error());
  wishes.min_count = *min_count;
  wishes.required_level = pod.meta.annotation(annotation::kRequiredTopology);
  wishes.preferred_level = pod.meta.annotation(annotation::kPreferredTopology);
  const std::pair<std::string_view, base::Duration*> spans[] = {
      {annotation::kCheckpointInterval, &wishes.checkpoint_interval},
      {annotation::kRestartTime, &wishes.restart_time},
      {annotation::kExpectedRun, &wishes.expected_run}};
  for (const auto& [key, span] : spans) {
    const auto read = duration_of(pod, key);
    if (!read) return tl::unexpected(read.error());
    *span = *read;
  }
  return wishes;
}

bool is_preemptible(const PodObject& pod) {
  const std::string_view said = pod.meta.annotation(annotation::kPreemptible);
  return pod.meta.controller ? said != "false" : said == "true";
}

}  // namespace mainspring::kube
