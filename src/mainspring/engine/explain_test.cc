// SPDX-License-Identifier: Apache-2.0
#include "mainspring/engine/explain.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "mainspring/engine/random_world.h"
#include "mainspring/placement/best_fit_scorer.h"
#include "mainspring/placement/gang_search.h"

namespace mainspring::engine {
namespace {

using model::NodeSpec;
using model::NodeTest;
using model::PodShape;
using model::ReasonCode;
using model::VerdictKind;

constexpr int64_t kGiB = int64_t{1} << 30;

NodeSpec node(const std::string& name, uint32_t gpus, const std::string& rack = "") {
  NodeSpec spec{.name = name};
  if (!rack.empty()) spec.labels.push_back({"rack", rack});
  spec.allocatable.amounts = {16'000, 64 * kGiB, 100 * kGiB, 10};
  for (uint32_t i = 0; i < gpus; ++i) {
    spec.gpus.push_back(
        {.id = "gpu-" + std::to_string(i), .model = "A100", .memory_bytes = 40 * kGiB});
  }
  return spec;
}

PodShape shape(uint32_t gpus, int64_t cpu_milli = 1'000, int64_t memory_bytes = kGiB) {
  PodShape out;
  out.request.amounts = {cpu_milli, memory_bytes, 0, 1};
  out.gpu.count = gpus;
  return out;
}

model::JobSpec job(std::vector<PodShape> shapes, const std::string& level = "") {
  model::JobSpec spec{.id = "train", .groups = {}, .shapes = std::move(shapes), .pods = {}};
  spec.groups.push_back({.name = "all", .required_level = level});
  for (uint32_t i = 0; i < spec.shapes.size(); ++i) {
    spec.pods.push_back({.id = "train-" + std::to_string(i), .group = 0, .shape = i});
  }
  return spec;
}

class Explain : public testing::Test {
 protected:
  Explain() { world_.config.topologies = {{.name = "network", .levels = {{"rack", "rack"}}}}; }

  void run(const std::string& id, const std::string& on, uint32_t gpus,
           base::Instant until = base::Instant::never()) {
    RunningPod pod;
    pod.job.id = id;
    pod.job.groups.resize(1);
    pod.job.shapes = {shape(gpus)};
    pod.job.pods = {{.id = id, .group = 0, .shape = 0}};
    pod.found = {.pod = id, .node = on, .gpus = {}, .phase = 3, .from = {}, .until = until};
    uint32_t& used = used_[on];
    for (uint32_t i = 0; i < gpus; ++i) pod.found.gpus.push_back("gpu-" + std::to_string(used++));
    world_.running.push_back(std::move(pod));
  }

  Explanation ask() {
    model::ClusterState state;
    world_.build(state);
    const placement::BestFitScorer scorer;
    placement::GangSearch search(scorer);
    Explanation told = explain(state, search, state.find_job("train"));
    state.check();
    return told;
  }

  static const Remedy* find(const Explanation& told, RemedyKind kind) {
    const auto found = std::ranges::find(told.remedies, kind, &Remedy::kind);
    return found == told.remedies.end() ? nullptr : &*found;
  }
  static std::string words(const Explanation& told, RemedyKind kind) {
    const Remedy* remedy = find(told, kind);
    return remedy == nullptr ? "none" : remedy->sentence;
  }

  World world_;

 private:
  std::map<std::string, uint32_t> used_;
};

std::string document() {
  std::ifstream file("docs/reference/reason-codes.md");
  EXPECT_TRUE(file.good()) << "the test runs in the root of the repository";
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The words of the headings "### `word`" below the heading "## title".
std::vector<std::string> words_below(const std::string& title) {
  std::istringstream text(document());
  std::vector<std::string> words;
  bool inside = false;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("## ")) inside = line == "## " + title;
    if (!inside || !line.starts_with("### `")) continue;
    words.push_back(line.substr(5, line.find('`', 5) - 5));
  }
  return words;
}

template <class Enum>
std::vector<std::string> words_of() {
  std::vector<std::string> words;
  for (uint8_t i = 0; to_string(static_cast<Enum>(i)) != "unknown"; ++i) {
    words.emplace_back(to_string(static_cast<Enum>(i)));
  }
  return words;
}

TEST(ReasonCodesPage, HasEveryWordInOrder) {
  EXPECT_EQ(words_below("Reason codes"), words_of<ReasonCode>());
  EXPECT_EQ(words_below("Node tests"), words_of<NodeTest>());
  EXPECT_EQ(words_below("Remedies"), words_of<RemedyKind>());
}

// The page's example of each code is what the code says in that situation.
class ExplainPage : public Explain {
 protected:
  void expect_example(ReasonCode code, VerdictKind kind) {
    const Explanation told = ask();
    EXPECT_EQ(told.verdict.code, code) << told.sentence;
    EXPECT_EQ(told.verdict.kind, kind) << told.sentence;
    const std::string page = document();
    const size_t section = page.find("### `" + std::string(to_string(code)) + "`");
    ASSERT_NE(section, std::string::npos);
    const std::string text = page.substr(section, page.find("\n##", section + 1) - section);
    EXPECT_NE(text.find("\n> " + told.sentence + "\n"), std::string::npos)
        << "not on the page: " << told.sentence;
  }
};

TEST_F(ExplainPage, Fits) {
  world_.nodes = {node("n0", 8)};
  world_.job = job({shape(8)});
  expect_example(ReasonCode::kFits, VerdictKind::kNow);
}

TEST_F(ExplainPage, NoNodes) {
  world_.job = job({shape(8)});
  expect_example(ReasonCode::kNoNodes, VerdictKind::kNever);
}

TEST_F(ExplainPage, UnknownLevel) {
  world_.nodes = {node("n0", 8)};
  world_.job = job({shape(8)}, "row");
  expect_example(ReasonCode::kUnknownLevel, VerdictKind::kNever);
}

TEST_F(ExplainPage, UnknownGpuResource) {
  world_.nodes = {node("n0", 8)};
  world_.job = job({shape(1)});
  world_.job.shapes[0].gpu.resource = "example.com/npu";
  expect_example(ReasonCode::kUnknownGpuResource, VerdictKind::kNever);
}

TEST_F(ExplainPage, NodeRequirements) {
  world_.nodes = {node("n0", 8), node("n1", 8)};
  world_.job = job({shape(1)});
  world_.job.shapes[0].node_requirements = {{.key = "disk", .values = {"ssd"}}};
  expect_example(ReasonCode::kNodeRequirements, VerdictKind::kNever);
}

TEST_F(ExplainPage, Taints) {
  world_.nodes = {node("n0", 8)};
  world_.nodes[0].taints = {{.key = "team", .value = "red"}};
  world_.job = job({shape(1)});
  expect_example(ReasonCode::kTaints, VerdictKind::kNever);
}

TEST_F(ExplainPage, GpuModel) {
  world_.nodes = {node("n0", 8), node("n1", 8)};
  world_.job = job({shape(1)});
  world_.job.shapes[0].gpu.models = {"H100"};
  expect_example(ReasonCode::kGpuModel, VerdictKind::kNever);
}

TEST_F(ExplainPage, RequestTooLarge) {
  world_.nodes = {node("n0", 8), node("n1", 4)};
  world_.job = job({shape(9)});
  expect_example(ReasonCode::kRequestTooLarge, VerdictKind::kNever);
}

TEST_F(ExplainPage, DomainTooSmall) {
  for (const char* name : {"n0", "n1"}) world_.nodes.push_back(node(name, 8, "r0"));
  world_.nodes.push_back(node("n2", 8, "r1"));
  world_.job = job({shape(8), shape(8), shape(8)}, "rack");
  expect_example(ReasonCode::kDomainTooSmall, VerdictKind::kNever);
}

TEST_F(ExplainPage, ClusterTooSmall) {
  world_.nodes = {node("n0", 8)};
  world_.job = job({shape(8), shape(8)});
  expect_example(ReasonCode::kClusterTooSmall, VerdictKind::kNever);
}

TEST_F(ExplainPage, NotEnoughFree) {
  world_.nodes = {node("n0", 8), node("n1", 4)};
  run("other", "n0", 2);
  world_.job = job({shape(8)});
  expect_example(ReasonCode::kNotEnoughFree, VerdictKind::kNotNow);
}

TEST_F(ExplainPage, Fragmented) {
  for (const char* rack : {"r0", "r1"}) {
    for (const char* name : {"a", "b"}) {
      world_.nodes.push_back(node(std::string(rack) + name, 8, rack));
    }
    run(std::string("other-") + rack, std::string(rack) + "a", 8);
  }
  world_.job = job({shape(8), shape(8)}, "rack");
  expect_example(ReasonCode::kFragmented, VerdictKind::kNotNow);
}

TEST_F(ExplainPage, NodesUnavailable) {
  world_.nodes = {node("n0", 8), node("n1", 4)};
  world_.nodes[0].schedulable = false;
  world_.job = job({shape(8)});
  expect_example(ReasonCode::kNodesUnavailable, VerdictKind::kNotNow);
}

TEST_F(ExplainPage, WordsWithoutASituation) {
  world_.nodes = {node("n0", 8)};
  world_.job = job({shape(8)});
  model::ClusterState state;
  world_.build(state);
  ASSERT_TRUE(state.apply(
      {.at = {},
       .body = model::JobRestored{.job = "train", .failed_starts = 3, .backoff_until = {}}}));
  for (const ReasonCode code : {ReasonCode::kBackingOff, ReasonCode::kSearchCutShort}) {
    model::Verdict verdict;
    verdict.kind = VerdictKind::kNotNow;
    verdict.code = code;
    const std::string text = sentence(verdict, state, state.find_job("train"));
    EXPECT_NE(document().find("\n> " + text + "\n"), std::string::npos) << text;
  }
}

TEST_F(Explain, OneGpuTooFew) {
  world_.nodes = {node("gpu-017", 8), node("gpu-018", 8)};
  run("a", "gpu-017", 2, base::Instant{90'000});
  run("b", "gpu-018", 8);
  world_.job = job({shape(8)});
  const Explanation told = ask();
  EXPECT_EQ(told.sentence,
            "Needs 8 whole GPUs on one node; the most free on any node is 6 (node gpu-017). "
            "Of 2 nodes, 2 have too little GPU free.");
  EXPECT_EQ(words(told, RemedyKind::kMoreOnNode),
            "It starts if node gpu-017 has 2 GPUs more free.");
  EXPECT_EQ(words(told, RemedyKind::kAddNodes), "It starts if 1 node like gpu-017 is added.");
  EXPECT_EQ(words(told, RemedyKind::kLowerRequest), "It starts if it asks for at most 6 GPUs.");
  EXPECT_EQ(words(told, RemedyKind::kWaitFor),
            "It starts when a has ended, which is expected in 90 seconds.");
}

TEST_F(Explain, TwoThingsAreShortAtOnce) {
  world_.nodes = {node("n0", 4)};
  run("a", "n0", 2);
  world_.job = job({shape(4, 15'500)});
  const Explanation told = ask();
  const Remedy* more = find(told, RemedyKind::kMoreOnNode);
  ASSERT_NE(more, nullptr);
  EXPECT_EQ(more->changes, (std::vector<Change>{{"gpu", 2}, {"cpu", 500}}));
  const Remedy* lower = find(told, RemedyKind::kLowerRequest);
  ASSERT_NE(lower, nullptr);
  EXPECT_EQ(lower->changes, (std::vector<Change>{{"gpu", 2}, {"cpu", 15'000}}));
  EXPECT_EQ(lower->sentence, "It starts if it asks for at most 2 GPUs and 15 CPUs.");
}

TEST_F(Explain, AGangMayStartWithLess) {
  world_.nodes = {node("n0", 4, "r0"), node("n1", 4, "r0"), node("n2", 4, "r1")};
  world_.job = job({shape(4), shape(4), shape(4)}, "rack");
  const Explanation told = ask();
  EXPECT_EQ(words(told, RemedyKind::kLowerMinimum),
            "It starts if the minimum of the job is 2 instead of 3.");
  EXPECT_EQ(words(told, RemedyKind::kWidenLevel),
            "It starts if the job may lie anywhere instead of inside one domain.");
  EXPECT_EQ(words(told, RemedyKind::kAddNodes),
            "It starts if 1 node like n0, in rack:r0, is added.");
}

TEST_F(Explain, AGangIsNotToldThatANodeSeveralTimesItsSizeWouldDo) {
  world_.nodes = {node("n0", 2, "r0"), node("n1", 2, "r1")};
  world_.job = job({shape(2), shape(2), shape(2)}, "rack");
  const Explanation told = ask();
  EXPECT_EQ(find(told, RemedyKind::kMoreOnNode), nullptr);
  EXPECT_NE(find(told, RemedyKind::kAddNodes), nullptr);
}

TEST_F(Explain, LongWaitsAreToldInLargeUnits) {
  world_.nodes = {node("n0", 2), node("n1", 2)};
  run("minutes", "n0", 2, base::Instant{1'141'000});
  world_.job = job({shape(2)});
  run("other", "n1", 2);
  EXPECT_EQ(words(ask(), RemedyKind::kWaitFor),
            "It starts when minutes has ended, which is expected in 20 minutes.");
}

TEST_F(Explain, WishesThatNothingMeets) {
  world_.nodes = {node("n0", 4)};
  world_.job = job({shape(1)});
  world_.job.shapes[0].gpu.models = {"H100"};
  EXPECT_EQ(words(ask(), RemedyKind::kDropGpuModel), "It starts if it takes any GPU model.");
  world_.job = job({shape(1)});
  world_.job.shapes[0].gpu.device_memory_bytes_min = 80 * kGiB;
  EXPECT_EQ(words(ask(), RemedyKind::kDropGpuMemory),
            "It starts if it takes GPUs of any memory size.");
  world_.job = job({shape(1)});
  world_.job.shapes[0].node_requirements = {{.key = "disk", .values = {"ssd"}}};
  EXPECT_EQ(words(ask(), RemedyKind::kDropSelector),
            "It starts if it does not insist on the node label \"disk\".");
}

TEST_F(Explain, NodesThatTakeNobody) {
  world_.nodes = {node("n0", 4), node("n1", 4)};
  world_.nodes[0].schedulable = false;
  world_.nodes[1].ready = false;
  world_.job = job({shape(4)});
  Explanation told = ask();
  EXPECT_EQ(words(told, RemedyKind::kUncordon), "It starts if node n0 is uncordoned.");
  EXPECT_EQ(words(told, RemedyKind::kMakeReady),
            "It starts if node n1 is ready and open for pods again.");
  world_.job = job({shape(4), shape(4)});
  told = ask();
  ASSERT_NE(find(told, RemedyKind::kMakeReady), nullptr);
  EXPECT_EQ(find(told, RemedyKind::kMakeReady)->targets, (std::vector<std::string>{"n0", "n1"}));
}

TEST_F(Explain, TwoTaintsNeedTwoTolerations) {
  world_.nodes = {node("n0", 4)};
  world_.nodes[0].taints = {{.key = "spot", .value = ""}, {.key = "team", .value = "red"}};
  world_.job = job({shape(1)});
  EXPECT_EQ(words(ask(), RemedyKind::kTolerateTaint),
            "It starts if it tolerates the taints spot and team.");
}

TEST_F(Explain, ASickDeviceIsNamed) {
  world_.nodes = {node("n0", 2)};
  world_.nodes[0].gpus[1].healthy = false;
  world_.job = job({shape(2)});
  EXPECT_EQ(words(ask(), RemedyKind::kRepairGpu),
            "It starts if GPU gpu-1 of node n0 is healthy and no stranger uses its memory.");
}

TEST_F(Explain, OnlyWhatIsNeededIsWaitedFor) {
  world_.nodes = {node("n0", 4), node("n1", 4)};
  run("first", "n1", 4, base::Instant{10'000});
  run("second", "n0", 1, base::Instant{20'000});
  run("third", "n0", 3, base::Instant{30'500});
  world_.job = job({shape(4), shape(1)});
  const Explanation told = ask();
  const Remedy* wait = find(told, RemedyKind::kWaitFor);
  ASSERT_NE(wait, nullptr);
  EXPECT_EQ(wait->targets, (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(wait->at, base::Instant{20'000});
}

TEST_F(Explain, SharesInWords) {
  world_.nodes = {node("n0", 1)};
  run("a", "n0", 0);
  world_.running[0].job.shapes[0].gpu = {.count = 1, .milli = 700, .models = {}};
  world_.running[0].found.gpus = {"gpu-0"};
  world_.job = job({shape(1)});
  world_.job.shapes[0].gpu.milli = 450;
  const Explanation told = ask();
  EXPECT_EQ(told.sentence,
            "Needs 0.45 of a GPU on one node; the nearest is node n0, which is short of 0.15 of a "
            "GPU. Of 1 node, 1 has too little GPU free.");
  EXPECT_EQ(words(told, RemedyKind::kLowerRequest),
            "It starts if it asks for at most 0.3 of a GPU.");
}

TEST_F(Explain, WithoutRemediesWhenNotAsked) {
  world_.job = job({shape(1)});
  model::ClusterState state;
  world_.build(state);
  const placement::BestFitScorer scorer;
  placement::GangSearch search(scorer);
  const ExplainOptions options{.remedies = false, .search = {}};
  EXPECT_TRUE(explain(state, search, state.find_job("train"), options).remedies.empty());
}

}  // namespace
}  // namespace mainspring::engine
