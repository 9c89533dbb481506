// SPDX-License-Identifier: Apache-2.0
#include "mainspring/model/queue_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mainspring/model/resources.h"

namespace mainspring::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

QueueSpec queue(const std::string& name, const std::string& parent = "",
                std::vector<QueueResource> resources = {}) {
  QueueSpec spec;
  spec.name = name;
  spec.parent = parent;
  spec.resources = std::move(resources);
  return spec;
}

QueueResource gpus(int64_t quota, int64_t limit = kUnlimited) {
  return {.name = "gpu", .quota = quota, .limit = limit};
}

std::string refusal(const QueueSpec& spec) {
  const auto ok = validate(spec);
  return ok ? "accepted" : ok.error().message;
}

std::string refusal(const QueueResource& resource) { return refusal(queue("q", "", {resource})); }

std::string refusal(const std::vector<QueueSpec>& queues) {
  const auto ok = validate(queues);
  return ok ? "accepted" : ok.error().message;
}

TEST(QueueSpecTest, AcceptsWhatThePagesShow) {
  EXPECT_EQ(refusal({queue("org"), queue("org/ml-team_1.a", "org", {gpus(8000, 16000)})}),
            "accepted");
  EXPECT_EQ(refusal(queue("all", "",
                          {gpus(kUnlimited, 4000),
                           {.name = "cpu", .quota_ppm = 1'000'000, .weight = 1},
                           {.name = "memory", .limit = 0, .weight = kWeightMax},
                           {.name = "gpu:NVIDIA A100-SXM4-40GB", .quota = kAmountMax}})),
            "accepted");
}

TEST(QueueSpecTest, RefusesOddNames) {
  EXPECT_EQ(refusal(queue("")), "queue.name is empty");
  EXPECT_EQ(refusal(queue(std::string(254, 'x'))), "queue.name is longer than 253 characters");
  EXPECT_EQ(refusal(queue(std::string(253, 'x'))), "accepted");
  EXPECT_EQ(refusal(queue("a b")), "queue.name has a space");
  EXPECT_EQ(refusal(queue(std::string("a\0b", 3))), "queue.name has a control character");
  EXPECT_EQ(refusal(queue("a\nb")), "queue.name has a control character");
  EXPECT_EQ(refusal(queue("a\x7f")), "queue.name has a control character");
  EXPECT_EQ(refusal(queue("\xe2\x80\xae"
                          "abc")),
            "queue.name has a character outside ASCII");
  EXPECT_EQ(refusal(queue("a", "b\tc")), "queue a: parent has a control character");
  EXPECT_EQ(refusal(queue("a", "a")), "queue a: parent is the queue itself");
  QueueSpec spec = queue("a");
  spec.tenants = {"team", ""};
  EXPECT_EQ(refusal(spec), "queue a: tenants is empty");
}

TEST(QueueSpecTest, RefusesUnknownResources) {
  for (const std::string name : {"gpus", "GPU", "nvidia.com/gpu", "pods"}) {
    EXPECT_EQ(refusal(QueueResource{.name = name}),
              "queue q: resources.name " + name + " is none of gpu, cpu, memory and gpu:MODEL");
  }
  EXPECT_THAT(refusal(QueueResource{.name = ""}), HasSubstr("resources.name is none of"));
  EXPECT_THAT(refusal(QueueResource{.name = "a\nb"}), HasSubstr("resources.name is none of"));
  EXPECT_THAT(refusal(QueueResource{.name = "gpu:"}), HasSubstr("MODEL in gpu:MODEL is empty"));
  EXPECT_THAT(refusal(QueueResource{.name = "gpu:\x01"}), HasSubstr("control character"));
  EXPECT_EQ(refusal(queue("q", "", {gpus(1), {.name = "cpu"}, gpus(2)})),
            "queue q: resources names gpu twice");
  QueueSpec spec = queue("q");
  for (int i = 0; i < 67; ++i) spec.resources.push_back({.name = "gpu:" + std::to_string(i)});
  EXPECT_EQ(refusal(spec), "accepted");
  spec.resources.push_back({.name = "cpu"});
  EXPECT_EQ(refusal(spec), "queue q: resources has more than 67 entries");
}

TEST(QueueSpecTest, RefusesAmountsOutOfRange) {
  EXPECT_EQ(refusal(gpus(-2)), "queue q: resources.gpu.quota is below -1 (-2); -1 means unlimited");
  EXPECT_THAT(refusal(gpus(kAmountMax + 1)), HasSubstr("resources.gpu.quota is above 2^53"));
  EXPECT_THAT(refusal(gpus(0, -2)), HasSubstr("resources.gpu.limit is below -1"));
  EXPECT_THAT(refusal(gpus(0, INT64_MAX)), HasSubstr("resources.gpu.limit is above 2^53"));
  EXPECT_THAT(refusal(QueueResource{.name = "gpu", .weight = 0}),
              HasSubstr("resources.gpu.weight is not in 1..1000000000 (0)"));
  EXPECT_THAT(refusal(QueueResource{.name = "gpu", .weight = -1}),
              HasSubstr("resources.gpu.weight is not in 1..1000000000 (-1)"));
  EXPECT_THAT(refusal(QueueResource{.name = "cpu", .weight = kWeightMax + 1}),
              HasSubstr("resources.cpu.weight is not in"));
  EXPECT_THAT(refusal(QueueResource{.name = "gpu", .quota_ppm = -1}),
              HasSubstr("resources.gpu.quota_ppm is not in"));
  EXPECT_THAT(refusal(QueueResource{.name = "gpu", .quota_ppm = 1'000'001}),
              HasSubstr("resources.gpu.quota_ppm is not in"));
  EXPECT_THAT(refusal(QueueResource{.name = "gpu", .quota = 1, .quota_ppm = 1}),
              HasSubstr("resources.gpu: quota and quota_ppm exclude each other"));
  EXPECT_EQ(refusal(gpus(5000, 4000)),
            "queue q: resources.gpu.quota (5000) is above its limit (4000)");
}

TEST(QueueSpecTest, RefusesNegativeTimes) {
  QueueSpec spec = queue("q");
  spec.min_run_before_preempt.ms = -1;
  EXPECT_EQ(refusal(spec), "queue q: min_run_before_preempt is negative");
  spec = queue("q");
  spec.min_run_before_reclaim.ms = -1;
  EXPECT_EQ(refusal(spec), "queue q: min_run_before_reclaim is negative");
  spec = queue("q");
  spec.displace_after.ms = -1;
  EXPECT_EQ(refusal(spec), "queue q: displace_after is negative");
}

TEST(QueueSpecTest, RefusesWhatIsNoTree) {
  EXPECT_EQ(refusal({queue("a"), queue("b"), queue("a")}), "queue a: name occurs twice");
  EXPECT_EQ(refusal({queue("a"), queue("b", "c")}), "queue b: parent c is not there");
  EXPECT_EQ(refusal({queue("x", "a"), queue("a", "b"), queue("b", "c"), queue("c", "a")}),
            "queue b: parent leads back to the queue itself");
  EXPECT_EQ(refusal({queue("b", "a"), queue("a")}), "accepted");
  EXPECT_EQ(refusal({queue("a", "", {gpus(-5)})}).substr(0, 29), "queue a: resources.gpu.quota ");
}

TEST(QueueSpecTest, BoundsDepthAndSize) {
  std::vector<QueueSpec> chain{queue("q0")};
  for (size_t i = 1; i < kQueueDepthMax; ++i) {
    chain.push_back(queue("q" + std::to_string(i), "q" + std::to_string(i - 1)));
  }
  EXPECT_EQ(refusal(chain), "accepted");
  chain.push_back(queue("last", "q15"));
  EXPECT_EQ(refusal(chain), "queue last: more than 15 levels lie above it");
  std::vector<QueueSpec> many;
  for (size_t i = 0; i < kQueuesMax; ++i) many.push_back(queue("q" + std::to_string(i)));
  EXPECT_EQ(refusal(many), "accepted");
  many.push_back(queue("one-more"));
  EXPECT_EQ(refusal(many), "queues has more than 20,000 entries");
  // One long circle.
  many.pop_back();
  for (size_t i = 0; i < kQueuesMax; ++i) {
    many[i].parent = "q" + std::to_string((i + 1) % kQueuesMax);
  }
  EXPECT_THAT(refusal(many), HasSubstr("parent leads back to the queue itself"));
}

TEST(QueueSpecTest, RefusesSumsThatOverflow) {
  std::vector<QueueSpec> queues{queue("root", "", {gpus(kUnlimited)})};
  for (int i = 0; i < 256; ++i) {
    queues.push_back(queue("q" + std::to_string(i), "root", {gpus(kAmountMax)}));
  }
  EXPECT_EQ(refusal(queues), "accepted");
  queues.push_back(queue("last", "root", {gpus(1)}));
  EXPECT_EQ(refusal(queues), "queue last: resources.gpu.quota: with its siblings it is above 2^61");
  // Elsewhere in the tree it is another sum.
  queues.back().parent = "q0";
  EXPECT_EQ(refusal(queues), "accepted");
}

TEST(QueueSpecTest, WarnsOfPromisesThatCannotAllBeKept) {
  const std::vector<QueueSpec> queues{
      queue("org", "", {gpus(10'500, 11'000), {.name = "memory", .quota = 100}}),
      queue("a", "org", {gpus(8000), {.name = "memory", .quota = 60}}),
      queue("b", "org", {gpus(4000), {.name = "memory", .quota_ppm = 500'000}}),
  };
  EXPECT_EQ(refusal(queues), "accepted");
  EXPECT_THAT(
      warnings(queues),
      ElementsAre("the children of queue org are promised 12 of gpu, but it is promised 10.5: "
                  "their shares are scaled down",
                  "the children of queue org are promised 12 of gpu, but its limit is 11: they "
                  "never get it all at once",
                  "the children of queue org are promised 110 bytes of memory, but it is promised "
                  "100 bytes: their shares are scaled down"));
}

TEST(QueueSpecTest, WarnsOfPartsAboveTheWhole) {
  const auto part = [](int32_t ppm) {
    return std::vector<QueueResource>{{.name = "gpu", .quota_ppm = ppm}};
  };
  EXPECT_THAT(warnings(std::vector<QueueSpec>{queue("training", "", part(600'000)),
                                              queue("interactive", "", part(300'000)),
                                              queue("experiments", "", part(100'000))}),
              IsEmpty());
  EXPECT_THAT(warnings(std::vector<QueueSpec>{queue("a", "", part(600'000)),
                                              queue("b", "", part(455'000))}),
              ElementsAre("the roots are promised 105.5 % of the gpu of the cluster: their shares "
                          "are scaled down"));
  EXPECT_THAT(warnings(std::vector<QueueSpec>{queue("p"), queue("a", "p", part(600'000)),
                                              queue("b", "p", part(600'000))}),
              ElementsAre("the children of queue p are promised 120 % of the gpu of their parent: "
                          "their shares are scaled down"));
}

TEST(QueueSpecTest, WarnsByThePartOfAPart) {
  const QueueSpec root = queue("root", "", {gpus(100'000)});
  const QueueSpec half = queue("half", "root", {{.name = "gpu", .quota_ppm = 500'000}});
  EXPECT_THAT(warnings(std::vector<QueueSpec>{root, half, queue("leaf", "half", {gpus(50'000)})}),
              IsEmpty());
  EXPECT_THAT(warnings(std::vector<QueueSpec>{root, half, queue("leaf", "half", {gpus(50'001)})}),
              ElementsAre("the children of queue half are promised 50.001 of gpu, but it is "
                          "promised 50: their shares are scaled down"));
  EXPECT_THAT(
      warnings(std::vector<QueueSpec>{root, half, queue("leaf", "half", {gpus(kUnlimited)})}),
      ElementsAre("the children of queue half are promised everything of gpu, but it is promised "
                  "50: their shares are scaled down"));
  // How much a part of the cluster is, is not known here.
  QueueSpec part = half;
  part.parent.clear();
  EXPECT_THAT(warnings(std::vector<QueueSpec>{part, queue("leaf", "half", {gpus(70'000)})}),
              IsEmpty());
}

}  // namespace
}  // namespace mainspring::model
