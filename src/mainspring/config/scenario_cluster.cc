// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "mainspring/config/scenario_fields.h"
#include "mainspring/config/scenario_parts.h"

namespace mainspring::config {
namespace {

using model::Resource;

std::vector<model::GpuSpec> read_gpus(const Section& node) {
  std::vector<model::GpuSpec> gpus;
  for (const Section& section : node.many("gpus", gpus_table())) {
    const int64_t count = section.amount("count");
    model::GpuSpec gpu{.resource = section.text("resource"),
                       .model = section.text("model"),
                       .memory_bytes = section.amount("memory")};
    for (int64_t i = 0; i < count && !section.reading().failed(); ++i) {
      gpu.id = "gpu-" + std::to_string(gpus.size());
      gpus.push_back(gpu);
    }
  }
  if (gpus.size() > model::kGpusPerNodeMax) node.report("gpus", "a node has at most 64 GPUs");
  return gpus;
}

std::vector<model::Taint> read_taints(const Section& node) {
  constexpr model::TaintEffect kEffects[] = {model::TaintEffect::kNoSchedule,
                                             model::TaintEffect::kPreferNoSchedule,
                                             model::TaintEffect::kNoExecute};
  std::vector<model::Taint> taints;
  for (const Section& section : node.many("taints", taint_table())) {
    taints.push_back({.key = section.text("key"),
                      .value = section.text("value"),
                      .effect = kEffects[section.choice("effect")]});
  }
  return taints;
}

// What listed and generated nodes have in common.
model::NodeSpec read_node_form(const Section& section) {
  model::NodeSpec node;
  node.allocatable[Resource::kCpuMilli] = section.amount("cpu");
  node.allocatable[Resource::kMemoryBytes] = section.amount("memory");
  node.allocatable[Resource::kEphemeralBytes] = section.amount("ephemeral_storage");
  node.allocatable[Resource::kPods] = section.amount("pods");
  node.labels = section.labels("labels");
  node.taints = read_taints(section);
  node.gpus = read_gpus(section);
  if (section.has("volumes_max")) {
    node.attachments_max.push_back({kVolumeDriver, section.amount("volumes_max")});
  }
  return node;
}

struct TreeLevel {
  std::string name;
  std::string label;  // empty for the nodes themselves
  int64_t count = 1;  // in one domain of the level before
};

std::string label_of_level(const model::CoreConfig& config, const std::string& name) {
  for (const model::TopologySpec& topology : config.topologies) {
    for (const model::Label& level : topology.levels) {
      if (level.key == name) return level.value;
    }
  }
  return {};
}

std::vector<TreeLevel> read_tree(const Section& section, const model::CoreConfig& config) {
  std::vector<TreeLevel> tree;
  for (const auto& [name, count] : section.counts("tree")) {
    TreeLevel level{.name = name, .label = label_of_level(config, name), .count = count};
    if (!tree.empty() && tree.back().name == model::kNodeLevel) {
      section.report("tree", "'node' is the last level of a tree");
    } else if (name != model::kNodeLevel && level.label.empty()) {
      section.report("tree", "no topology has the level '" + name + "'");
    }
    tree.push_back(std::move(level));
  }
  if (section.has("tree") && (tree.empty() || tree.back().name != model::kNodeLevel)) {
    section.report("tree", "expected 'node' as the last level");
  }
  return tree;
}

int64_t node_count(const Section& section, const std::vector<TreeLevel>& tree) {
  const auto most = static_cast<int64_t>(kScenarioNodesMax);
  if (tree.empty()) {
    if (!section.has("count")) section.report("count", "is missing; expected `count` or `tree`");
    return section.amount("count");
  }
  int64_t leaves = 1;
  for (const TreeLevel& level : tree) {
    leaves *= std::max<int64_t>(level.count, 1);
    if (leaves <= most) continue;
    section.report("tree", "has more than " + std::to_string(most) + " nodes");
    return most;
  }
  if (section.has("count") && section.amount("count") != leaves) {
    section.report("count",
                   "is not the number of nodes of the tree, which is " + std::to_string(leaves));
  }
  return leaves;
}

// The labels of the leaf with this number: each level's domain is named by its way from the top.
std::vector<model::Label> tree_labels(const std::vector<TreeLevel>& tree, const std::string& prefix,
                                      int64_t leaf, int64_t leaves) {
  std::vector<model::Label> labels;
  std::string way;
  for (const TreeLevel& level : tree) {
    if (level.name == model::kNodeLevel) break;
    leaves /= level.count;
    way += '-';
    way += std::to_string(leaf / leaves);
    leaf %= leaves;
    std::string value = prefix + level.name;
    value += way;
    labels.push_back({level.label, std::move(value)});
  }
  return labels;
}

class NodeList {
 public:
  explicit NodeList(std::vector<model::NodeSpec>& nodes) : nodes_(nodes) {}

  void add(const Section& section, std::string_view field, model::NodeSpec node) {
    gpus_ += node.gpus.size();
    if (nodes_.size() >= kScenarioNodesMax || gpus_ > kScenarioGpusMax) {
      section.report(field, "the cluster has more than " + std::to_string(kScenarioNodesMax) +
                                " nodes or " + std::to_string(kScenarioGpusMax) + " GPUs");
      return;
    }
    if (!names_.insert(node.name).second) {
      section.report(field, "there are two nodes with the name '" + node.name + "'");
      return;
    }
    if (auto ok = model::validate(node); !ok) section.report(field, ok.error().message);
    nodes_.push_back(std::move(node));
  }

 private:
  std::vector<model::NodeSpec>& nodes_;
  std::set<std::string> names_;
  size_t gpus_ = 0;
};

std::string numbered_name(const std::string& pattern, int64_t number) {
  const size_t at = pattern.find("{}");
  if (at == std::string::npos) return pattern;
  return pattern.substr(0, at) + std::to_string(number) + pattern.substr(at + 2);
}

void generate_nodes(const Section& section, const Scenario& scenario, NodeList& list) {
  const std::string pattern = section.text("name");
  if (!is_id(numbered_name(pattern, 0))) {
    section.report("name",
                   "is not a pattern; expected letters, digits, . _ - and {} for the number");
  }
  const std::vector<TreeLevel> tree = read_tree(section, scenario.config);
  const int64_t count = node_count(section, tree);
  if (count > 1 && pattern.find("{}") == std::string::npos) {
    section.report("name", "has no {} to become the number of the node");
  }
  const std::string prefix =
      section.has("domain_prefix") ? section.text("domain_prefix") + "-" : std::string();
  const model::NodeSpec form = read_node_form(section);
  for (int64_t i = 0; i < count && !section.reading().failed(); ++i) {
    model::NodeSpec node = form;
    node.name = numbered_name(pattern, i);
    for (model::Label& label : tree_labels(tree, prefix, i, count)) {
      const bool twice = std::any_of(form.labels.begin(), form.labels.end(),
                                     [&](const auto& other) { return other.key == label.key; });
      if (twice) section.report("labels", "'" + label.key + "' is also given by the tree");
      node.labels.push_back(std::move(label));
    }
    list.add(section, "name", std::move(node));
  }
}

}  // namespace

void read_cluster(const Section& cluster, Scenario& scenario) {
  NodeList list(scenario.nodes);
  for (const Section& section : cluster.many("generate", generated_nodes_table())) {
    generate_nodes(section, scenario, list);
  }
  for (const Section& section : cluster.many("nodes", node_table())) {
    model::NodeSpec node = read_node_form(section);
    node.name = section.text("name");
    node.schedulable = section.flag("schedulable");
    node.ready = section.flag("ready");
    if (section.reading().failed()) return;
    list.add(section, "name", std::move(node));
  }
  const auto openb = cluster.one("openb", openb_nodes_table());
  if (!openb) return;
  (void)openb->choice("nodes");
  if (cluster.has("generate") || cluster.has("nodes")) {
    cluster.report("openb", "stands alone; other nodes beside it have no meaning");
  }
}

}  // namespace mainspring::config
