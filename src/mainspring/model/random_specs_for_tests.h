// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "mainspring/base/rng.h"
#include "mainspring/model/event.h"

// For tests: random jobs, nodes, queues and configurations. Few names, so that they meet.

namespace mainspring::model {

class RandomSpecs {
 public:
  explicit RandomSpecs(uint64_t seed) : rng_(seed) {}

  JobSpec job() {
    JobSpec spec{.id = job_name(),
                 .queue = queue_name(),
                 .tenant = rng_.chance(1, 2) ? "red" : "",
                 .priority = static_cast<int32_t>(rng_.between(-1, 1)),
                 .preemptible = !rng_.chance(1, 4),
                 .submitted_at = base::Instant{rng_.between(0, 9999)},
                 .expected_run = base::seconds(rng_.between(0, 9)),
                 .checkpoint_interval = base::seconds(rng_.between(0, 1) * 5)};
    spec.groups.push_back({.name = "root", .required_level = level()});
    const size_t groups = rng_.below(3);
    for (size_t i = 0; i < groups; ++i) {
      spec.groups.push_back({.name = "g" + std::to_string(i),
                             .parent = 0,
                             .min_count = 0,
                             .preferred_level = level()});
    }
    for (int i = 0; i < 2; ++i) spec.shapes.push_back(shape());
    const size_t pods = 1 + rng_.below(4);
    for (size_t i = 0; i < pods; ++i) {
      spec.pods.push_back({.id = spec.id + "-" + std::to_string(rng_.below(2) + 2 * i),
                           .group = static_cast<uint32_t>(rng_.below(spec.groups.size())),
                           .shape = static_cast<uint32_t>(rng_.below(2))});
    }
    return spec;
  }

  NodeSpec node() {
    NodeSpec spec{
        .name = node_name(), .schedulable = !rng_.chance(1, 8), .ready = !rng_.chance(1, 8)};
    spec.allocatable.amounts = {8000, 1 << 20, 1 << 20, 8};
    spec.labels.push_back({"rack", "r" + std::to_string(rng_.below(3))});
    if (rng_.chance(3, 4)) spec.labels.push_back({"zone", "z" + std::to_string(rng_.below(2))});
    if (rng_.chance(1, 8)) spec.taints.push_back({"keep", "out", TaintEffect::kNoExecute});
    if (rng_.chance(3, 4)) spec.others.push_back({"hca", rng_.between(0, 4)});
    if (rng_.chance(1, 2)) spec.others.push_back({"licence", 1});
    if (rng_.chance(1, 2)) spec.attachments_max.push_back({"disk", rng_.between(0, 2)});
    const size_t gpus = rng_.below(5);
    for (size_t i = 0; i < gpus; ++i) {
      spec.gpus.push_back({.id = "gpu" + std::to_string((i + rng_.below(2)) * 2 + i % 2),
                           .resource = rng_.chance(1, 9) ? "amd.com/gpu" : "nvidia.com/gpu",
                           .model = rng_.chance(1, 4) ? "A" : "B",
                           .memory_bytes = 1000 + rng_.between(0, 1) * 1000,
                           .healthy = !rng_.chance(1, 9)});
      if (i > 0 && spec.gpus[i].id == spec.gpus[i - 1].id) spec.gpus.pop_back(), i = gpus;
    }
    return spec;
  }

  QueueSpec queue() {
    QueueSpec spec{.name = queue_name(), .priority = static_cast<int32_t>(rng_.between(0, 1))};
    if (rng_.chance(1, 2)) spec.parent = queue_name();  // at times a circle, or not there
    QueueResource gpu{.name = "gpu", .quota = rng_.between(-1, 4) * 1000};
    if (rng_.chance(1, 4)) gpu = {.name = "gpu", .quota_ppm = 500'000};
    if (rng_.chance(1, 4)) gpu.limit = 4000;
    gpu.weight = rng_.between(0, 9);
    spec.resources.push_back(gpu);
    if (rng_.chance(1, 4)) spec.resources.push_back({.name = "gpu:B", .quota = 1000});
    if (rng_.chance(1, 8)) spec.tenants = {"red", "blue"};
    return spec;
  }

  PodShape shape() {
    PodShape shape;
    shape.request.amounts = {rng_.between(0, 3) * 1000, rng_.between(0, 2) * 1000, 0, 1};
    switch (rng_.below(4)) {
      case 0:
        break;
      case 1:
        shape.gpu.count = static_cast<uint32_t>(rng_.between(1, 2));
        break;
      case 2:
        shape.gpu = {.count = 1, .milli = static_cast<int32_t>(rng_.between(1, 9) * 100)};
        break;
      default:
        shape.gpu = {.count = 1, .memory_bytes = rng_.between(1, 3) * 300};
        break;
    }
    if (rng_.chance(1, 8)) shape.gpu.models = {"A", "C"};
    if (rng_.chance(1, 8)) shape.node_requirements.push_back({"zone", SelectorOp::kIn, {"z1"}});
    if (rng_.chance(1, 8)) shape.tolerations.push_back({.key = "keep", .exists = true});
    if (rng_.chance(1, 4)) shape.others.push_back({"hca", rng_.between(1, 2)});
    if (rng_.chance(1, 8)) shape.others.push_back({"licence", 1});
    if (rng_.chance(1, 8)) {
      shape.node_choices.push_back({{{{"rack", SelectorOp::kIn, {"r0", "r1"}}},
                                     {{kNodeNameKey, SelectorOp::kIn, {node_name()}}}}});
    }
    if (rng_.chance(1, 4)) {
      shape.attachments.push_back({"disk", "volume-" + std::to_string(rng_.below(4))});
    }
    if (rng_.chance(1, 2)) shape.tags.push_back("red");
    if (rng_.chance(1, 4)) shape.tags.push_back("round");
    if (rng_.chance(1, 4)) shape.rules.push_back(rule());
    return shape;
  }

  PodRule rule() {
    static constexpr const char* kRuleLevels[] = {kNodeLevel, kClusterLevel, "rack", "zone"};
    PodRule rule{.kind = static_cast<PodRuleKind>(rng_.below(3)),
                 .tag = rng_.chance(1, 2) ? "red" : "round",
                 .level = kRuleLevels[rng_.below(4)]};
    if (rule.kind != PodRuleKind::kSpread) return rule;
    rule.max_skew = static_cast<int32_t>(rng_.between(1, 2));
    rule.min_domains = static_cast<int32_t>(rng_.between(1, 3));
    rule.honor_requirements = rng_.chance(1, 2);
    rule.honor_taints = rng_.chance(1, 2);
    return rule;
  }

  std::string level() {
    static constexpr const char* kLevels[] = {"", "rack", "zone", "node", "unheard-of"};
    return kLevels[rng_.below(5)];
  }

  CoreConfig config() {
    CoreConfig config;
    if (rng_.chance(3, 4)) {
      config.topologies.push_back({"wide", {{"zone", "zone"}, {"rack", "rack"}}});
    } else {
      config.topologies.push_back({"flat", {{"rack", "rack"}}});
    }
    if (rng_.chance(1, 4)) config.gpu_resources = {"nvidia.com/gpu", "other.example/gpu"};
    config.gang_start_timeout = base::seconds(rng_.between(30, 90));
    if (rng_.chance(3, 4)) config.usage_half_life = base::seconds(rng_.between(1, 90));
    return config;
  }

  base::Rng& rng() { return rng_; }
  std::string job_name() { return "j" + std::to_string(rng_.below(8)); }
  std::string node_name() { return "n" + std::to_string(rng_.below(6)); }
  std::string queue_name() { return "q" + std::to_string(rng_.below(4)); }

 private:
  base::Rng rng_;
};

}  // namespace mainspring::model
