// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mainspring.dev/e2e/cluster"
)

// leading says where the lease lies that the deployed role allows. It changes hands quickly, so
// that a restart after a crash does not wait for long.
const leading = `
leader_election: {namespace: mainspring, lease_duration: 3s, renew_deadline: 2s, retry_period: 250ms}
`

// oneQueue owns the whole cluster: pods that may not be displaced have to be within a quota.
const oneQueue = `
queues: [{name: default, gpu: {quota: 100 %}, cpu: {quota: 100 %}, memory: {quota: 100 %}}]
`

// deployed is what docs/install.md has applied, apart from the Deployment itself.
var deployed = []string{"../../deploy/bind/access.yaml", "../../deploy/bind/flow.yaml"}

// startMainspring runs it as the deployed service account, with the roles of the deployment.
func startMainspring(t testing.TB, c *cluster.Cluster, config string) *cluster.Mainspring {
	t.Helper()
	m := cluster.StartMainspring(t, c,
		cluster.MainspringOptions{Config: config + leading, Manifests: deployed})
	t.Cleanup(func() {
		if t.Failed() {
			tellWhatIs(t, c, m)
		}
	})
	return m
}

// tellWhatIs shows what a failed test left.
func tellWhatIs(t testing.TB, c *cluster.Cluster, m *cluster.Mainspring) {
	lines, err := c.AuditLines(m.User)
	t.Logf("asked for: %s (%v)", strings.Join(lines, "; "), err)
	pods, err := c.Pods(context.Background(), "", "")
	t.Logf("%d pods (%v)", len(pods), err)
	for i := range pods {
		pod, condition := &pods[i], scheduledCondition(&pods[i])
		t.Logf("%s is %s on %q: %s %s", pod.Name, pod.Status.Phase, pod.Spec.NodeName,
			condition.Reason, condition.Message)
	}
}

// gang is that many pods of one group by annotations, all of which have to run.
func gang(name string, pods, gpus int) []*corev1.Pod {
	members := make([]*corev1.Pod, pods)
	for i := range members {
		members[i] = cluster.GPUPod("work", fmt.Sprintf("%s-%02d", name, i), "mainspring", gpus)
		members[i].Labels["gang"] = name
		members[i].Annotations["mainspring.dev/group"] = name
		members[i].Annotations["mainspring.dev/min-count"] = fmt.Sprint(pods)
	}
	return members
}

// bindings counts the bindings that a user asked for and got, by pod.
func bindings(t testing.TB, c *cluster.Cluster, user string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.Folder, "audit.log"))
	must(t, err)
	text = text[:bytes.LastIndexByte(text, '\n')+1] // the last line may still be under way
	counts := map[string]int{}
	for line := range bytes.Lines(text) {
		if !bytes.Contains(line, []byte(`"subresource":"binding"`)) {
			continue // reading a line is what costs
		}
		var event struct {
			Verb           string
			User           struct{ Username string }
			ObjectRef      struct{ Subresource, Name string }
			ResponseStatus struct{ Code int }
		}
		must(t, json.Unmarshal(line, &event))
		if event.Verb == "create" && event.ObjectRef.Subresource == "binding" &&
			event.User.Username == user && event.ResponseStatus.Code == 201 {
			counts[event.ObjectRef.Name]++
		}
	}
	return counts
}

// requireOneBindingEach wants every pod of the namespace bound once by the user, and no other pod.
func requireOneBindingEach(t testing.TB, c *cluster.Cluster, user string, pods int) {
	t.Helper()
	counts := bindings(t, c, user)
	if len(counts) != pods {
		t.Errorf("%d pods were bound instead of %d", len(counts), pods)
	}
	for name, count := range counts {
		if count != 1 {
			t.Errorf("%s was bound %d times", name, count)
		}
	}
}

// scheduledCondition is what a pod says about having a node.
func scheduledCondition(pod *corev1.Pod) corev1.PodCondition {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled {
			return condition
		}
	}
	return corev1.PodCondition{}
}

// says is a predicate: the pod waits, and its reason has all of these words.
func says(words ...string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		for _, word := range words {
			if !strings.Contains(scheduledCondition(pod).Message, word) {
				return false
			}
		}
		return scheduledCondition(pod).Status == corev1.ConditionFalse && !cluster.Bound(pod)
	}
}

func requireNothingRefused(t testing.TB, c *cluster.Cluster) {
	t.Helper()
	if refused := c.Player.Refused(); len(refused) > 0 {
		t.Errorf("kubelets refused: %v", refused)
	}
}

func TestMainspringBinds(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newNamespace(t, cluster.Options{}, 4)
	m := startMainspring(t, c, oneQueue)

	pods := gang("gang", 8, 1)
	for i := range 20 {
		pods = append(pods, cluster.GPUPod("work", fmt.Sprintf("single-%02d", i), "mainspring", 1))
	}
	impossible := cluster.GPUPod("work", "impossible", "mainspring", 9)
	strange := cluster.GPUPod("work", "strange", "mainspring", 1)
	strange.Labels["app"] = "strange"
	impossible.Labels["app"] = "impossible"
	for _, amounts := range []corev1.ResourceList{
		strange.Spec.Containers[0].Resources.Requests, strange.Spec.Containers[0].Resources.Limits,
	} {
		amounts["example.com/fpga"] = resource.MustParse("1")
	}
	foreign := cluster.GPUPod("work", "foreign", "somebody-else", 1)
	foreign.Labels["app"] = "foreign"
	must(t, c.CreatePods(ctx, append(pods, impossible, strange, foreign)...))
	must(t, c.WaitForPods(ctx, "work", "", len(pods), patience, cluster.Running))
	must(t, c.WaitForPods(ctx, "work", "app=strange", 1, patience, says("example.com/fpga")))
	must(t, c.WaitForPods(ctx, "work", "app=impossible", 1, patience,
		says("9 GPUs", "8")))

	requireOneBindingEach(t, c, m.User, len(pods))
	requireNothingRefused(t, c)
	untouched, err := c.Pods(ctx, "work", "app=foreign")
	must(t, err)
	if cluster.Bound(&untouched[0]) || len(untouched[0].Status.Conditions) > 0 {
		t.Errorf("a pod of another scheduler was touched: %+v", untouched[0].Status)
	}
}

// Without a word of configuration, pods run.
func TestMainspringNeedsNoConfiguration(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newNamespace(t, cluster.Options{}, 1)
	startMainspring(t, c, "")
	must(t, c.CreatePods(ctx, cluster.GPUPod("work", "alone", "mainspring", 1)))
	must(t, c.WaitForPods(ctx, "work", "", 1, patience, cluster.Running))
}
