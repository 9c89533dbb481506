// SPDX-License-Identifier: Apache-2.0

// Package e2e tests Mainspring on a real control plane.
package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"mainspring.dev/e2e/cluster"
)

// patience is for what takes a fraction of a second on an idle machine.
const patience = 90 * time.Second

// must ends a test at the first error, and says where.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newNamespace is a cluster with some GPU nodes and a namespace "work".
func newNamespace(t testing.TB, options cluster.Options, nodes int) *cluster.Cluster {
	t.Helper()
	c := cluster.Start(t, options)
	must(t, c.CreateGPUNodes(t.Context(), nodes, 8))
	must(t, c.CreateNamespace(t.Context(), "work", nil))
	return c
}

func TestHarnessLifeOfPods(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newNamespace(t, cluster.Options{
		Scheduler: true, Player: &cluster.PlayerOptions{EndDelay: 100 * time.Millisecond},
	}, 2)

	pods := []*corev1.Pod{}
	for i := range 17 { // of 16 GPUs
		pods = append(pods, cluster.GPUPod("work", fmt.Sprintf("pod-%02d", i), "", 1))
	}
	must(t, c.CreatePods(ctx, pods...))
	must(t, c.WaitForPods(ctx, "work", "", 16, patience, cluster.Running))
	must(t, c.WaitForPods(ctx, "work", "", 1, patience, cluster.Unschedulable))

	// One ends, and the one that waited takes its place.
	running, err := c.Pods(ctx, "work", "")
	must(t, err)
	victim := ""
	for i := range running {
		if cluster.Running(&running[i]) {
			victim = running[i].Name
		}
	}
	must(t, c.Player.Complete("work", victim))
	must(t, c.WaitForPods(ctx, "work", "", 1, patience, cluster.Succeeded))
	must(t, c.WaitForPods(ctx, "work", "", 16, patience, cluster.Running))

	// A deleted pod goes through its end to nothing.
	victim = running[0].Name
	must(t, c.Admin.CoreV1().Pods("work").Delete(ctx, victim, metav1.DeleteOptions{}))
	must(t, cluster.Poll(ctx, patience, func() error {
		_, err := c.Admin.CoreV1().Pods("work").Get(ctx, victim, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("pod %s is still there: %v", victim, err)
	}))
	if refused := c.Player.Refused(); len(refused) > 0 {
		t.Errorf("refused: %v", refused)
	}
}

func TestHarnessKubeletsRefuse(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newNamespace(t, cluster.Options{}, 1)
	told := cluster.GPUPod("work", "told", "nobody", 1)
	told.Annotations[cluster.RefusedAnnotation] = "UnexpectedAdmissionError"
	must(t, c.CreatePods(ctx, told, cluster.GPUPod("work", "first", "nobody", 5),
		cluster.GPUPod("work", "second", "nobody", 4)))
	for _, name := range []string{"told", "first", "second"} {
		must(t, c.Bind(ctx, "work", name, cluster.NodeName(0)))
	}
	must(t, c.WaitForPods(ctx, "work", "", 1, patience, cluster.Running))
	must(t, c.WaitForPods(ctx, "work", "", 2, patience, cluster.Failed))
	refused := c.Player.Refused()
	if refused["work/told"] != "UnexpectedAdmissionError" ||
		refused["work/second"] != "OutOfnvidia.com/gpu" || len(refused) != 2 {
		t.Errorf("refused: %v", refused)
	}
	second, err := c.Admin.CoreV1().Pods("work").Get(ctx, "second", metav1.GetOptions{})
	must(t, err)
	if second.Status.Reason != "OutOfnvidia.com/gpu" {
		t.Errorf("the pod says %q", second.Status.Reason)
	}
}

func TestHarnessGangs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newNamespace(t, cluster.Options{Scheduler: true}.WithGangs(), 3)
	must(t, c.CreatePodGroup(ctx, "work", "gang", 4))
	for i := range 4 {
		pod := cluster.InGroup(cluster.GPUPod("work", fmt.Sprintf("gang-%d", i), "", 8), "gang")
		must(t, c.CreatePods(ctx, pod))
	}
	must(t, c.WaitForPods(ctx, "work", "", 4, patience, cluster.Unschedulable))
	pods, err := c.Pods(ctx, "work", "")
	must(t, err)
	for i := range pods {
		if cluster.Bound(&pods[i]) {
			t.Errorf("%s is bound, but only three of four fit", pods[i].Name)
		}
	}
	must(t, c.CreateNodes(ctx, cluster.GPUNode("one-more", 8, nil)))
	must(t, c.WaitForPods(ctx, "work", "", 4, patience, cluster.Running))
}

func TestHarnessControllersAreReal(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newNamespace(t, cluster.Options{ControllerManager: true, Scheduler: true}, 2)

	t.Run("a Job makes pods and completes", func(t *testing.T) {
		pod := cluster.GPUPod("work", "", "", 2)
		pod.Annotations[cluster.RunsForAnnotation] = "50ms"
		pod.Spec.RestartPolicy = corev1.RestartPolicyNever
		three := int32(3)
		job := &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: "train"},
			Spec: batchv1.JobSpec{
				Parallelism: &three, Completions: &three,
				Template: corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec},
			},
		}
		_, err := c.Admin.BatchV1().Jobs("work").Create(ctx, job, metav1.CreateOptions{})
		must(t, err)
		must(t, cluster.Poll(ctx, patience, func() error {
			job, err := c.Admin.BatchV1().Jobs("work").Get(ctx, "train", metav1.GetOptions{})
			if err == nil && job.Status.CompletionTime == nil {
				err = fmt.Errorf("%d of 3 pods have succeeded", job.Status.Succeeded)
			}
			return err
		}))
	})

	t.Run("a disruption budget refuses an eviction", func(t *testing.T) {
		guarded := cluster.GPUPod("work", "guarded", "", 1)
		guarded.Labels["app"] = "guarded"
		must(t, c.CreatePods(ctx, guarded))
		must(t, c.WaitForPods(ctx, "work", "app=guarded", 1, patience, cluster.Running))
		one := intstr.FromInt32(1)
		budget := &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: "guard"},
			Spec: policyv1.PodDisruptionBudgetSpec{
				MinAvailable: &one,
				Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": "guarded"}},
			},
		}
		budgets := c.Admin.PolicyV1().PodDisruptionBudgets("work")
		_, err := budgets.Create(ctx, budget, metav1.CreateOptions{})
		must(t, err)
		must(t, waitForBudget(ctx, c, 0))
		err = c.Evict(ctx, "work", "guarded")
		if !apierrors.IsTooManyRequests(err) {
			t.Fatalf("the eviction was answered with %v", err)
		}
		must(t, budgets.Delete(ctx, "guard", metav1.DeleteOptions{}))
		must(t, c.Evict(ctx, "work", "guarded"))
	})

	t.Run("a namespace goes with what is in it", func(t *testing.T) {
		must(t, c.CreateNamespace(ctx, "short-lived", nil))
		must(t, c.CreatePods(ctx, cluster.GPUPod("short-lived", "pod", "", 1)))
		must(t, c.WaitForPods(ctx, "short-lived", "", 1, patience, cluster.Running))
		namespaces := c.Admin.CoreV1().Namespaces()
		must(t, namespaces.Delete(ctx, "short-lived", metav1.DeleteOptions{}))
		must(t, cluster.Poll(ctx, patience, func() error {
			_, err := namespaces.Get(ctx, "short-lived", metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("the namespace is still there: %v", err)
		}))
	})
}

func waitForBudget(ctx context.Context, c *cluster.Cluster, allowed int32) error {
	return cluster.Poll(ctx, patience, func() error {
		budget, err := c.Admin.PolicyV1().PodDisruptionBudgets("work").Get(ctx, "guard", metav1.GetOptions{})
		if err != nil {
			return err
		}
		status := budget.Status
		if status.ObservedGeneration == 0 || status.CurrentHealthy == 0 || status.DisruptionsAllowed != allowed {
			return fmt.Errorf("the budget stands at %+v", status)
		}
		return nil
	})
}

func TestHarnessRolesAndAudit(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newNamespace(t, cluster.Options{}, 1)
	const user = "system:serviceaccount:work:reader"
	role := `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects:
- {kind: ServiceAccount, namespace: work, name: reader}
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: certified-reader}
`
	_, err := c.KubectlWithInput(role, "apply", "-f", "-")
	must(t, err)
	withToken, err := c.ServiceAccountKubeconfig(ctx, "work", "reader")
	must(t, err)
	withCertificate, err := c.CertificateKubeconfig("certified-reader", nil, time.Time{})
	must(t, err)
	for _, kubeconfig := range []string{withToken, withCertificate} {
		output, err := c.KubectlAs(kubeconfig, "get", "--raw", "/api/v1/nodes/node-0000")
		if err != nil || !strings.Contains(output, `"node-0000"`) {
			t.Errorf("%v, %s", err, output)
		}
		_, err = c.KubectlAs(kubeconfig, "get", "--raw", "/api/v1/namespaces/work/pods")
		if err == nil || !strings.Contains(err.Error(), "orbidden") {
			t.Errorf("reading pods should be forbidden: %v", err)
		}
	}
	lines, err := c.AuditLines(user)
	must(t, err)
	if got := strings.Join(lines, "; "); got != "get nodes; list pods (denied)" {
		t.Errorf("the audit log has: %s", got)
	}
}

func TestHarnessProgramsDieWithTheTest(t *testing.T) {
	t.Parallel()
	sleep, err := exec.LookPath("sleep")
	must(t, err)
	p, err := cluster.StartProcess("sleep", t.TempDir(), sleep, []string{"600"}, nil)
	must(t, err)
	if !p.Alive() || p.ExitCode() != -1 {
		t.Error("it should run")
	}
	p.Kill()
	if p.Alive() {
		t.Error("it should be dead")
	}
}
