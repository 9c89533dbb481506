// SPDX-License-Identifier: Apache-2.0
// Verdicts in words.
#include <algorithm>
#include <array>

#include "mainspring/engine/amount_text.h"
#include "mainspring/engine/explain.h"
#include "mainspring/engine/queue_sentence.h"
#include "mainspring/placement/gang_need.h"

namespace mainspring::engine {
namespace {

using model::ClusterState;
using model::Job;
using model::NodeTest;
using model::ReasonCode;
using model::Shape;
using model::Shortage;
using model::Verdict;
using model::VerdictKind;

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

// How many nodes fail a test, as the end of a sentence: for one node, and for several.
struct TestText {
  const char* one;
  const char* several;
};
constexpr std::array<TestText, model::kNodeTestCount> kTestTexts = {{
    {"is cordoned or not ready", "are cordoned or not ready"},
    {"lacks a label that it requires", "lack a label that it requires"},
    {"has a taint that it does not tolerate", "have a taint that it does not tolerate"},
    {"has no GPU of the kind it asks for", "have no GPU of the kind it asks for"},
    {"has too few GPUs even when empty", "have too few GPUs even when empty"},
    {"is too small even when empty", "are too small even when empty"},
    {"has too little GPU free", "have too little GPU free"},
    {"has too little CPU free", "have too little CPU free"},
    {"has too little memory free", "have too little memory free"},
    {"has too little ephemeral storage free", "have too little ephemeral storage free"},
    {"has no pod slot free", "have no pod slot free"},
    {"has too little free of another resource", "have too little free of another resource"},
    {"can have no more volumes attached", "can have no more volumes attached"},
    {"is not near to a pod that it must be near to",
     "are not near to a pod that it must be near to"},
    {"is too close to a pod that it must be apart from",
     "are too close to a pod that it must be apart from"},
    {"would have too many of the pods that are to be spread",
     "would have too many of the pods that are to be spread"},
    {"would take a pod, but not the whole group around it",
     "would take a pod, but not the whole group around them"},
}};

std::string counts_text(const Verdict& verdict, const ClusterState& state) {
  int64_t nodes = 0;
  for (const model::Node& node : state.inventory().nodes()) nodes += node.listed ? 1 : 0;
  std::vector<size_t> tests;
  for (size_t i = 0; i < verdict.failed_nodes.size(); ++i) {
    if (verdict.failed_nodes[i] > 0) tests.push_back(i);
  }
  if (tests.empty()) return "";
  std::ranges::stable_sort(tests, std::greater<>(),
                           [&](size_t test) { return verdict.failed_nodes[test]; });
  std::string text = " Of " + counted(nodes, "node") + ", ";
  for (size_t i = 0; i < tests.size(); ++i) {
    const int64_t count = verdict.failed_nodes[tests[i]];
    const TestText& phrase = kTestTexts[tests[i]];
    if (i > 0) text += i + 1 == tests.size() ? " and " : ", ";
    text += std::to_string(count) + " " + (count == 1 ? phrase.one : phrase.several);
  }
  return text + ".";
}

class Teller {
 public:
  Teller(const Verdict& verdict, const ClusterState& state, const Job& job)
      : verdict_(verdict), state_(state), job_(job) {}

  [[nodiscard]] std::string tell() const;

 private:
  [[nodiscard]] const Shape& shape() const;
  [[nodiscard]] const Shortage* shortage(std::string_view what) const;
  [[nodiscard]] bool about_places() const { return verdict_.culprit.empty() ? group_ok() : !pod(); }
  [[nodiscard]] bool group_ok() const { return job_.pods.size() > 1; }
  [[nodiscard]] bool pod() const;
  [[nodiscard]] uint32_t group() const;
  [[nodiscard]] std::string subject() const;
  [[nodiscard]] std::string request(std::string_view what) const;
  [[nodiscard]] int64_t requested(std::string_view what) const;
  [[nodiscard]] std::string facts(std::string_view prefix) const;
  [[nodiscard]] std::string too_large() const;
  [[nodiscard]] std::string places(bool ever) const;
  [[nodiscard]] std::string one_node() const;
  [[nodiscard]] std::string by_rules() const;
  [[nodiscard]] std::string not_now() const;

  const Verdict& verdict_;
  const ClusterState& state_;
  const Job& job_;
};

bool Teller::pod() const {
  const model::PodIx index = state_.find_pod(verdict_.culprit);
  return index.valid() && &state_.job(state_.pod(index).job) == &job_;
}

const Shape& Teller::shape() const {
  const model::PodIx index = pod() ? state_.find_pod(verdict_.culprit) : job_.pods.front();
  return state_.inventory().shape(state_.pod(index).shape);
}

uint32_t Teller::group() const {
  for (uint32_t i = 0; i < job_.groups.size(); ++i) {
    if (state_.inventory().name(job_.groups[i].name) == verdict_.culprit) return i;
  }
  return 0;
}

const Shortage* Teller::shortage(std::string_view what) const {
  const auto& list = verdict_.nearest_miss.short_of;
  const auto found = std::ranges::find(list, what, &Shortage::what);
  return found == list.end() ? nullptr : &*found;
}

std::string Teller::subject() const {
  return pod() && job_.pods.size() > 1 ? "pod " + verdict_.culprit : "it";
}

int64_t Teller::requested(std::string_view what) const {
  const Shape& wanted = shape();
  if (what == "gpu") return wanted.gpu_count;
  if (what == "gpu-milli") return wanted.gpu_milli;
  if (what == "gpu-memory") return wanted.gpu_memory_bytes;
  for (size_t i = 0; i < model::kResourceCount; ++i) {
    if (what == model::to_string(static_cast<model::Resource>(i))) return wanted.request.amounts[i];
  }
  for (const model::NamedAmount& other : wanted.spec.others) {
    if (what == other.name) return other.amount;
  }
  return 0;
}

std::string Teller::request(std::string_view what) const {
  const Shape& wanted = shape();
  if (what == "gpu" && wanted.whole) return counted(wanted.gpu_count, "whole GPU");
  if ((what == "gpu-milli" || what == "gpu-memory") && wanted.gpu_memory_bytes > 0) {
    return amount_text("gpu-memory", wanted.gpu_memory_bytes);
  }
  if (what == "gpu-memory") return amount_text("gpu-milli", wanted.gpu_milli);
  return amount_text(what, requested(what));
}

// The keys of the facts that the nearest node lacks: `disk` of "label:disk".
std::string Teller::facts(std::string_view prefix) const {
  std::string text;
  for (const Shortage& lack : verdict_.nearest_miss.short_of) {
    if (!lack.what.starts_with(prefix)) continue;
    if (!text.empty()) text += ", ";
    text += quoted(lack.what.substr(prefix.size()));
  }
  return text;
}

std::string Teller::too_large() const {
  const auto& lacks = verdict_.nearest_miss.short_of;
  if (lacks.empty()) return "Can never start: " + subject() + " asks for more than any node has.";
  const Shortage& lack = lacks.front();
  const int64_t most = requested(lack.what) - lack.amount;
  const auto failed = [&](NodeTest test) {
    return verdict_.failed_nodes[static_cast<size_t>(test)] > 0;
  };
  const bool all_nodes = !failed(NodeTest::kNodeRequirements) && !failed(NodeTest::kTaints) &&
                         !failed(NodeTest::kGpuModel) && !failed(NodeTest::kUnavailable) &&
                         !(lack.what != "gpu" && failed(NodeTest::kGpuCount));
  std::string text = "Can never start: " + subject() + " asks for " +
                     amount_text(lack.what, requested(lack.what)) + " in one pod, and no node " +
                     (all_nodes ? "" : "that it could use ") + "has ";
  if (lack.what == "gpu" && most == 0) return text + "any.";
  return text + "more than " +
         (lack.what == "gpu" ? std::to_string(most) : amount_text(lack.what, most)) + ".";
}

std::string Teller::places(bool ever) const {
  const uint32_t at = group();
  const auto classes = placement::pod_classes(state_, job_);
  const placement::GangNeed need(
      state_, job_, classes, ever ? placement::Standing::kFromStart : placement::Standing::kAsItIs);
  int64_t pods = 0;
  for (size_t i = 0; i < classes.size(); ++i) pods += need.pods(at, i);
  const std::string& level = state_.inventory().name(job_.groups[at].required_level_name);
  const std::string& name = state_.inventory().name(job_.groups[at].name);
  const bool named = job_.groups.size() > 1 && !name.empty();
  std::string text = ever ? "Can never start: " : "";
  text += named ? "group " + quoted(name) : std::string(ever ? "it" : "It");
  if (!ever && named) text[0] = 'G';
  text += " needs room for " + (pods > 0 ? counted(pods, "pod") : "its pods") + " at once";
  if (!level.empty()) text += " in one " + level;
  const Shortage* lack = shortage("places");
  const std::string& domain = verdict_.nearest_miss.domain;
  const std::string where = domain == "cluster" ? "the cluster" : "the nearest, " + domain + ",";
  if (lack == nullptr) {
    text += ", and their sizes do not go together on the nodes of ";
    text += domain == "cluster" || level.empty() ? "the cluster" : "any";
    return text + (ever ? " even when all are empty." : " as they are free now.");
  }
  text += ", and " + where + " is short of " + amount_text("places", lack->amount);
  return text + (ever ? " even when empty." : ".");
}

// A single pod that fits on no node now.
std::string Teller::one_node() const {
  const auto& near = verdict_.nearest_miss;
  const std::string who = subject() == "it" ? "Needs " : "Pod " + verdict_.culprit + " needs ";
  if (near.short_of.empty()) return who + "a node; none takes it now.";
  const Shortage& lack = near.short_of.front();
  if (lack.what == "gpu") {
    const int64_t most = requested("gpu") - lack.amount;
    const std::string on = " on one node; the most free on any node is ";
    return who + request("gpu") + on + std::to_string(most) + " (node " + near.domain + ").";
  }
  const std::string each =
      shape().gpu_count > 1 ? " on each of " + counted(shape().gpu_count, "GPU") : "";
  const bool share = lack.what.starts_with("gpu-");
  return who + request(lack.what) + (share ? each : "") + " on one node; the nearest is node " +
         near.domain + ", which is short of " + amount_text(lack.what, lack.amount) + ".";
}

std::string Teller::by_rules() const {
  const std::string tags[] = {facts("near:"), facts("apart:"), facts("spread:")};
  const std::string who = subject() == "it" ? "It" : "Pod " + verdict_.culprit;
  if (!tags[0].empty()) {
    return who + " must be near to pods with the tag " + tags[0] + ", of which none is near to " +
           verdict_.nearest_miss.domain + " nor to any other node with room for it.";
  }
  if (!tags[1].empty()) {
    return who + " must be apart from pods, by the tag " + tags[1] + ", that are too close to " +
           verdict_.nearest_miss.domain + " and to every other node with room for it.";
  }
  if (!tags[2].empty()) {
    return who + " must be spread with pods with the tag " + tags[2] + ", of which " +
           verdict_.nearest_miss.domain +
           " would have too many beside it, as would every other "
           "node with room for it.";
  }
  return "The rules among pods leave no places for all that must run together.";
}

std::string Teller::not_now() const {
  return (about_places() ? places(false) : one_node()) + counts_text(verdict_, state_);
}

std::string Teller::tell() const {
  const auto& near = verdict_.nearest_miss;
  const std::string never = "Can never start: ";
  switch (verdict_.code) {
    case ReasonCode::kFits:
      return "Starts now.";
    case ReasonCode::kBackingOff:
      return "It failed to start " + counted(job_.failed_starts, "time") +
             " in a row and waits before it is tried again.";
    case ReasonCode::kPodsMissing:
      return "Waits for its pods: " + std::to_string(job_.pods_pending) + " of at least " +
             std::to_string(job_.groups.front().min_count) + " that must run together exist.";
    case ReasonCode::kNoNodes:
      return "Cannot start: the cluster has no nodes.";
    case ReasonCode::kUnknownLevel:
      return never + "it requires the topology level " + facts("level:") +
             ", which is not configured.";
    case ReasonCode::kUnknownGpuResource:
      return never + subject() + " asks for " + quoted(shape().spec.gpu.resource) +
             ", which is not configured as a GPU resource.";
    case ReasonCode::kNodeRequirements:
      return never + "no node has the labels that " + subject() + " requires; the nearest, " +
             near.domain + ", does not meet what it asks of " + facts("label:") + "." +
             counts_text(verdict_, state_);
    case ReasonCode::kTaints:
      return never + subject() +
             " does not tolerate a taint of any node that could take it; of the " + "nearest, " +
             near.domain + ", it lacks " + facts("toleration:") + "." +
             counts_text(verdict_, state_);
    case ReasonCode::kGpuModel: {
      std::string models;
      for (const std::string& model : shape().spec.gpu.models) {
        models += (models.empty() ? "" : " or ") + model;
      }
      return never + subject() + " asks for " + (models.empty() ? "larger" : models) +
             " GPUs, and no node that it could use has one." + counts_text(verdict_, state_);
    }
    case ReasonCode::kRequestTooLarge:
      return too_large();
    case ReasonCode::kDomainTooSmall:
      if (!facts("level:").empty()) {
        return never + "no node that could take " + (subject() == "it" ? "it" : subject()) +
               " lies in a domain of the level " + facts("level:") + ".";
      }
      return places(true);
    case ReasonCode::kClusterTooSmall:
      return places(true);
    case ReasonCode::kNotEnoughFree:
    case ReasonCode::kFragmented:
      return not_now();
    case ReasonCode::kNodesUnavailable:
      return "Could start only with nodes that are cordoned or not ready" +
             (near.domain.empty() ? std::string() : ", such as " + near.domain) + "." +
             counts_text(verdict_, state_);
    case ReasonCode::kVolumeLimit:
      return "No node with room for " + subject() + " may have its volumes attached as well." +
             counts_text(verdict_, state_);
    case ReasonCode::kPodRules:
      return by_rules() + counts_text(verdict_, state_);
    case ReasonCode::kSearchCutShort:
      return "No place was found before the search reached its bound of steps; it is tried again "
             "when something changes." +
             counts_text(verdict_, state_);
    default:
      return queue_sentence(verdict_, state_, job_);
  }
}

}  // namespace

std::string sentence(const Verdict& verdict, const ClusterState& state, model::JobIx job) {
  return Teller(verdict, state, state.job(job)).tell();
}

}  // namespace mainspring::engine
