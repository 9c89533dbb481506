// SPDX-License-Identifier: Apache-2.0
#include "mainspring/kube/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainspring::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

base::Json json(const std::string& text) {
  auto parsed = base::parse_json(text);
  MAINSPRING_CHECK(parsed.has_value(), "a test writes JSON");
  return std::move(*parsed);
}

// A pod with this spec and status, without braces around them.
base::Result<PodObject> pod(const std::string& spec, const std::string& status = {}) {
  return decode_pod(json(R"({"metadata":{"name":"p","namespace":"n","uid":"u","labels":{"app":"x"}},
                             "spec":{)" +
                         spec + R"(},"status":{)" + status + "}}"));
}

std::string container(const std::string& requests, const std::string& more = {}) {
  return R"({"name":"c","resources":{"requests":{)" + requests + "}}" + more + "}";
}

std::map<std::string, int64_t> requests_of(const std::string& spec,
                                           const std::string& status = {}) {
  const auto decoded = pod(spec, status);
  MAINSPRING_CHECK(decoded.has_value(), "a test writes a pod");
  return decoded->requests;
}

const std::string kSidecar = R"(,"restartPolicy":"Always")";

TEST(DecodePodTest, RequestsAddUpInTheirUnits) {
  EXPECT_THAT(requests_of(R"("containers":[)" +
                          container(R"("cpu":"1500m","memory":"1Gi","nvidia.com/gpu":"8")") + "," +
                          container(R"("cpu":2,"ephemeral-storage":"1k")") +
                          R"(],"overhead":{"cpu":"250m"})"),
              ElementsAre(Pair("cpu", 3750), Pair("ephemeral-storage", 1000),
                          Pair("memory", int64_t{1} << 30), Pair("nvidia.com/gpu", 8)));
}

TEST(DecodePodTest, InitContainersAndSidecarsRunAsKubernetesRunsThem) {
  const std::string main = R"("containers":[)" + container(R"("cpu":"2")") + "],";
  const auto with = [&](const std::string& init) {
    return requests_of(main + R"("initContainers":[)" + init + "]").at("cpu");
  };
  EXPECT_EQ(with(container(R"("cpu":"1")")), 2000);
  EXPECT_EQ(with(container(R"("cpu":"5")")), 5000);
  EXPECT_EQ(with(container(R"("cpu":"1")", kSidecar)), 3000);
  // The sidecar that was started before runs beside the init container, the later one does not.
  EXPECT_EQ(with(container(R"("cpu":"1")", kSidecar) + "," + container(R"("cpu":"5")")), 6000);
  EXPECT_EQ(with(container(R"("cpu":"5")") + "," + container(R"("cpu":"1")", kSidecar)), 5000);
}

TEST(DecodePodTest, ThePodsOwnRequestsGoBeforeItsContainers) {
  const auto requests =
      requests_of(R"("resources":{"requests":{"cpu":"7","hugepages-2Mi":"4Mi"}},"containers":[)" +
                  container(R"("cpu":"2","nvidia.com/gpu":1)") + R"(],"overhead":{"cpu":"1"})");
  EXPECT_EQ(requests.at("cpu"), 8000);
  EXPECT_EQ(requests.at("hugepages-2Mi"), 4 << 20);
  EXPECT_EQ(requests.at("nvidia.com/gpu"), 1);
}

TEST(DecodePodTest, AResizedContainerHoldsTheMostOfWhatItHasAndWants) {
  const std::string spec = R"("containers":[)" + container(R"("cpu":"2","memory":"1Gi")") + "]";
  const std::string status =
      R"("phase":"Running","containerStatuses":[{"name":"c","allocatedResources":{"memory":"2Gi"},
         "resources":{"requests":{"cpu":"3"}}}])";
  EXPECT_THAT(requests_of(spec, status),
              ElementsAre(Pair("cpu", 3000), Pair("memory", int64_t{2} << 30)));
}

TEST(DecodePodTest, AllThatDecidesIsRead) {
  const auto decoded = pod(
      R"("schedulerName":"mainspring","nodeName":"node-1","priority":-5,"preemptionPolicy":"Never",
         "schedulingGates":[{"name":"a"},{"name":"b"}],"terminationGracePeriodSeconds":0,
         "schedulingGroup":{"podGroupName":"gang"},"nodeSelector":{"zone":"z"},
         "tolerations":[{"operator":"Exists"},{"key":"k","value":"v","effect":"NoExecute"},
                        {"key":"n","operator":"Gt","value":"3"}],
         "volumes":[{"name":"a","persistentVolumeClaim":{"claimName":"data"}},
                    {"name":"tmp","ephemeral":{}},{"name":"x","emptyDir":{}}],
         "resourceClaims":[{"name":"g","resourceClaimName":"gpus"},
                           {"name":"t","resourceClaimTemplateName":"tt"},
                           {"name":"l","resourceClaimTemplateName":"tt"}],
         "containers":[{"name":"c","ports":[{"hostPort":80},{"containerPort":9},
                        {"hostPort":53,"protocol":"UDP","hostIP":"10.0.0.1"}]}],
         "initContainers":[{"restartPolicy":"Always","ports":[{"hostPort":81}]},
                           {"ports":[{"hostPort":82}]}])",
      R"("phase":"Failed","reason":"UnexpectedAdmissionError","nominatedNodeName":"node-2",
         "resourceClaimStatuses":[{"name":"t","resourceClaimName":"made"}],
         "conditions":[{"type":"Ready","status":"True"},{"type":"PodScheduled","status":"False",
           "reason":"Unschedulable","message":"no room"}])");
  ASSERT_TRUE(decoded) << decoded.error().message;
  const PodObject& p = *decoded;
  EXPECT_EQ(p.meta.key(), "n/p");
  EXPECT_EQ(p.scheduler_name, "mainspring");
  EXPECT_EQ(p.node_name, "node-1");
  EXPECT_EQ(p.nominated_node, "node-2");
  EXPECT_EQ(p.priority, -5);
  EXPECT_TRUE(p.never_preempts);
  EXPECT_EQ(p.scheduling_gates, 2);
  EXPECT_EQ(p.grace, base::seconds(1));
  EXPECT_EQ(p.pod_group, "gang");
  EXPECT_THAT(p.node_selector, ElementsAre(Pair("zone", "z")));
  ASSERT_EQ(p.tolerations.size(), 2);
  EXPECT_TRUE(p.tolerations[0].exists && p.tolerations[0].any_effect);
  EXPECT_EQ(p.tolerations[1].effect, model::TaintEffect::kNoExecute);
  EXPECT_THAT(p.claims, ElementsAre("data", "p-tmp"));
  EXPECT_THAT(p.resource_claims, ElementsAre("gpus", "made", ""));
  EXPECT_THAT(p.host_ports,
              ElementsAre(HostPort{"0.0.0.0", "TCP", 80}, HostPort{"10.0.0.1", "UDP", 53},
                          HostPort{"0.0.0.0", "TCP", 81}));
  EXPECT_EQ(p.phase, PodPhaseWord::kFailed);
  EXPECT_TRUE(p.finished() && p.ready);
  EXPECT_EQ(p.status_reason, "UnexpectedAdmissionError");
  EXPECT_EQ(p.scheduled, (ScheduledCondition{false, "Unschedulable", "no room"}));
}

TEST(DecodePodTest, AffinityAndSpreadAreRead) {
  const auto decoded = pod(
      R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
           {"nodeSelectorTerms":[{},{"matchExpressions":[{"key":"cpus","operator":"Gt",
             "values":["4"]}],"matchFields":[{"key":"metadata.name","operator":"In",
             "values":["a"]}]}]}},
         "podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
           {"topologyKey":"zone","labelSelector":{"matchLabels":{"app":"y"}}}]},
         "podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
           {"topologyKey":"host","namespaceSelector":{}}]}},
         "topologySpreadConstraints":[
           {"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","minDomains":3,
            "nodeAffinityPolicy":"Ignore","nodeTaintsPolicy":"Honor","matchLabelKeys":["app","no"],
            "labelSelector":{"matchExpressions":[{"key":"t","operator":"DoesNotExist"}]}},
           {"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway"}])");
  ASSERT_TRUE(decoded) << decoded.error().message;
  ASSERT_EQ(decoded->node_terms.size(), 1);
  EXPECT_FALSE(decoded->impossible_terms);
  EXPECT_EQ(decoded->node_terms[0].labels[0].op, model::SelectorOp::kGt);
  EXPECT_EQ(decoded->node_terms[0].fields[0].values[0], "a");
  ASSERT_EQ(decoded->affinity.size(), 1);
  EXPECT_THAT(decoded->affinity[0].namespaces, ElementsAre("n"));
  EXPECT_TRUE(matches(decoded->affinity[0].selector, {{"app", "y"}}));
  EXPECT_FALSE(matches(decoded->affinity[0].selector, {{"app", "x"}}));
  ASSERT_EQ(decoded->anti_affinity.size(), 1);
  EXPECT_TRUE(decoded->anti_affinity[0].selector.matches_nothing);
  EXPECT_THAT(decoded->anti_affinity[0].namespaces, IsEmpty());
  EXPECT_TRUE(matches(*decoded->anti_affinity[0].namespace_selector, {}));
  ASSERT_EQ(decoded->spread.size(), 1);
  const SpreadConstraint& spread = decoded->spread[0];
  EXPECT_EQ(spread.max_skew, 2);
  EXPECT_EQ(spread.min_domains, 3);
  EXPECT_FALSE(spread.honor_affinity);
  EXPECT_TRUE(spread.honor_taints);
  EXPECT_TRUE(matches(spread.selector, {{"app", "x"}}));
  EXPECT_FALSE(matches(spread.selector, {{"app", "x"}, {"t", ""}}));
  EXPECT_FALSE(matches(spread.selector, {}));
  EXPECT_TRUE(pod(R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
                    {"nodeSelectorTerms":[{}]}}})")
                  ->impossible_terms);
}

TEST(DecodePodTest, BadPodsAreRefusedByTheNameOfTheField) {
  const std::string gpu = R"("containers":[{"resources":{"requests":{"nvidia.com/gpu":)";
  const std::pair<std::string, std::string> cases[] = {
      {gpu + R"("-1"}}}])", "spec.containers[0].resources.requests.nvidia.com/gpu: \"-1\""},
      {gpu + R"("9223372036854775808"}}}])", "no amount"},
      {gpu + R"("0x8"}}}])", "no amount"},
      {gpu + R"(" 8"}}}])", "no amount"},
      {gpu + R"("NaN"}}}])", "no amount"},
      {gpu + "1.5}}}]", "no amount"},
      {gpu + "true}}}]", "no amount"},
      {gpu + R"("9223372036854775807"}}},{"resources":{"requests":{"nvidia.com/gpu":1}}}])",
       "add up to more"},
      {R"("containers":{})", "spec.containers: must be of type array, not object"},
      {R"("containers":[7])", "spec.containers[0]: must be an object"},
      {R"("priority":2147483648)", "spec.priority: 2147483648 is not in"},
      {R"("priority":"high")", "spec.priority: must be of type integer"},
      {R"("nodeSelector":{"a":null})", "spec.nodeSelector: the value of \"a\""},
      {R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
          {"nodeSelectorTerms":[{"matchExpressions":[{"key":"k","operator":"Near"}]}]}}})",
       "nodeSelectorTerms[0].matchExpressions[0].operator: is not known"},
      {R"("topologySpreadConstraints":[{"whenUnsatisfiable":"DoNotSchedule","maxSkew":0}])",
       "topologySpreadConstraints[0].maxSkew"},
  };
  for (const auto& [spec, message] : cases) {
    const auto decoded = pod(spec);
    ASSERT_FALSE(decoded) << spec;
    EXPECT_THAT(decoded.error().message, HasSubstr(message));
  }
  for (const char* text :
       {"null", "[]", "{}", "7", R"({"metadata":{}})", R"({"metadata":{"name":"x"}})",
        R"({"metadata":[],"spec":{}})",
        R"({"metadata":{"name":"x","creationTimestamp":"yesterday"},"spec":{}})"}) {
    EXPECT_FALSE(decode_pod(json(text))) << text;
  }
}

TEST(DecodePodTest, AThousandContainersAreAPodLikeAnyOther) {
  std::string list;
  for (int i = 0; i < 1000; ++i) {
    list += (i > 0 ? "," : "") + container(R"("nvidia.com/gpu":1)");
  }
  EXPECT_EQ(requests_of(R"("containers":[)" + list + R"(],"initContainers":[)" + list + "]")
                .at("nvidia.com/gpu"),
            1000);
}

TEST(DecodeMetaTest, OwnersTimesAndDeletionAreReadAndKubectlsCopyIsNot) {
  const auto decoded = decode_namespace(json(
      R"({"metadata":{"name":"x","resourceVersion":"7","creationTimestamp":"2027-01-15T08:00:00Z",
          "deletionTimestamp":"2027-01-15T08:00:01Z",
          "annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","a":"b"},
          "ownerReferences":[{"kind":"ReplicaSet","name":"r"},
             {"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"ju","controller":true}]}})"));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_THAT(decoded->meta.annotations, ElementsAre(Pair("a", "b")));
  EXPECT_EQ(decoded->meta.controller, (Owner{"batch/v1", "Job", "j", "ju"}));
  EXPECT_EQ(decoded->meta.created_at, base::Instant{1'800'000'000'000});
  EXPECT_TRUE(decoded->meta.deleting);
}

TEST(DecodeNodeTest, WhatANodeOffersIsRead) {
  const auto decoded = decode_node(json(
      R"({"metadata":{"name":"n"},"spec":{"unschedulable":true,"taints":[
            {"key":"gpu","value":"v","effect":"NoExecute"},{"key":"x","effect":"NoSchedule"}]},
          "status":{"allocatable":{"cpu":"63500m","memory":"1056Mi","nvidia.com/gpu":"8"},
            "conditions":[{"type":"Ready","status":"True"}]}})"));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_TRUE(decoded->unschedulable && decoded->ready);
  EXPECT_THAT(decoded->allocatable,
              UnorderedElementsAre(Pair("cpu", 63'500), Pair("memory", int64_t{1056} << 20),
                                   Pair("nvidia.com/gpu", 8)));
  ASSERT_EQ(decoded->taints.size(), 2);
  EXPECT_EQ(decoded->taints[0].effect, model::TaintEffect::kNoExecute);
  EXPECT_THAT(decode_node(json(R"({"metadata":{"name":"n"},
                                   "status":{"allocatable":{"memory":"-1"}}})"))
                  .error()
                  .message,
              HasSubstr("status.allocatable.memory"));
}

TEST(DecodeWorkloadTest, GroupsJobsAndBudgetsAreRead) {
  const std::string meta = R"({"metadata":{"name":"x"},)";
  const auto group =
      decode_pod_group(json(meta + R"("spec":{"schedulingPolicy":{"gang":{"minCount":512}}}})"));
  EXPECT_EQ(group->min_count, 512);
  EXPECT_EQ(
      decode_pod_group(json(meta + R"("spec":{"schedulingPolicy":{"basic":{}}}})"))->min_count, 0);
  for (const char* bad : {"0", "-1", "2147483648", "\"2\"", "1.5"}) {
    EXPECT_FALSE(decode_pod_group(
        json(meta + R"("spec":{"schedulingPolicy":{"gang":{"minCount":)" + bad + "}}}}")));
  }
  const auto job = decode_batch_job(
      json(meta + R"("spec":{"parallelism":4},"status":{"conditions":[{"type":"Complete",
                "status":"True"}]}})"));
  EXPECT_EQ(job->parallelism, 4);
  EXPECT_TRUE(job->finished);
  const auto budget =
      decode_budget(json(meta + R"("spec":{"selector":{}},"status":{"disruptionsAllowed":2}})"));
  EXPECT_EQ(budget->disruptions_allowed, 2);
  EXPECT_TRUE(matches(budget->selector, {}));
  EXPECT_FALSE(matches(decode_budget(json(meta + R"("spec":{}})"))->selector, {}));
}

TEST(DecodeVolumeTest, VolumesClaimsAndClassesAreRead) {
  const auto volume = decode_volume(json(
      R"({"metadata":{"name":"v"},"spec":{"storageClassName":"fast","capacity":{"storage":"5Gi"},
          "accessModes":["ReadWriteOnce"],"csi":{"driver":"d"},"claimRef":{"namespace":"n",
          "name":"c"},"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[
          {"key":"zone","operator":"In","values":["a"]}]}]}}},"status":{"phase":"Bound"}})"));
  ASSERT_TRUE(volume) << volume.error().message;
  EXPECT_EQ(volume->claim, "n/c");
  EXPECT_EQ(volume->capacity_bytes, int64_t{5} << 30);
  EXPECT_EQ(volume->node_terms.size(), 1);
  const auto claim = decode_claim(json(
      R"({"metadata":{"name":"c","namespace":"n","annotations":{
          "volume.kubernetes.io/selected-node":"node-1"}},"spec":{"storageClassName":"fast",
          "resources":{"requests":{"storage":"1Gi"}}},"status":{"phase":"Pending"}})"));
  ASSERT_TRUE(claim) << claim.error().message;
  EXPECT_EQ(claim->selected_node, "node-1");
  EXPECT_EQ(claim->request_bytes, int64_t{1} << 30);
  const auto storage = decode_storage_class(json(
      R"({"metadata":{"name":"fast"},"provisioner":"p","volumeBindingMode":"WaitForFirstConsumer",
          "allowedTopologies":[{"matchLabelExpressions":[{"key":"zone","values":["a","b"]}]}]})"));
  ASSERT_TRUE(storage) << storage.error().message;
  EXPECT_TRUE(storage->waits_for_consumer);
  EXPECT_THAT(storage->allowed_topologies[0].labels[0].values, ElementsAre("a", "b"));
  const auto csi = decode_csi_node(json(
      R"({"metadata":{"name":"n"},"spec":{"drivers":[{"name":"d","allocatable":{"count":25}},
          {"name":"unlimited"}]}})"));
  EXPECT_THAT(csi->volume_limits, ElementsAre(Pair("d", 25)));
}

}  // namespace
}  // namespace mainspring::kube
