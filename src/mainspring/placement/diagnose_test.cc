// SPDX-License-Identifier: Apache-2.0
#include "mainspring/placement/diagnose.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "mainspring/model/gang.h"

namespace mainspring::placement {
namespace {

using model::ClusterState;
using model::GpuRequest;
using model::JobIx;
using model::JobSpec;
using model::NodeSpec;
using model::NodeTest;
using model::PodShape;
using model::ReasonCode;
using model::Resource;
using model::Shape;
using model::Verdict;
using model::VerdictKind;

constexpr int64_t kGiB = int64_t{1} << 30;

// Tries every pod on every node, or left out, until every minimum and every level is kept. The
// slowest way that cannot be wrong; devices are taken from the front.
class PlaceByTrying : public model::Placer {
 public:
  Verdict place(model::Trial& trial, const model::PlaceRequest& request) override {
    ++calls;
    const bool done = place_from(trial, request, 0);
    Verdict verdict;
    if (!done) verdict.kind = VerdictKind::kNotNow, verdict.code = code;
    return verdict;
  }

  ReasonCode code = ReasonCode::kNotEnoughFree;  // of a "no"
  int calls = 0;

 private:
  static bool levels_kept(const ClusterState& state, const model::Job& job) {
    std::map<uint32_t, uint32_t> domain_of_group;
    for (const model::PodIx index : job.pods) {
      const model::Pod& pod = state.pod(index);
      if (!pod.holds()) continue;
      for (auto group = static_cast<int32_t>(pod.group); group >= 0;
           group = job.groups[static_cast<size_t>(group)].parent) {
        const auto at = static_cast<uint32_t>(group);
        const model::LevelIx level = job.groups[at].required_level;
        if (!level.valid()) continue;
        const auto& node = state.inventory().node(pod.node);
        const uint32_t domain =
            level == state.inventory().node_level() ? pod.node.slot : node.domains[level.slot].slot;
        if (domain == UINT32_MAX) return false;
        if (domain_of_group.try_emplace(at, domain).first->second != domain) return false;
      }
    }
    return true;
  }

  static bool place_on(model::Trial& trial, model::PodIx index, model::NodeIx node_index) {
    const auto& inventory = trial.state().inventory();
    const Shape& shape = inventory.shape(trial.state().pod(index).shape);
    const model::Node& node = inventory.node(node_index);
    if (!node.usable() || !shape.request.within(node.free.resources)) return false;
    if (!model::labels_match(shape, node, inventory.names())) return false;
    if (!model::taints_tolerated(shape, node)) return false;
    model::DeviceMask devices = 0;
    uint32_t count = 0;
    for (size_t i = 0; i < node.gpus.size() && count < shape.gpu_count; ++i) {
      if (!model::device_fits(shape, node.gpus[i])) continue;
      devices |= model::DeviceMask{1} << i;
      ++count;
    }
    if (count < shape.gpu_count) return false;
    trial.place(index, node_index, devices, {});
    return true;
  }

  static bool place_from(model::Trial& trial, const model::PlaceRequest& request, size_t at) {
    const ClusterState& state = trial.state();
    const model::Job& job = state.job(request.job);
    if (at == job.pods.size()) {
      return levels_kept(state, job) && minimum_met(state, job, model::Counts::kHolding);
    }
    const model::PodIx pod = job.pods[at];
    if (state.pod(pod).phase == model::PodPhase::kPending) {
      for (const uint32_t slot : state.inventory().nodes_by_rank()) {
        const auto mark = trial.mark();
        if (!place_on(trial, pod, state.inventory().index_of(slot))) continue;
        if (levels_kept(state, job) && place_from(trial, request, at + 1)) return true;
        trial.rollback(mark);
      }
    }
    return place_from(trial, request, at + 1);
  }
};

NodeSpec node(const std::string& name, uint32_t gpus, const std::string& model = "A100",
              std::vector<model::Label> labels = {}) {
  NodeSpec spec{.name = name, .labels = std::move(labels), .taints = {}, .gpus = {}};
  spec.allocatable[Resource::kCpuMilli] = 16'000;
  spec.allocatable[Resource::kMemoryBytes] = 64 * kGiB;
  spec.allocatable[Resource::kEphemeralBytes] = 100 * kGiB;
  spec.allocatable[Resource::kPods] = 10;
  for (uint32_t i = 0; i < gpus; ++i) {
    spec.gpus.push_back({.id = "g" + std::to_string(i), .model = model, .memory_bytes = 40 * kGiB});
  }
  return spec;
}

PodShape shape(uint32_t gpus, int64_t cpu_milli = 1'000, int64_t memory_bytes = kGiB) {
  PodShape out{.request = {}, .gpu = {.models = {}}, .node_requirements = {}, .tolerations = {}};
  out.request[Resource::kCpuMilli] = cpu_milli;
  out.request[Resource::kMemoryBytes] = memory_bytes;
  out.request[Resource::kPods] = 1;
  out.gpu.count = gpus;
  return out;
}

JobSpec gang(const std::string& id, std::vector<PodShape> shapes, std::string level = "") {
  JobSpec job{.id = id, .groups = {}, .shapes = std::move(shapes), .pods = {}};
  job.groups.push_back({.name = "all", .required_level = std::move(level), .preferred_level = ""});
  for (uint32_t i = 0; i < job.shapes.size(); ++i) {
    job.pods.push_back({.id = id + "-" + std::to_string(i), .group = 0, .shape = i});
  }
  return job;
}

class Diagnose : public testing::Test {
 protected:
  void apply(model::EventBody body) {
    const auto done = state_.apply({.sequence = ++sequence_, .at = {}, .body = std::move(body)});
    ASSERT_TRUE(done.has_value()) << done.error().message;
  }
  void add(const NodeSpec& spec) { apply(model::NodeChanged{spec}); }
  void racks() {
    model::CoreConfig config;
    config.topologies = {{.name = "fabric", .levels = {{"rack", "rack"}}}};
    apply(model::ConfigChanged{config});
  }
  // A running pod.
  void occupy(const std::string& id, const std::string& on, const PodShape& wanted,
              std::vector<std::string> gpus) {
    apply(model::JobChanged{gang(id, {wanted})});
    apply(model::PodFound{.pod = id + "-0",
                          .incarnation = 0,
                          .node = on,
                          .gpus = std::move(gpus),
                          .phase = static_cast<uint8_t>(model::PodPhase::kRunning)});
  }
  Verdict ask(const JobSpec& job) {
    apply(model::JobChanged{job});
    const JobIx index = state_.find_job(job.id);
    Verdict coarse;
    {
      model::Trial trial(state_);
      coarse = placer_.place(trial, {.job = index, .when = {}, .grow = false});
    }
    EXPECT_NE(coarse.kind, VerdictKind::kNow);
    const Verdict verdict = diagnose(state_, placer_, index, coarse);
    state_.check();
    return verdict;
  }
  static int64_t failed(const Verdict& verdict, NodeTest test) {
    return verdict.failed_nodes[static_cast<size_t>(test)];
  }
  using Short = std::vector<model::Shortage>;

  ClusterState state_;
  PlaceByTrying placer_;
  uint64_t sequence_ = 0;
};

TEST_F(Diagnose, NoNodes) {
  const Verdict verdict = ask(gang("job", {shape(1)}));
  EXPECT_EQ(verdict.kind, VerdictKind::kNever);
  EXPECT_EQ(verdict.code, ReasonCode::kNoNodes);
}

TEST_F(Diagnose, UnknownLevel) {
  add(node("n0", 4));
  const Verdict verdict = ask(gang("job", {shape(8), shape(8)}, "row"));
  EXPECT_EQ(verdict.kind, VerdictKind::kNever);
  EXPECT_EQ(verdict.code, ReasonCode::kUnknownLevel);
  EXPECT_EQ(verdict.nearest_miss.short_of, (Short{{"level:row", 1}}));
}

TEST_F(Diagnose, UnknownGpuResource) {
  add(node("n0", 4));
  PodShape wanted = shape(1);
  wanted.gpu.resource = "example.com/npu";
  const Verdict verdict = ask(gang("job", {wanted}));
  EXPECT_EQ(verdict.kind, VerdictKind::kNever);
  EXPECT_EQ(verdict.code, ReasonCode::kUnknownGpuResource);
  EXPECT_EQ(verdict.nearest_miss.short_of, (Short{{"example.com/npu", 1}}));
}

TEST_F(Diagnose, NodeRequirements) {
  add(node("n0", 4, "A100", {{"disk", "hdd"}}));
  add(node("n1", 4));
  PodShape wanted = shape(1);
  wanted.node_requirements = {{.key = "disk", .values = {"ssd"}}};
  const Verdict verdict = ask(gang("job", {wanted}));
  EXPECT_EQ(verdict.kind, VerdictKind::kNever);
  EXPECT_EQ(verdict.code, ReasonCode::kNodeRequirements);
  EXPECT_EQ(failed(verdict, NodeTest::kNodeRequirements), 2);
  EXPECT_EQ(verdict.nearest_miss.domain, "n0");
  EXPECT_EQ(verdict.nearest_miss.short_of, (Short{{"label:disk", 1}}));
}

TEST_F(Diagnose, Taints) {
  NodeSpec tainted = node("n0", 4);
  tainted.taints = {{.key = "team", .value = "red"}};
  add(tainted);
  const Verdict verdict = ask(gang("job", {shape(1)}));
  EXPECT_EQ(verdict.kind, VerdictKind::kNever);
  EXPECT_EQ(verdict.code, ReasonCode::kTaints);
  EXPECT_EQ(failed(verdict, NodeTest::kTaints), 1);
  EXPECT_EQ(verdict.nearest_miss.short_of, (Short{{"toleration:team", 1}}));
}

TEST_F(Diagnose, GpuModel) {
  add(node("n0", 4, "T4"));
  add(node("n1", 0));
  PodShape wanted = shape(1);
  wanted.gpu.models = {"H100"};
  const Verdict verdict = ask(gang("job", {wanted}));
  EXPECT_EQ(verdict.kind, VerdictKind::kNever);
  EXPECT_EQ(verdict.code, ReasonCode::kGpuModel);
  EXPECT_EQ(failed(verdict, NodeTest::kGpuModel), 2) << "a node without GPUs has none of the model";
  EXPECT_EQ(verdict.nearest_miss.short_of, (Short{{"gpu-model", 1}}));
}

TEST_F(Diagnose, RequestTooLargeByDevices) {
  add(node("n0", 4));
  add(node("n1", 8));
  const Verdict verdict = ask(gang("job", {shape(9)}));
  EXPECT_EQ(verdict.kind, VerdictKind::kNever);
  EXPECT_EQ(verdict.code, ReasonCode::kRequestTooLarge);
  EXPECT_EQ(failed(verdict, NodeTest::kGpuCount), 2);
  EXPECT_EQ(verdict.nearest_miss.domain, "n1");
  EXPECT_EQ(verdict.nearest_miss.short_of, (Short{{"gpu", 1}}));
}

TEST_F(Diagnose, RequestTooLargeByCapacity) {
  add(node("n0", 4));
  const Verdict verdict = ask(gang("job", {shape(1, 16'500)}));
  EXPECT_EQ(verdict.kind, VerdictKind::kNever);
  EXPECT_EQ(verdict.code, ReasonCode::kRequestTooLarge);
  EXPECT_EQ(failed(verdict, NodeTest::kCapacity), 1);
  EXPECT_EQ(verdict.nearest_miss.short_of, (Short{{"cpu", 500}}));
}

TEST_F(Diagnose, NotEnoughFreeAndTheNearestNode) {
  add(node("n0", 4));
  add(node("n1", 4));
  add(node("n2", 2, "T4"));
  occupy("a", "n0", shape(4), {"g0", "g1", "g2", "g3"});
  occupy("b", "n1", shape(3), {"g0", "g1", "g2"});
  const Verdict verdict = ask(gang("job", {shape(3)}));
  EXPECT_EQ(verdict.kind, VerdictKind::kNotNow);
  EXPECT_EQ(verdict.code, ReasonCode::kNotEnoughFree);
  EXPECT_EQ(failed(verdict, NodeTest::kFreeGpus), 2);
  EXPECT_EQ(failed(verdict, NodeTest::kGpuCount), 1);
  EXPECT_EQ(verdict.nearest_miss.domain, "n1");
  EXPECT_EQ(verdict.nearest_miss.short_of, (Short{{"gpu", 2}}));
}

TEST_F(Diagnose, Fragmented) {
  add(node("n0", 4));
  add(node("n1", 4));
  occupy("a", "n0", shape(2), {"g0", "g1"});
  occupy("b", "n1", shape(1), {"g0"});
  const Verdict verdict = ask(gang("job", {shape(4)}));
  EXPECT_EQ(verdict.kind, VerdictKind::kNotNow);
  EXPECT_EQ(verdict.code, ReasonCode::kFragmented);
  EXPECT_EQ(verdict.nearest_miss.domain, "n1");
  EXPECT_EQ(verdict.nearest_miss.short_of, (Short{{"gpu", 1}}));
}

TEST_F(Diagnose, EveryFreeResourceHasItsTest) {
  add(node("n0", 4));
  PodShape other = shape(0, 15'000, 60 * kGiB);
  other.request[Resource::kEphemeralBytes] = 90 * kGiB;
  occupy("a", "n0", other, {});
  for (int i = 0; i < 8; ++i) occupy("b" + std::to_string(i), "n0", shape(0, 10, 1), {});

  EXPECT_EQ(failed(ask(gang("cpu", {shape(0, 2'000)})), NodeTest::kFreeCpu), 1);
  EXPECT_EQ(failed(ask(gang("memory", {shape(0, 1, 5 * kGiB)})), NodeTest::kFreeMemory), 1);
  PodShape disk = shape(0, 1);
  disk.request[Resource::kEphemeralBytes] = 11 * kGiB;
  EXPECT_EQ(failed(ask(gang("disk", {disk})), NodeTest::kFreeEphemeral), 1);
  occupy("c", "n0", shape(0, 10, 1), {});
  const Verdict verdict = ask(gang("pods", {shape(0, 1)}));
  EXPECT_EQ(failed(verdict, NodeTest::kFreePods), 1);
  EXPECT_EQ(verdict.nearest_miss.short_of, (Short{{"pods", 1}}));
}

TEST_F(Diagnose, SharesAreShortOfMilliOrMemory) {
  add(node("n0", 2));
  PodShape half = shape(1);
  half.gpu.milli = 600;
  occupy("a", "n0", half, {"g0"});
  occupy("b", "n0", half, {"g1"});
  PodShape wanted = shape(1);
  wanted.gpu.milli = 500;
  const Verdict by_milli = ask(gang("milli", {wanted}));
  EXPECT_EQ(by_milli.code, ReasonCode::kFragmented);
  EXPECT_EQ(by_milli.nearest_miss.short_of, (Short{{"gpu-milli", 100}, {"gpu-memory", 4 * kGiB}}));
  wanted.gpu.milli = model::kWholeGpuMilli;
  wanted.gpu.memory_bytes = 17 * kGiB;
  const Verdict by_memory = ask(gang("memory", {wanted}));
  EXPECT_EQ(by_memory.nearest_miss.short_of, (Short{{"gpu-milli", 25}, {"gpu-memory", kGiB}}));
}

TEST_F(Diagnose, NodesUnavailable) {
  NodeSpec cordoned = node("n0", 4);
  cordoned.schedulable = false;
  add(cordoned);
  add(node("n1", 2));
  const Verdict verdict = ask(gang("job", {shape(4)}));
  EXPECT_EQ(verdict.kind, VerdictKind::kNotNow);
  EXPECT_EQ(verdict.code, ReasonCode::kNodesUnavailable);
  EXPECT_EQ(failed(verdict, NodeTest::kUnavailable), 1);
  EXPECT_EQ(verdict.nearest_miss.domain, "n0");
  EXPECT_EQ(verdict.nearest_miss.short_of, (Short{{"schedulable", 1}}));
}

TEST_F(Diagnose, SickDevicesAreNotMissingForever) {
  NodeSpec sick = node("n0", 2);
  sick.gpus[0].healthy = false;
  add(sick);
  apply(model::GpuSampled{.node = "n0", .gpu = "g1", .foreign_memory_bytes = kGiB});
  const Verdict verdict = ask(gang("job", {shape(2)}));
  EXPECT_EQ(verdict.kind, VerdictKind::kNotNow);
  EXPECT_EQ(verdict.nearest_miss.short_of, (Short{{"gpu", 2}}));
}

TEST_F(Diagnose, PodOutsideEveryDomain) {
  racks();
  add(node("n0", 4));
  add(node("n1", 2, "A100", {{"rack", "r0"}}));
  const Verdict verdict = ask(gang("job", {shape(4)}, "rack"));
  EXPECT_EQ(verdict.kind, VerdictKind::kNever);
  EXPECT_EQ(verdict.code, ReasonCode::kDomainTooSmall);
  EXPECT_EQ(failed(verdict, NodeTest::kOutsideDomain), 1);
  EXPECT_EQ(failed(verdict, NodeTest::kGpuCount), 1);
  EXPECT_EQ(verdict.nearest_miss.domain, "n0");
  EXPECT_EQ(verdict.nearest_miss.short_of, (Short{{"level:rack", 1}}));
}

TEST_F(Diagnose, DomainTooSmall) {
  racks();
  add(node("n0", 4, "A100", {{"rack", "r0"}}));
  add(node("n1", 4, "A100", {{"rack", "r0"}}));
  add(node("n2", 4, "A100", {{"rack", "r1"}}));
  const Verdict verdict = ask(gang("job", {shape(4), shape(4), shape(4)}, "rack"));
  EXPECT_EQ(verdict.kind, VerdictKind::kNever);
  EXPECT_EQ(verdict.code, ReasonCode::kDomainTooSmall);
  EXPECT_EQ(verdict.nearest_miss.domain, "rack:r0");
  EXPECT_EQ(verdict.nearest_miss.short_of,
            (Short{{"places", 1}, {"gpu", 4}, {"gpu-milli", 4'000}}));
}

TEST_F(Diagnose, ClusterTooSmall) {
  add(node("n0", 4));
  const Verdict verdict = ask(gang("job", {shape(3), shape(2)}));
  EXPECT_EQ(verdict.kind, VerdictKind::kNever);
  EXPECT_EQ(verdict.code, ReasonCode::kClusterTooSmall);
  EXPECT_EQ(verdict.nearest_miss.domain, "cluster");
}

// Sums and single pods fit; only the placement itself shows that the sizes do not go together.
TEST_F(Diagnose, NeverByTheEmptiedCluster) {
  add(node("n0", 4));
  add(node("n1", 3));
  occupy("a", "n0", shape(4), {"g0", "g1", "g2", "g3"});
  const Verdict never = ask(gang("never", {shape(2), shape(2), shape(2), shape(1, 2'000)}));
  EXPECT_EQ(never.kind, VerdictKind::kNotNow) << "2 + 2 and 2 + 1 fit when all is empty";
  const Verdict mixed = ask(gang("mixed", {shape(3), shape(2, 2'000), shape(2)}));
  EXPECT_EQ(mixed.kind, VerdictKind::kNotNow) << "3, and 2 + 2";
  const Verdict odd = ask(gang("odd", {shape(3), shape(3, 2'000), shape(1)}));
  EXPECT_EQ(odd.kind, VerdictKind::kNotNow);
  const Verdict bad = ask(gang("bad", {shape(2, 9'000), shape(2, 9'000), shape(2, 8'000)}));
  EXPECT_EQ(bad.kind, VerdictKind::kNever);
  EXPECT_EQ(bad.code, ReasonCode::kClusterTooSmall);
}

TEST_F(Diagnose, GangLacksPlacesInItsBestRack) {
  racks();
  for (const char* name : {"n0", "n1"}) add(node(name, 4, "A100", {{"rack", "r0"}}));
  for (const char* name : {"n2", "n3"}) add(node(name, 4, "A100", {{"rack", "r1"}}));
  occupy("a", "n0", shape(4), {"g0", "g1", "g2", "g3"});
  occupy("b", "n1", shape(1), {"g0"});
  occupy("c", "n2", shape(2), {"g0", "g1"});
  const Verdict verdict = ask(gang("job", {shape(2), shape(2), shape(2), shape(2)}, "rack"));
  EXPECT_EQ(verdict.kind, VerdictKind::kNotNow);
  EXPECT_EQ(verdict.code, ReasonCode::kFragmented) << "9 GPUs are free, but not in one rack";
  EXPECT_EQ(verdict.nearest_miss.domain, "rack:r1");
  EXPECT_EQ(verdict.nearest_miss.short_of,
            (Short{{"places", 1}, {"gpu", 2}, {"gpu-milli", 2'000}}));
  EXPECT_EQ(failed(verdict, NodeTest::kFreeGpus), 1);
  EXPECT_EQ(failed(verdict, NodeTest::kOutsideDomain), 3);
}

TEST_F(Diagnose, GangWithoutALevelMissesTheCluster) {
  add(node("n0", 4));
  add(node("n1", 4));
  occupy("a", "n0", shape(1), {"g0"});
  occupy("b", "n1", shape(1), {"g0"});
  const Verdict verdict = ask(gang("job", {shape(2), shape(2), shape(2)}));
  EXPECT_EQ(verdict.kind, VerdictKind::kNotNow);
  EXPECT_EQ(verdict.code, ReasonCode::kFragmented);
  EXPECT_EQ(verdict.nearest_miss.domain, "cluster");
  EXPECT_EQ(verdict.nearest_miss.short_of, (Short{{"places", 1}}));
}

TEST_F(Diagnose, ASearchThatWasCutShortSaysSo) {
  add(node("n0", 4));
  add(node("n1", 3));
  placer_.code = ReasonCode::kSearchCutShort;
  // Every bound alone is kept: only the search could have told.
  const Verdict verdict = ask(gang("job", {shape(2, 9'000), shape(2, 9'000), shape(2, 8'000)}));
  EXPECT_EQ(verdict.kind, VerdictKind::kNotNow);
  EXPECT_EQ(verdict.code, ReasonCode::kSearchCutShort);
}

TEST_F(Diagnose, NeverForOnePodOfAGangNamesIt) {
  add(node("n0", 4));
  const Verdict verdict = ask(gang("job", {shape(1), shape(5)}));
  EXPECT_EQ(verdict.kind, VerdictKind::kNever);
  EXPECT_EQ(verdict.code, ReasonCode::kRequestTooLarge);
  EXPECT_EQ(verdict.culprit, "job-1");
}

TEST_F(Diagnose, OptionalPodsAreNoReason) {
  add(node("n0", 4));
  occupy("a", "n0", shape(4), {"g0", "g1", "g2", "g3"});
  JobSpec elastic = gang("job", {shape(1), shape(5)});
  elastic.groups[0].min_count = 1;
  const Verdict verdict = ask(elastic);
  EXPECT_EQ(verdict.kind, VerdictKind::kNotNow);
  EXPECT_EQ(verdict.culprit, "job-0");
}

TEST_F(Diagnose, SinglePodsNeverEmptyTheCluster) {
  add(node("n0", 4));
  occupy("a", "n0", shape(4), {"g0", "g1", "g2", "g3"});
  placer_.calls = 0;
  ask(gang("job", {shape(3)}));
  EXPECT_EQ(placer_.calls, 1);
}

}  // namespace
}  // namespace mainspring::placement
