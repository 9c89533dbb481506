// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mainspring/engine/remedy.h"
#include "mainspring/model/cluster_state.h"
#include "mainspring/model/placer.h"
#include "mainspring/placement/gang_need.h"
#include "mainspring/placement/survey.h"

// Looks for changes after which a job would start, and checks each in a Trial.

namespace mainspring::engine {

struct RemedyOptions {
  int64_t trials_max = 4'000;  // what-ifs in all; what is not found by then is not offered
  int64_t nodes_added_max = 256;
  size_t waited_pods_max = 64;  // a longer list tells nobody anything
  size_t choices_max = 16;      // nodes, devices, keys and groups tried of each kind
};

class RemedySearch {
 public:
  // `blocked`: what a group is short of, as the verdict has it. No Trial may be open.
  RemedySearch(model::ClusterState& state, model::Placer& placer, model::JobIx job,
               const model::Verdict& verdict, const RemedyOptions& options);

  // Every remedy found, in the order of kinds. Without words yet. O(trials × placement).
  std::vector<Remedy> find();

 private:
  using Attempt = std::function<Remedy(int64_t)>;

  // Whether the job starts with the remedy. False when the trials are used up.
  bool starts(const Remedy& remedy);
  // Keeps the remedy if it helps and is the weakest of its kind.
  bool offer(const Remedy& remedy);
  // The smallest number in (low, high] with which the remedy helps; it does with `high`, and does
  // not with `low`.
  int64_t least(int64_t low, int64_t high, const Attempt& attempt);
  int64_t most(int64_t low, int64_t high, const Attempt& attempt);
  void drop_needless_targets(Remedy& remedy);
  // Lowers each amount of a remedy that helps to what is needed.
  void shrink(Remedy& remedy);

  // Changes of the cluster (remedy_cluster.cc).
  void more_on_node();
  bool more_on(uint32_t node_slot);
  void add_nodes();
  bool add_nodes_like(uint32_t node_slot);
  void new_node();
  [[nodiscard]] Remedy whole_job_on(const std::string& node, bool gpus) const;
  void make_available();
  void repair_gpu();
  void wait_for();
  [[nodiscard]] std::vector<model::PodIx> pods_by_end(bool near_only) const;
  [[nodiscard]] std::vector<uint32_t> near_nodes() const;
  [[nodiscard]] bool is_near(const model::Node& node) const;

  // Changes of the job (remedy_job.cc).
  void lower_request();
  bool lower_class(size_t pod_class);
  void lower_minimum();
  void widen_level();
  void drop_selectors();
  void drop_gpu_wishes();
  void tolerate_taints();

  [[nodiscard]] const model::Inventory& inventory() const { return state_.inventory(); }
  [[nodiscard]] const model::Job& job() const { return state_.job(job_); }

  model::ClusterState& state_;
  model::Placer& placer_;
  model::JobIx job_;
  const model::Verdict& verdict_;
  const RemedyOptions& options_;
  std::vector<placement::PodClass> classes_;
  std::vector<placement::Survey> surveys_;
  std::vector<Remedy> found_;
  int64_t trials_left_;
};

}  // namespace mainspring::engine
