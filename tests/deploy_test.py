#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manifests in deploy/: that they fit together, and that nobody is given more than needed."""

import pathlib
import re
import unittest

import yaml

DEPLOY = pathlib.Path("deploy")
READ_VERBS = {"get", "list", "watch"}
# All that may be written, and nothing else, ever.
WRITES = {
    ("", "pods/binding", "create"),
    ("", "pods/eviction", "create"),
    ("", "pods/status", "patch"),
    ("scheduling.k8s.io", "podgroups/status", "patch"),
    ("events.k8s.io", "events", "create"),
    ("events.k8s.io", "events", "patch"),
    ("coordination.k8s.io", "leases", "create"),
    ("coordination.k8s.io", "leases", "update"),
}


def manifests(folder):
    """All objects of a folder, in the order in which `kubectl apply -f` takes them."""
    objects = []
    for path in sorted((DEPLOY / folder).glob("*.yaml")):
        objects += [found for found in yaml.safe_load_all(path.read_text()) if found]
    return objects


def of_kind(objects, *kinds):
    return [one for one in objects if one["kind"] in kinds]


def grants(role):
    """Each right of a role as (group, resource, verb)."""
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule.get("apiGroups", [])
        for resource in rule.get("resources", [])
        for verb in rule["verbs"]
    }


class Folder:
    """What holds for each of the two installations."""

    def setUp(self):
        self.objects = manifests(self.folder)
        (self.deployment,) = of_kind(self.objects, "Deployment")
        self.pod = self.deployment["spec"]["template"]["spec"]
        (self.container,) = self.pod["containers"]
        self.labels = self.deployment["spec"]["template"]["metadata"]["labels"]

    def test_every_object_is_whole_and_there_once(self):
        seen = set()
        for one in self.objects:
            name = (one["apiVersion"], one["kind"], one["metadata"]["name"])
            self.assertNotIn(name, seen)
            seen.add(name)
        self.assertEqual(self.objects[0]["kind"], "Namespace", "all others lie in it")
        for one in self.objects:
            namespace = one["metadata"].get("namespace")
            self.assertIn(namespace, (None, self.objects[0]["metadata"]["name"]))

    def test_no_secret_is_read_or_carried(self):
        self.assertEqual(of_kind(self.objects, "Secret"), [])
        for role in of_kind(self.objects, "ClusterRole", "Role"):
            resources = {resource for _, resource, _ in grants(role)}
            self.assertFalse({"secrets", "configmaps", "serviceaccounts/token"} & resources)
        self.assertNotIn("secret", [key.lower() for v in self.pod["volumes"] for key in v])

    def test_no_right_is_a_wildcard(self):
        for role in of_kind(self.objects, "ClusterRole", "Role"):
            for rule in role["rules"]:
                self.assertNotIn("nonResourceURLs", rule)
                for field in ("apiGroups", "resources", "verbs"):
                    self.assertNotIn("*", "".join(rule[field]), rule)

    def test_only_what_is_listed_here_may_be_written(self):
        for role in of_kind(self.objects, "ClusterRole", "Role"):
            for group, resource, verb in grants(role):
                if verb not in READ_VERBS:
                    self.assertIn((group, resource, verb), self.writes)

    def test_every_binding_leads_from_an_account_to_a_role(self):
        accounts = {
            (one["metadata"]["namespace"], one["metadata"]["name"])
            for one in of_kind(self.objects, "ServiceAccount")
        }
        self.assertEqual(len(accounts), 1)
        roles = {(one["kind"], one["metadata"]["name"]) for one in self.objects}
        bound = set()
        for binding in of_kind(self.objects, "ClusterRoleBinding", "RoleBinding"):
            reference = binding["roleRef"]
            self.assertIn((reference["kind"], reference["name"]), roles)
            bound.add((reference["kind"], reference["name"]))
            for subject in binding["subjects"]:
                self.assertEqual(subject["kind"], "ServiceAccount")
                self.assertIn((subject["namespace"], subject["name"]), accounts)
        for role in of_kind(self.objects, "ClusterRole", "Role"):
            self.assertIn((role["kind"], role["metadata"]["name"]), bound)
        (account,) = accounts
        self.assertEqual(self.pod["serviceAccountName"], account[1])
        self.assertEqual(self.deployment["metadata"]["namespace"], account[0])

    def test_selectors_find_their_pods(self):
        self.assertEqual(self.deployment["spec"]["selector"]["matchLabels"], self.labels)
        (service,) = of_kind(self.objects, "Service")
        self.assertEqual(service["spec"]["selector"], self.labels)
        for budget in of_kind(self.objects, "PodDisruptionBudget"):
            self.assertEqual(budget["spec"]["selector"]["matchLabels"], self.labels)

    def test_the_pod_can_do_nothing_to_its_node(self):
        context = self.pod["securityContext"]
        self.assertTrue(context["runAsNonRoot"])
        self.assertGreater(context["runAsUser"], 0)
        self.assertGreater(context["runAsGroup"], 0)
        self.assertEqual(context["seccompProfile"], {"type": "RuntimeDefault"})
        context = self.container["securityContext"]
        self.assertFalse(context["allowPrivilegeEscalation"])
        self.assertTrue(context["readOnlyRootFilesystem"])
        self.assertEqual(context["capabilities"], {"drop": ["ALL"]})
        for field in ("hostNetwork", "hostPID", "hostIPC"):
            self.assertNotIn(field, self.pod)
        self.assertFalse([volume for volume in self.pod["volumes"] if "hostPath" in volume])
        (namespace,) = of_kind(self.objects, "Namespace")
        enforced = namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
        self.assertEqual(enforced, "restricted")

    def test_probes_ask_where_the_program_listens(self):
        paths = {
            "startupProbe": "/readyz",
            "livenessProbe": "/healthz",
            "readinessProbe": "/readyz",
        }
        (port,) = self.container["ports"]
        for probe, path in paths.items():
            question = self.container[probe]["httpGet"]
            self.assertEqual((question["path"], question["port"]), (path, port["name"]))
        arguments = self.container["args"]
        listen = arguments[arguments.index("--listen") + 1]
        self.assertEqual(listen, f":{port['containerPort']}")

    def test_the_configuration_is_mounted_where_it_is_read(self):
        (config,) = of_kind(self.objects, "ConfigMap")
        (volume,) = self.pod["volumes"]
        (mount,) = self.container["volumeMounts"]
        self.assertEqual(volume["configMap"]["name"], config["metadata"]["name"])
        self.assertEqual(mount["name"], volume["name"])
        arguments = self.container["args"]
        path = arguments[arguments.index("--config") + 1]
        self.assertEqual(path, mount["mountPath"] + "/config.yaml")
        self.assertEqual(list(config["data"]), ["config.yaml"])

    def test_what_it_needs_is_stated(self):
        self.assertEqual(set(self.container["resources"]["requests"]), {"cpu", "memory"})
        self.assertIn("memory", self.container["resources"]["limits"])
        project = pathlib.Path("CMakeLists.txt").read_text()
        version = re.search(r"project\(Mainspring VERSION (\S+)", project)
        self.assertEqual(self.container["image"], "mainspring:" + version.group(1))
        keys = {toleration["key"] for toleration in self.pod["tolerations"]}
        self.assertIn("node-role.kubernetes.io/control-plane", keys)


class Bind(Folder, unittest.TestCase):
    folder = "bind"
    writes = WRITES

    def test_all_that_it_writes_is_allowed(self):
        allowed = set()
        for role in of_kind(self.objects, "ClusterRole", "Role"):
            allowed |= grants(role)
        self.assertLessEqual(WRITES, allowed)

    def test_leases_are_written_in_its_own_namespace_only(self):
        for role in of_kind(self.objects, "ClusterRole"):
            self.assertNotIn("leases", {resource for _, resource, _ in grants(role)})
        (role,) = of_kind(self.objects, "Role")
        for rule in role["rules"]:
            if "create" not in rule["verbs"]:
                self.assertEqual(rule["resourceNames"], ["mainspring"])

    def test_one_replica_may_be_lost(self):
        self.assertEqual(self.deployment["spec"]["replicas"], 2)
        (budget,) = of_kind(self.objects, "PodDisruptionBudget")
        self.assertEqual(budget["spec"]["maxUnavailable"], 1)
        self.assertEqual(self.pod["priorityClassName"], "system-cluster-critical")

    def test_its_requests_have_a_place_of_their_own(self):
        (flow,) = of_kind(self.objects, "FlowSchema")
        (level,) = of_kind(self.objects, "PriorityLevelConfiguration")
        name = flow["spec"]["priorityLevelConfiguration"]["name"]
        self.assertEqual(level["metadata"]["name"], name)
        (rule,) = flow["spec"]["rules"]
        (subject,) = rule["subjects"]
        account = {"name": self.pod["serviceAccountName"], "namespace": "mainspring"}
        self.assertEqual(subject["serviceAccount"], account)
        queuing = level["spec"]["limited"]["limitResponse"]["queuing"]
        self.assertLess(queuing["handSize"], queuing["queues"])


class Shadow(Folder, unittest.TestCase):
    folder = "shadow"
    writes = set()

    def test_it_reads_what_the_other_reads(self):
        (ours,) = of_kind(self.objects, "ClusterRole")
        (theirs,) = of_kind(manifests("bind"), "ClusterRole")
        read = {grant for grant in grants(theirs) if grant[2] in READ_VERBS}
        self.assertEqual(grants(ours), read)

    def test_its_configuration_writes_nothing(self):
        (config,) = of_kind(self.objects, "ConfigMap")
        text = yaml.safe_load(config["data"]["config.yaml"])
        self.assertEqual(text["mode"], "shadow")


class Image(unittest.TestCase):
    def setUp(self):
        self.lines = (DEPLOY / "Containerfile").read_text().splitlines()

    def test_it_is_made_of_debian_12_and_no_registry_is_named(self):
        images = [line.split()[1] for line in self.lines if line.startswith("FROM ")]
        self.assertEqual(images, ["debian:12-slim"] * 2)

    def test_it_runs_as_the_user_of_the_deployment(self):
        (user,) = [line.split()[1] for line in self.lines if line.startswith("USER ")]
        (deployment,) = of_kind(manifests("bind"), "Deployment")
        context = deployment["spec"]["template"]["spec"]["securityContext"]
        self.assertEqual(user, f"{context['runAsUser']}:{context['runAsGroup']}")


if __name__ == "__main__":
    unittest.main()
