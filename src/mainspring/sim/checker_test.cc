// SPDX-License-Identifier: Apache-2.0
// A checker that cannot fail checks nothing: every rule is broken here once, on purpose.
#include "mainspring/sim/checker.h"

#include <bit>
#include <memory>

#include <gtest/gtest.h>

#include "mainspring/engine/cycle.h"
#include "mainspring/model/trial.h"
#include "mainspring/sim/simulator.h"

namespace mainspring::sim {
namespace {

using base::Instant;

model::NodeSpec node_of(const std::string& name, const std::string& rack) {
  model::NodeSpec node{.name = name};
  node.labels.push_back({"rack", rack});
  node.allocatable.amounts = {4000, 1 << 30, 1 << 30, 10};
  node.gpus = {{.id = "g0", .model = "A", .memory_bytes = 1000},
               {.id = "g1", .model = "A", .memory_bytes = 1000}};
  return node;
}

model::JobSpec gang_of(const std::string& id) {
  model::JobSpec job{.id = id};
  job.groups.push_back({.name = "all", .required_level = "rack"});
  model::PodShape& shape = job.shapes.emplace_back();
  shape.request.amounts = {1000, 1000, 0, 1};
  shape.gpu = {.count = 1, .models = {"A"}};
  job.pods = {{.id = id + "-a"}, {.id = id + "-b"}};
  return job;
}

class CheckerTest : public testing::Test {
 protected:
  CheckerTest() {
    model::CoreConfig config;
    config.topologies.push_back({"net", {{"rack", "rack"}}});
    apply(model::ConfigChanged{config});
    apply(model::NodeChanged{node_of("n0", "r0")});
    apply(model::NodeChanged{node_of("n1", "r1")});
    apply(model::JobChanged{gang_of("j")});
  }

  void apply(model::EventBody body) {
    model::Event event;
    event.sequence = ++sequence_;
    event.at = now_;
    event.body = std::move(body);
    checker_.observe(event, state_.apply(event).has_value(), now_);
  }

  static model::Plan good() {
    model::Plan plan;
    plan.decisions.emplace_back(
        model::Bind{"j", {{"j-a", 0, "n0", {"g0"}}, {"j-b", 0, "n0", {"g1"}}}});
    return plan;
  }
  static model::Bind& bind_in(model::Plan& plan) {
    return std::get<model::Bind>(plan.decisions[0]);
  }

  // Claims in the state what the plan says, as an engine would have.
  void claim(const model::Plan& plan) {
    model::Trial trial(state_);
    for (const model::PodBinding& binding : std::get<model::Bind>(plan.decisions[0]).pods) {
      const model::DeviceMask devices = binding.gpus[0] == "g0" ? 1 : 2;
      trial.place(state_.find_pod(binding.pod), state_.inventory().find_node(binding.node), devices,
                  {now_});
    }
    trial.commit();
  }
  void bind_well() {
    const model::Plan plan = good();
    checker_.judge(plan, now_);
    claim(plan);
    checker_.inspect(state_, nullptr, now_);
    ASSERT_EQ(checker_.violation_count(), 0);
  }
  // The number of times that the rule is broken by this plan.
  int64_t judged(const model::Plan& plan, Rule rule) {
    checker_.judge(plan, now_);
    return checker_.count(rule);
  }
  void pass(int64_t seconds) {
    now_ = now_ + base::seconds(seconds);
    checker_.inspect(state_, nullptr, now_);
  }

  model::ClusterState state_;
  Checker checker_{1};
  Instant now_;
  uint64_t sequence_ = 0;
};

TEST_F(CheckerTest, AGoodLifeIsClean) {
  bind_well();
  pass(1);
  apply(model::PodStarted{"j-a", 0});
  apply(model::PodStarted{"j-b", 0});
  pass(1000);
  apply(model::PodGone{"j-a", 0, model::PodEnd::kSucceeded});
  pass(1000);
  apply(model::PodGone{"j-b", 0, model::PodEnd::kSucceeded});
  pass(1);
  EXPECT_EQ(checker_.violation_count(), 0);
  EXPECT_EQ(checker_.steps(), 5);
}

TEST_F(CheckerTest, UnknownNames) {
  model::Plan plan = good();
  bind_in(plan).job = "ghost";
  EXPECT_EQ(judged(plan, Rule::kUnknownName), 1);
  plan = good();
  bind_in(plan).pods[0].pod = "ghost";
  EXPECT_EQ(judged(plan, Rule::kUnknownName), 2);
  plan = good();
  plan.decisions.emplace_back(model::Release{.job = "ghost"});
  EXPECT_EQ(judged(plan, Rule::kWrongRelease), 1);
}

TEST_F(CheckerTest, UnknownPlaces) {
  model::Plan plan = good();
  bind_in(plan).pods[0].node = "nowhere";
  bind_in(plan).pods[1].gpus = {"g9"};
  EXPECT_EQ(judged(plan, Rule::kUnknownName), 2);
}

TEST_F(CheckerTest, PodsThatDoNotWait) {
  model::Plan plan = good();
  bind_in(plan).pods[0].incarnation = 1;
  EXPECT_EQ(judged(plan, Rule::kPodNotPending), 1);
  // The other pod was claimed; it cannot be bound again.
  EXPECT_EQ(judged(good(), Rule::kPodNotPending), 2);
}

TEST_F(CheckerTest, NodesThatTakeNone) {
  model::NodeSpec node = node_of("n0", "r0");
  node.schedulable = false;
  apply(model::NodeChanged{node});
  EXPECT_EQ(judged(good(), Rule::kNodeNotUsable), 2);
}

TEST_F(CheckerTest, TaintsAndLabels) {
  model::NodeSpec node = node_of("n0", "r0");
  node.taints.push_back({"keep", "out", model::TaintEffect::kNoSchedule});
  apply(model::NodeChanged{node});
  EXPECT_EQ(judged(good(), Rule::kNodeNotUsable), 2);
}

TEST_F(CheckerTest, NoRoom) {
  model::NodeSpec node = node_of("n0", "r0");
  node.allocatable[model::Resource::kCpuMilli] = 1500;
  apply(model::NodeChanged{node});
  EXPECT_EQ(judged(good(), Rule::kDoesNotFit), 1);
}

TEST_F(CheckerTest, DevicesInUseAndOverCommitted) {
  model::Plan plan = good();
  bind_in(plan).pods[1].gpus = {"g0"};
  EXPECT_EQ(judged(plan, Rule::kWrongDevice), 1);
  checker_.inspect(state_, nullptr, now_);
  EXPECT_GE(checker_.count(Rule::kStateOverCommitted), 1);
}

TEST_F(CheckerTest, DevicesOfStrangersOfOtherModelsAndTooMany) {
  apply(model::GpuSampled{.node = "n0", .gpu = "g0", .foreign_memory_bytes = 10});
  apply(model::GpuSampled{.node = "n0", .gpu = "g1", .healthy = false});
  EXPECT_EQ(judged(good(), Rule::kWrongDevice), 2);
  model::JobSpec other = gang_of("k");
  other.shapes[0].gpu.models = {"B"};
  apply(model::JobChanged{other});
  model::Plan plan = good();
  bind_in(plan) = {"k", {{"k-a", 0, "n1", {"g0"}}, {"k-b", 0, "n1", {"g1", "g0"}}}};
  EXPECT_GE(judged(plan, Rule::kWrongDevice), 5);
}

TEST_F(CheckerTest, GroupsInTwoDomains) {
  model::Plan plan = good();
  bind_in(plan).pods[1].node = "n1";
  EXPECT_EQ(judged(plan, Rule::kLevelBroken), 1);
}

TEST_F(CheckerTest, GangsBelowTheirMinimum) {
  model::Plan plan = good();
  bind_in(plan).pods.pop_back();
  EXPECT_EQ(judged(plan, Rule::kBelowMinimum), 1);
}

TEST_F(CheckerTest, ReleasesAndBackOff) {
  bind_well();
  model::Plan plan;
  plan.decisions.emplace_back(
      model::Release{.job = "j", .pods = {{"j-a", 0}}, .retry_at = Instant{90'000}});
  EXPECT_EQ(judged(plan, Rule::kWrongRelease), 1) << "a pod was left out";
  EXPECT_EQ(judged(plan, Rule::kWrongRelease), 2) << "it goes already";
  apply(model::PodGone{"j-a", 0, model::PodEnd::kLost});
  apply(model::PodGone{"j-b", 0, model::PodEnd::kLost});
  plan = good();
  for (model::PodBinding& pod : bind_in(plan).pods) pod.incarnation = 1;
  EXPECT_EQ(judged(plan, Rule::kBackoffIgnored), 1);
}

TEST_F(CheckerTest, AGangThatStaysBroken) {
  bind_well();
  apply(model::PodStarted{"j-a", 0});
  apply(model::PodStarted{"j-b", 0});
  pass(1);
  apply(model::PodGone{"j-a", 0, model::PodEnd::kLost});
  pass(1);
  pass(60);
  EXPECT_EQ(checker_.count(Rule::kHeldBelowMinimum), 0);
  pass(2);
  EXPECT_EQ(checker_.count(Rule::kHeldBelowMinimum), 1);
}

TEST_F(CheckerTest, AGangThatNeverStarts) {
  bind_well();
  apply(model::PodStarted{"j-a", 0});
  pass(60);
  EXPECT_EQ(checker_.count(Rule::kStartOverdue), 0);
  pass(2);
  EXPECT_EQ(checker_.count(Rule::kStartOverdue), 1);
}

TEST_F(CheckerTest, AWakeUpThatIsPast) {
  model::Plan plan;
  plan.next_wake = now_;
  EXPECT_EQ(judged(plan, Rule::kWakeNotAhead), 1);
}

TEST_F(CheckerTest, AStateThatDiffersFromWhatWasDecided) {
  checker_.judge(good(), now_);  // nobody claims it in the state
  checker_.inspect(state_, nullptr, now_);
  EXPECT_GE(checker_.count(Rule::kStateDiffers), 2);
  EXPECT_FALSE(checker_.violations().front().sentence.empty());
}

TEST_F(CheckerTest, ARefusedReport) {
  apply(model::GpuSampled{.node = "n0", .gpu = "g9"});
  EXPECT_EQ(checker_.count(Rule::kEventRefused), 1);
}

TEST_F(CheckerTest, ANegativeAmount) {
  auto& node = const_cast<model::Node&>(state_.inventory().nodes()[0]);
  node.used[model::Resource::kCpuMilli] = -1;
  pass(1);
  EXPECT_GE(checker_.count(Rule::kNegativeAmount), 1);
}

TEST_F(CheckerTest, AnOverCommittedWorld) {
  TrueWorld world({node_of("n0", "r0")});
  world.add_pods(gang_of("j"), 0);
  world.occupy(0, {"j-a", 0, "n0", {"g0"}});
  checker_.inspect(state_, &world, now_);
  EXPECT_EQ(checker_.count(Rule::kWorldOverCommitted), 0);
  world.occupy(1, {"j-b", 0, "n0", {"g0"}});
  checker_.inspect(state_, &world, now_);
  EXPECT_GE(checker_.count(Rule::kWorldOverCommitted), 1);
}

// Engines with one flaw each, in a whole run.
class FlawedEngine : public testing::Test {
 protected:
  static std::unique_ptr<Simulator> run(const Decide& decide) {
    SimulationInputs inputs;
    inputs.config.topologies.push_back({"net", {{"rack", "rack"}}});
    inputs.nodes = {node_of("n0", "r0"), node_of("n1", "r1")};
    for (int i = 0; i < 8; ++i) {
      config::ScenarioJob job{.run = base::seconds(60)};
      job.name = "gang-" + std::to_string(i);
      job.spec = gang_of(job.name);
      job.spec.submitted_at = Instant{i * 10'000};
      inputs.jobs.push_back(std::move(job));
    }
    inputs.faults.push_back(
        {.kind = config::FaultKind::kPodNeverStarts, .at = Instant{0}, .job = "gang-0"});
    inputs.length = base::seconds(1800);
    auto made = Simulator::create(std::move(inputs), decide);
    EXPECT_TRUE(made.has_value());
    (*made)->run();
    return std::move(*made);
  }

  static Decide spoiled(const std::function<void(model::Plan&)>& flaw) {
    auto engine = std::make_shared<engine::Engine>();
    return [engine, flaw](model::ClusterState& state, Instant now) {
      model::Plan plan = engine->run_cycle(state, now);
      flaw(plan);
      return plan;
    };
  }
};

TEST_F(FlawedEngine, NoFlawNoViolation) {
  const auto run_of_engine = run(spoiled([](model::Plan&) {}));
  EXPECT_EQ(run_of_engine->checker().violation_count(), 0);
  EXPECT_EQ(run_of_engine->statistics().counters.releases, 1);
  EXPECT_EQ(run_of_engine->statistics().jobs_finished, 8);
}

TEST_F(FlawedEngine, ThatForgetsAMember) {
  const auto broken = run(spoiled([](model::Plan& plan) {
    for (model::Decision& decision : plan.decisions) {
      if (auto* bind = std::get_if<model::Bind>(&decision)) bind->pods.pop_back();
    }
  }));
  EXPECT_GT(broken->checker().count(Rule::kBelowMinimum), 0);
  EXPECT_GT(broken->checker().count(Rule::kStateDiffers), 0);
}

TEST_F(FlawedEngine, ThatForgetsReleases) {
  const auto broken = run(spoiled([](model::Plan& plan) {
    std::erase_if(plan.decisions, [](const model::Decision& decision) {
      return std::holds_alternative<model::Release>(decision);
    });
  }));
  EXPECT_GT(broken->checker().count(Rule::kStartOverdue), 0);
}

TEST_F(FlawedEngine, ThatGivesEveryPodTheFirstDevice) {
  const auto broken = run(spoiled([](model::Plan& plan) {
    for (model::Decision& decision : plan.decisions) {
      if (auto* bind = std::get_if<model::Bind>(&decision)) {
        for (model::PodBinding& pod : bind->pods) pod.gpus = {"g0"};
      }
    }
  }));
  EXPECT_GT(broken->checker().count(Rule::kWrongDevice), 0);
  EXPECT_GT(broken->checker().count(Rule::kStateOverCommitted), 0);
  // The outside does not let it happen.
  EXPECT_EQ(broken->checker().count(Rule::kWorldOverCommitted), 0);
  EXPECT_GT(broken->statistics().refused_binds, 0);
}

// First come, first served, one pod at a time, wherever there is room.
TEST_F(FlawedEngine, ThatKnowsNoGangs) {
  const auto greedy = [](model::ClusterState& state, Instant now) {
    model::Plan plan;
    for (uint32_t slot = 0; slot < state.pods().size(); ++slot) {
      const model::Pod& pod = state.pods()[slot];
      if (!pod.alive || pod.phase != model::PodPhase::kPending) continue;
      for (const uint32_t node_slot : state.inventory().nodes_by_rank()) {
        const model::Node& node = state.inventory().nodes()[node_slot];
        const model::Shape& shape = state.inventory().shape(pod.shape);
        const auto device = std::ranges::find_if(
            node.gpus, [&](const model::Gpu& gpu) { return device_fits(shape, gpu); });
        if (device == node.gpus.end()) continue;
        const auto position = static_cast<size_t>(device - node.gpus.begin());
        plan.decisions.emplace_back(model::Bind{
            state.job(pod.job).id,
            {{pod.id, pod.incarnation, node.name, {state.inventory().name(device->id)}}}});
        model::Trial trial(state);
        trial.place(state.pod_index(slot), state.inventory().index_of(node_slot),
                    model::DeviceMask{1} << position, {now});
        trial.commit();
        return plan;
      }
    }
    return plan;
  };
  const auto broken = run(greedy);
  EXPECT_GT(broken->checker().count(Rule::kBelowMinimum), 0);
  EXPECT_EQ(broken->checker().count(Rule::kStateDiffers), 0);
  EXPECT_EQ(broken->checker().count(Rule::kWrongDevice), 0);
}

}  // namespace
}  // namespace mainspring::sim
