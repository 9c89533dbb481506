// SPDX-License-Identifier: Apache-2.0
#include "mainspring/model/spec.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "mainspring/model/spec_checks.h"

namespace mainspring::model {
namespace {

using base::invalid;
using base::Status;

// Of jobs and pods: a namespace, a kind and a name of the longest that there are fit in.
constexpr size_t kIdLengthMax = 500;
constexpr size_t kPodsPerJobMax = 100'000;
constexpr size_t kGroupsPerJobMax = 20'000;

// As the names of queues are, see queue_spec.cc.
Status check_ascii(std::string_view field, std::string_view name) {
  const bool ascii = std::ranges::all_of(
      name, [](char character) { return static_cast<unsigned char>(character) < 0x80; });
  if (!ascii) return invalid(std::string(field) + " has a character outside ASCII");
  return {};
}

// As in the list of a queue, where spaces are allowed; empty: nobody.
Status check_tenant(std::string_view tenant) {
  if (tenant.size() > kNameLengthMax) return invalid("job.tenant is longer than 253 characters");
  const bool printable = std::ranges::all_of(tenant, [](char character) {
    return static_cast<unsigned char>(character) >= 0x20 && character != 0x7f;
  });
  if (!printable) return invalid("job.tenant has a control character");
  return check_ascii("job.tenant", tenant);
}

Status check_groups(const JobSpec& job) {
  if (job.groups.empty()) return invalid("groups is empty; a job has a root group");
  if (job.groups.size() > kGroupsPerJobMax) return invalid("groups has more than 20,000 entries");
  std::vector<uint32_t> children(job.groups.size(), 0);
  for (size_t i = 0; i < job.groups.size(); ++i) {
    const int32_t parent = job.groups[i].parent;
    if ((i == 0) != (parent == -1)) {
      return invalid("groups[" + std::to_string(i) + "].parent: only the first group is the root");
    }
    if (i == 0) continue;
    if (parent < 0 || static_cast<size_t>(parent) >= i) {
      return invalid("groups[" + std::to_string(i) + "].parent does not name an earlier group");
    }
    ++children[static_cast<size_t>(parent)];
  }
  for (const PodSpec& pod : job.pods) ++children[pod.group];
  for (size_t i = 0; i < job.groups.size(); ++i) {
    if (!job.pods_awaited && job.groups[i].min_count > children[i]) {
      return invalid("groups[" + std::to_string(i) + "].min_count is " +
                     std::to_string(job.groups[i].min_count) + ", but the group has only " +
                     std::to_string(children[i]) + " children");
    }
  }
  return {};
}

}  // namespace

base::Duration retry_backoff(const CoreConfig& config, uint32_t failed) {
  base::Duration wait = config.retry_backoff_first;
  for (uint32_t i = 0; i < failed && wait < config.retry_backoff_max; ++i) wait.ms *= 2;
  return std::min(wait, config.retry_backoff_max);
}

Status validate(const NodeSpec& node) {
  if (auto ok = check_name("node.name", node.name); !ok) return ok;
  if (auto ok = check_resources("node.allocatable", node.allocatable); !ok) return ok;
  if (auto ok = check_named("node.others", node.others, 0); !ok) return ok;
  if (auto ok = check_named("node.attachments_max", node.attachments_max, 0); !ok) return ok;
  const auto by_name = [](const Label& label) { return label.key == kNodeNameKey; };
  if (std::ranges::any_of(node.labels, by_name)) {
    return invalid("node " + node.name + " has a label @name, which stands for its own name");
  }
  if (node.gpus.size() > kGpusPerNodeMax) {
    return invalid("node " + node.name + " has more than 64 GPUs");
  }
  std::set<std::string_view> seen;
  for (const GpuSpec& gpu : node.gpus) {
    if (auto ok = check_name("node.gpus.id", gpu.id); !ok) return ok;
    if (auto ok = check_amount("node.gpus.memory_bytes", gpu.memory_bytes); !ok) return ok;
    if (!seen.insert(gpu.id).second) {
      return invalid("node " + node.name + " has two GPUs with the id " + gpu.id);
    }
  }
  return {};
}

Status validate(const JobSpec& job) {
  if (auto ok = check_name("job.id", job.id, kIdLengthMax); !ok) return ok;
  if (auto ok = check_name("job.queue", job.queue); !ok) return ok;
  if (auto ok = check_ascii("job.queue", job.queue); !ok) return ok;
  if (auto ok = check_tenant(job.tenant); !ok) return ok;
  if (job.priority > kPriorityMax || job.priority < -kPriorityMax) {
    return invalid("job.priority is not in -1,000,000,000..1,000,000,000");
  }
  if (job.checkpoint_interval.ms < 0) return invalid("job.checkpoint_interval is negative");
  if (job.restart_time.ms < 0) return invalid("job.restart_time is negative");
  if (job.pods.size() > kPodsPerJobMax) return invalid("pods has more than 100,000 entries");
  if (job.expected_run.ms < 0) return invalid("expected_run is negative");
  for (const PodShape& shape : job.shapes) {
    if (auto ok = validate(shape); !ok) return ok;
  }
  std::set<std::string_view> seen;
  for (const PodSpec& pod : job.pods) {
    if (auto ok = check_name("pod.id", pod.id, kIdLengthMax); !ok) return ok;
    if (pod.group >= job.groups.size()) return invalid("pod " + pod.id + ": no such group");
    if (pod.shape >= job.shapes.size()) return invalid("pod " + pod.id + ": no such shape");
    if (!seen.insert(pod.id).second) return invalid("two pods have the id " + pod.id);
  }
  return check_groups(job);
}

Status validate(const CoreConfig& config) {
  std::set<std::string_view> levels{kNodeLevel};
  for (const TopologySpec& topology : config.topologies) {
    if (auto ok = check_name("topologies.name", topology.name); !ok) return ok;
    if (topology.levels.empty()) return invalid("topology " + topology.name + " has no level");
    for (const Label& level : topology.levels) {
      if (auto ok = check_name("topologies.levels.name", level.key); !ok) return ok;
      if (auto ok = check_name("topologies.levels.label", level.value); !ok) return ok;
      if (!levels.insert(level.key).second) {
        return invalid("two topology levels have the name " + level.key);
      }
    }
  }
  if (config.gpu_resources.size() >= 255) return invalid("gpu_resources has more than 254 names");
  if (config.gang_start_timeout.ms <= 0) return invalid("gang_start_timeout is not positive");
  if (config.retry_backoff_first.ms <= 0) return invalid("retry_backoff_first is not positive");
  if (config.retry_backoff_max < config.retry_backoff_first) {
    return invalid("retry_backoff_max is below retry_backoff_first");
  }
  if (config.usage_half_life.ms < 0) return invalid("usage_half_life is negative");
  if (config.promise_timeout.ms <= 0) return invalid("promise_timeout is not positive");
  if (config.displacements_max < 0) return invalid("displacements_max is negative");
  if (config.displacements_window.ms < 0) return invalid("displacements_window is negative");
  if (config.consolidate_lost_max.ms < 0) return invalid("consolidate_lost_max is negative");
  return {};
}

}  // namespace mainspring::model
