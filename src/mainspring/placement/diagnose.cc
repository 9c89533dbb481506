// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/diagnose.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "mainspring/placement/domain_gap.h"
#include "mainspring/placement/gang_need.h"
#include "mainspring/placement/survey.h"

namespace mainspring::placement {
namespace {

using model::ClusterState;
using model::Job;
using model::LevelIx;
using model::Node;
using model::NodeTest;
using model::ReasonCode;
using model::Resource;
using model::Shape;
using model::Shortage;
using model::Verdict;
using model::VerdictKind;

ReasonCode code_of_barrier(NodeTest barrier) {
  switch (barrier) {
    case NodeTest::kNodeRequirements:
      return ReasonCode::kNodeRequirements;
    case NodeTest::kTaints:
      return ReasonCode::kTaints;
    case NodeTest::kGpuModel:
      return ReasonCode::kGpuModel;
    case NodeTest::kOutsideDomain:
      return ReasonCode::kDomainTooSmall;
    default:
      return ReasonCode::kRequestTooLarge;
  }
}

void add_shortage(std::vector<Shortage>& list, std::string what, int64_t amount) {
  if (amount > 0) list.push_back({std::move(what), amount});
}

class Diagnosis {
 public:
  Diagnosis(ClusterState& state, model::Placer& placer, model::JobIx job, const Verdict& coarse,
            const DiagnoseOptions& options)
      : state_(state),
        placer_(placer),
        job_index_(job),
        coarse_(coarse),
        options_(options),
        job_(state.job(job)),
        classes_(pod_classes(state, job_)) {}

  Verdict run();

 private:
  [[nodiscard]] const model::Inventory& inventory() const { return state_.inventory(); }
  [[nodiscard]] const Shape& shape(size_t pod_class) const {
    return inventory().shape(classes_[pod_class].shape);
  }
  [[nodiscard]] bool single() const { return job_.pods.size() == 1; }
  [[nodiscard]] RulesNow rules_now() const { return {rules_, !single()}; }
  void read_rules();

  std::optional<Verdict> names_unknown(const GangNeed& need) const;
  std::optional<Verdict> class_never(const GangNeed& need) const;
  std::optional<Verdict> class_not_now(const GangNeed& need) const;
  std::optional<Verdict> group_never(const GangNeed& need);
  std::optional<Verdict> group_not_now(const GangNeed& need);
  Verdict together(const GangNeed& need);

  [[nodiscard]] Verdict about_class(VerdictKind kind, ReasonCode code, size_t pod_class) const;
  Verdict about_group(VerdictKind kind, ReasonCode code, uint32_t group, const Gap& gap) const;
  void describe_nearest(Verdict& verdict, size_t pod_class) const;
  [[nodiscard]] std::string rule_text(const model::RuleView::Refusal& refusal) const;
  void count_outside(Verdict& verdict, uint32_t group, const GangNeed& need) const;
  [[nodiscard]] bool exact_by_counting() const;
  bool fits_emptied();

  ClusterState& state_;
  model::Placer& placer_;
  model::JobIx job_index_;
  const Verdict& coarse_;
  const DiagnoseOptions& options_;
  const Job& job_;
  std::vector<PodClass> classes_;
  std::vector<Survey> surveys_;
  model::RuleView rules_;
};

Verdict verdict_of(VerdictKind kind, ReasonCode code) {
  Verdict verdict;
  verdict.kind = kind;
  verdict.code = code;
  return verdict;
}

void Diagnosis::read_rules() {
  std::vector<model::ShapeIx> shapes;
  for (const PodClass& pods : classes_) shapes.push_back(pods.shape);
  rules_.begin(inventory(), shapes);
}

Verdict Diagnosis::run() {
  read_rules();
  const GangNeed from_start(state_, job_, classes_, Standing::kFromStart);
  if (auto found = names_unknown(from_start)) return *found;
  for (const PodClass& pods : classes_) {
    surveys_.push_back(survey(inventory(), pods, rules_now(), !single()));
  }
  if (surveys_.empty()) return coarse_;
  if (surveys_.front().nodes == 0) return verdict_of(VerdictKind::kNever, ReasonCode::kNoNodes);
  if (auto found = class_never(from_start)) return *found;
  if (!single()) {
    if (auto found = group_never(from_start)) return *found;
  }
  const GangNeed as_it_is(state_, job_, classes_, Standing::kAsItIs);
  if (auto found = class_not_now(as_it_is)) return *found;
  if (!single()) {
    if (auto found = group_not_now(as_it_is)) return *found;
  }
  return together(as_it_is);
}

std::optional<Verdict> Diagnosis::names_unknown(const GangNeed& need) const {
  for (uint32_t i = 0; i < job_.groups.size(); ++i) {
    const model::Group& group = job_.groups[i];
    const std::string& level = inventory().name(group.required_level_name);
    if (!need.necessary(i) || level.empty() || group.required_level.valid()) continue;
    Verdict verdict = verdict_of(VerdictKind::kNever, ReasonCode::kUnknownLevel);
    verdict.nearest_miss = {"cluster", {{"level:" + level, 1}}};
    if (job_.groups.size() > 1) verdict.culprit = inventory().name(group.name);
    return verdict;
  }
  for (size_t i = 0; i < classes_.size(); ++i) {
    if (need.pods(0, i) == 0 || shape(i).gpu_count == 0) continue;
    if (shape(i).gpu_resource != Shape::kNoGpuResource) continue;
    Verdict verdict = verdict_of(VerdictKind::kNever, ReasonCode::kUnknownGpuResource);
    verdict.nearest_miss = {"cluster", {{shape(i).spec.gpu.resource, shape(i).gpu_count}}};
    if (!single()) verdict.culprit = state_.pod(classes_[i].sample).id;
    return verdict;
  }
  return std::nullopt;
}

std::optional<Verdict> Diagnosis::class_never(const GangNeed& need) const {
  for (size_t i = 0; i < classes_.size(); ++i) {
    if (need.pods(0, i) == 0 || surveys_[i].capable > 0) continue;
    return about_class(VerdictKind::kNever, code_of_barrier(surveys_[i].barrier), i);
  }
  // No pod of the job at all: then it does not matter which of them are optional.
  const bool none = std::ranges::all_of(surveys_, [](const Survey& s) { return s.capable == 0; });
  if (!none || classes_.size() == kClassesMax) return std::nullopt;
  return about_class(VerdictKind::kNever, code_of_barrier(surveys_.front().barrier), 0);
}

std::optional<Verdict> Diagnosis::class_not_now(const GangNeed& need) const {
  const bool gang_free_in_sum =
      single() || GapSearch(state_, job_, classes_, surveys_, need).free_in_sum(0);
  const auto blocked = [&](size_t i) {
    if (surveys_[i].takes_now > 0) return std::optional<Verdict>();
    const auto failed = [&](NodeTest test) {
      return surveys_[i].failed[static_cast<size_t>(test)] > 0;
    };
    ReasonCode code = ReasonCode::kNotEnoughFree;
    if (surveys_[i].capable_usable == 0) {
      code = ReasonCode::kNodesUnavailable;
    } else if (failed(NodeTest::kNear) || failed(NodeTest::kApart) || failed(NodeTest::kSpread)) {
      code = ReasonCode::kPodRules;
    } else if (failed(NodeTest::kVolumes)) {
      code = ReasonCode::kVolumeLimit;
    } else if (enough_in_sum(surveys_[i], shape(i)) && gang_free_in_sum) {
      code = ReasonCode::kFragmented;
    }
    return std::optional(about_class(VerdictKind::kNotNow, code, i));
  };
  for (size_t i = 0; i < classes_.size(); ++i) {
    if (need.pods(0, i) == 0) continue;
    if (auto verdict = blocked(i)) return verdict;
  }
  const bool none = std::ranges::all_of(surveys_, [](const Survey& s) { return s.takes_now == 0; });
  // The smallest pod comes closest to starting.
  return none ? blocked(classes_.size() - 1) : std::nullopt;
}

std::optional<Verdict> Diagnosis::group_never(const GangNeed& need) {
  const GapSearch search(state_, job_, classes_, surveys_, need);
  for (uint32_t i = static_cast<uint32_t>(job_.groups.size()); i-- > 0;) {
    if (!search.bound(i)) continue;
    const Gap gap = search.nearest(i, Room::kEmptied);
    if (gap.none()) continue;
    const bool domain = job_.groups[i].required_level.valid();
    return about_group(VerdictKind::kNever,
                       domain ? ReasonCode::kDomainTooSmall : ReasonCode::kClusterTooSmall, i, gap);
  }
  // In an empty cluster rules have another answer, which would say nothing.
  if (rules_.any() || exact_by_counting() || fits_emptied()) return std::nullopt;
  // Each bound alone could be kept, not all of them together.
  const auto required = std::ranges::find_if(
      job_.groups, [](const model::Group& group) { return group.required_level.valid(); });
  const bool domain = required != job_.groups.end();
  const auto group = domain ? static_cast<uint32_t>(required - job_.groups.begin()) : 0;
  return about_group(VerdictKind::kNever,
                     domain ? ReasonCode::kDomainTooSmall : ReasonCode::kClusterTooSmall, group,
                     search.nearest(group, Room::kEmptied));
}

std::optional<Verdict> Diagnosis::group_not_now(const GangNeed& need) {
  const GapSearch search(state_, job_, classes_, surveys_, need);
  for (uint32_t i = static_cast<uint32_t>(job_.groups.size()); i-- > 0;) {
    if (!search.bound(i)) continue;
    const Gap gap = search.nearest(i, Room::kFreeNow);
    if (gap.none()) continue;
    ReasonCode code = search.free_in_sum(i) ? ReasonCode::kFragmented : ReasonCode::kNotEnoughFree;
    if (!search.nearest(i, Room::kEmptiedUsable).none()) code = ReasonCode::kNodesUnavailable;
    Verdict verdict = about_group(VerdictKind::kNotNow, code, i, gap);
    count_outside(verdict, i, need);
    return verdict;
  }
  return std::nullopt;
}

// Every bound alone is kept; what is missing is a way to keep all of them at once.
Verdict Diagnosis::together(const GangNeed& need) {
  ReasonCode code = rules_.any() ? ReasonCode::kPodRules : ReasonCode::kFragmented;
  if (coarse_.code == ReasonCode::kSearchCutShort) code = ReasonCode::kSearchCutShort;
  if (single()) return about_class(VerdictKind::kNotNow, code, 0);
  const GapSearch search(state_, job_, classes_, surveys_, need);
  uint32_t group = 0;
  for (uint32_t i = 0; i < job_.groups.size(); ++i) {
    if (search.bound(i) && job_.groups[i].required_level.valid()) group = i;
  }
  return about_group(VerdictKind::kNotNow, code, group, search.nearest(group, Room::kFreeNow));
}

Verdict Diagnosis::about_class(VerdictKind kind, ReasonCode code, size_t pod_class) const {
  Verdict verdict = verdict_of(kind, code);
  verdict.failed_nodes = surveys_[pod_class].failed;
  if (!single()) verdict.culprit = state_.pod(classes_[pod_class].sample).id;
  describe_nearest(verdict, pod_class);
  return verdict;
}

std::string Diagnosis::rule_text(const model::RuleView::Refusal& refusal) const {
  const std::string& tag = inventory().tags().name(refusal.tag);
  switch (refusal.kind) {
    case model::PodRuleKind::kNear:
      return "near:" + tag;
    case model::PodRuleKind::kApart:
      return "apart:" + tag;
    case model::PodRuleKind::kSpread:
      break;
  }
  return "spread:" + tag;
}

// What the nearest node lacks, in words and amounts.
void Diagnosis::describe_nearest(Verdict& verdict, size_t pod_class) const {
  const Survey& seen = surveys_[pod_class];
  if (seen.nearest == Survey::kNone) return;
  const Node& node = inventory().nodes()[seen.nearest];
  const Shape& wanted = shape(pod_class);
  verdict.nearest_miss.domain = node.name;
  std::vector<Shortage>& lacks = verdict.nearest_miss.short_of;
  const NodeLook look = look_at(inventory(), node, wanted, classes_[pod_class].levels);
  if (!look.barrier && !node.usable()) {
    if (!node.ready) lacks.push_back({"ready", 1});
    if (!node.schedulable) lacks.push_back({"schedulable", 1});
  }
  if (look.barrier == NodeTest::kNodeRequirements) {
    add_label_shortages(inventory(), node, wanted, lacks);
  } else if (look.barrier == NodeTest::kTaints) {
    add_taint_shortages(inventory(), node, wanted, lacks);
  } else if (look.barrier == NodeTest::kGpuModel) {
    lacks.push_back({"gpu-model", 1});
  } else if (look.barrier == NodeTest::kOutsideDomain) {
    for (const LevelIx level : classes_[pod_class].levels) {
      if (level == inventory().node_level() || node.domains[level.slot].valid()) continue;
      lacks.push_back({"level:" + inventory().name(inventory().levels()[level.slot].name), 1});
    }
  }
  add_shortage(lacks, "gpu", look.deficit.gpus);
  add_shortage(lacks, "gpu-milli", look.deficit.gpu_milli);
  add_shortage(lacks, "gpu-memory", look.deficit.gpu_memory_bytes);
  for (size_t i = 0; i < model::kResourceCount; ++i) {
    add_shortage(lacks, std::string(model::to_string(static_cast<Resource>(i))),
                 look.deficit.resources.amounts[i]);
  }
  if (!look.first_failed) {
    const auto refusal = refused_by_rules(rules_now(), classes_[pod_class].shape, seen.nearest);
    if (refusal) lacks.push_back({rule_text(*refusal), 1});
  }
  if (!look.barrier || look.barrier == NodeTest::kCapacity) {
    add_besides_shortages(inventory(), node, wanted, look.barrier.has_value(), lacks);
  }
}

Verdict Diagnosis::about_group(VerdictKind kind, ReasonCode code, uint32_t group,
                               const Gap& gap) const {
  Verdict verdict = verdict_of(kind, code);
  verdict.failed_nodes = surveys_[gap.tightest_class].failed;
  if (job_.groups.size() > 1) verdict.culprit = inventory().name(job_.groups[group].name);
  verdict.nearest_miss.domain = gap.domain;
  std::vector<Shortage>& lacks = verdict.nearest_miss.short_of;
  add_shortage(lacks, "places", gap.places);
  add_shortage(lacks, "gpu", gap.gpus);
  add_shortage(lacks, "gpu-milli", gap.gpu_milli);
  for (size_t i = 0; i < model::kResourceCount; ++i) {
    add_shortage(lacks, std::string(model::to_string(static_cast<Resource>(i))),
                 gap.resources.amounts[i]);
  }
  return verdict;
}

// Nodes that would take a pod, but lie where the whole group finds no room.
void Diagnosis::count_outside(Verdict& verdict, uint32_t group, const GangNeed& need) const {
  if (!job_.groups[group].required_level.valid()) return;
  const GapSearch search(state_, job_, classes_, surveys_, need);
  const size_t tightest = search.nearest(group, Room::kFreeNow).tightest_class;
  verdict.failed_nodes[static_cast<size_t>(NodeTest::kOutsideDomain)] +=
      surveys_[tightest].takes_now;
}

// For one class in a chain of groups with one level the bounds are the truth.
bool Diagnosis::exact_by_counting() const {
  const bool chain = std::ranges::all_of(job_.groups, [](const model::Group& group) {
    return group.children.size() + (group.pods.empty() ? 0 : 1) <= 1;
  });
  const auto levels = std::ranges::count_if(
      job_.groups, [](const model::Group& group) { return group.required_level.valid(); });
  return classes_.size() == 1 && chain && levels <= 1;
}

bool Diagnosis::fits_emptied() {
  size_t holding = 0;
  for (const model::Pod& pod : state_.pods()) holding += pod.alive && pod.holds() ? 1 : 0;
  if (holding > options_.emptied_pods_max) return true;
  model::Trial trial(state_);
  empty_cluster(trial);
  const Verdict verdict = placer_.place(
      trial, {.job = job_index_, .when = {state_.now(), base::Instant::never()}, .grow = false});
  // A search that gave up has not said "no".
  return verdict.kind == VerdictKind::kNow || verdict.code == ReasonCode::kSearchCutShort;
}

}  // namespace

void empty_cluster(model::Trial& trial) {
  const ClusterState& state = trial.state();
  const model::Inventory& inventory = state.inventory();
  for (uint32_t slot = 0; slot < state.pods().size(); ++slot) {
    const model::Pod& pod = state.pods()[slot];
    if (!pod.alive || !pod.holds() || !inventory.node(pod.node).listed) continue;
    trial.vacate(state.pod_index(slot));
  }
  for (const uint32_t slot : inventory.nodes_by_rank()) {
    const Node& node = inventory.nodes()[slot];
    if (!node.listed) continue;
    if (!node.usable()) trial.set_usable(inventory.index_of(slot), true, true);
    for (size_t i = 0; i < node.gpus.size(); ++i) {
      const model::Gpu& gpu = node.gpus[i];
      if (!gpu.healthy || gpu.foreign_memory_bytes > 0) {
        trial.set_gpu(inventory.index_of(slot), i, true, 0);
      }
    }
  }
}

Verdict diagnose(ClusterState& state, model::Placer& placer, model::JobIx job,
                 const Verdict& coarse, const DiagnoseOptions& options) {
  if (coarse.kind == VerdictKind::kNow) return coarse;
  return Diagnosis(state, placer, job, coarse, options).run();
}

}  // namespace mainspring::placement
