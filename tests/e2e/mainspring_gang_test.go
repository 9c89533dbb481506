// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mainspring.dev/e2e/cluster"
)

// boundOf counts the members of a gang that have a node and are not about to end.
func boundOf(t testing.TB, c *cluster.Cluster, name string) int {
	t.Helper()
	pods, err := c.Pods(t.Context(), "work", "gang="+name)
	must(t, err)
	count := 0
	for i := range pods {
		if cluster.Bound(&pods[i]) && pods[i].DeletionTimestamp == nil {
			count++
		}
	}
	return count
}

func deleteGang(t testing.TB, c *cluster.Cluster, name string) {
	t.Helper()
	must(t, c.Admin.CoreV1().Pods("work").DeleteCollection(t.Context(), metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: "gang=" + name}))
}

// playTwoGangs has two gangs of more than half the cluster: one runs, then the other does, and
// nothing is held in between.
func playTwoGangs(t *testing.T, c *cluster.Cluster, m *cluster.Mainspring, pods int) {
	ctx := t.Context()
	winner, loser := "red", "blue"
	must(t, cluster.Poll(ctx, patience, func() error {
		if boundOf(t, c, "blue") > 0 {
			winner, loser = "blue", "red"
		}
		if count := boundOf(t, c, winner); count < pods {
			return fmt.Errorf("%s has %d of %d pods bound", winner, count, pods)
		}
		return nil
	}))
	must(t, c.WaitForPods(ctx, "work", "gang="+winner, pods, patience, cluster.Running))
	must(t, c.WaitForPods(ctx, "work", "gang="+loser, pods, patience, cluster.Unschedulable))
	if count := boundOf(t, c, loser); count != 0 {
		t.Fatalf("%s cannot run and holds %d places", loser, count)
	}
	deleteGang(t, c, winner)
	must(t, c.WaitForPods(ctx, "work", "gang="+loser, pods, patience, cluster.Running))
	requireOneBindingEach(t, c, m.User, 2*pods)
	requireNothingRefused(t, c)
}

func TestMainspringGangsAreWholeOrNothing(t *testing.T) {
	t.Parallel()
	c := newNamespace(t, cluster.Options{}, 4)
	m := startMainspring(t, c, oneQueue)
	red, blue := gang("red", 20, 1), gang("blue", 20, 1) // of 32 GPUs
	mixed := []*corev1.Pod{}
	for i := range red {
		mixed = append(mixed, red[i], blue[i])
	}
	must(t, c.CreatePods(t.Context(), mixed...))
	playTwoGangs(t, c, m, 20)
}

func TestMainspringPodGroups(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newNamespace(t, cluster.Options{}.WithGangs(), 4)
	m := startMainspring(t, c, oneQueue)
	for i := range 3 {
		for _, name := range []string{"red", "blue"} {
			if i == 0 {
				must(t, c.CreatePodGroup(ctx, "work", name, 3))
			}
			pod := cluster.GPUPod("work", fmt.Sprintf("%s-%d", name, i), "mainspring", 8)
			pod.Labels["gang"] = name
			must(t, c.CreatePods(ctx, cluster.InGroup(pod, name)))
		}
	}
	playTwoGangs(t, c, m, 3)
}

func TestMainspringBatchJobs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newNamespace(t, cluster.Options{ControllerManager: true}, 2)
	m := startMainspring(t, c, "") // these pods have a controller: they need no quota

	pod := cluster.GPUPod("work", "", "mainspring", 4)
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	pod.Annotations["mainspring.dev/min-count"] = "4"
	four, retries := int32(4), int32(3)
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "train"},
		Spec: batchv1.JobSpec{
			Parallelism: &four, Completions: &four, BackoffLimit: &retries,
			Template: corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec},
		},
	}
	_, err := c.Admin.BatchV1().Jobs("work").Create(ctx, job, metav1.CreateOptions{})
	must(t, err)
	must(t, c.WaitForPods(ctx, "work", "", 4, patience, cluster.Running))

	// The cluster is full: only the place of the one that fails is there for the one that follows.
	pods, err := c.Pods(ctx, "work", "")
	must(t, err)
	must(t, c.Player.Fail("work", pods[0].Name))
	must(t, c.WaitForPods(ctx, "work", "", 1, patience, cluster.Failed))
	must(t, c.WaitForPods(ctx, "work", "", 4, patience, cluster.Running))

	// All succeed, the Job completes, and what it held is free.
	pods, err = c.Pods(ctx, "work", "")
	must(t, err)
	for i := range pods {
		if cluster.Running(&pods[i]) {
			must(t, c.Player.Complete("work", pods[i].Name))
		}
	}
	must(t, cluster.Poll(ctx, patience, func() error {
		job, err := c.Admin.BatchV1().Jobs("work").Get(ctx, "train", metav1.GetOptions{})
		if err == nil && job.Status.CompletionTime == nil {
			err = fmt.Errorf("%d of 4 pods have succeeded", job.Status.Succeeded)
		}
		return err
	}))
	next := gang("next", 16, 1)
	for _, pod := range next {
		pod.Annotations["mainspring.dev/preemptible"] = "true"
	}
	must(t, c.CreatePods(ctx, next...))
	must(t, c.WaitForPods(ctx, "work", "gang=next", 16, patience, cluster.Running))
	requireOneBindingEach(t, c, m.User, 5+16)
	requireNothingRefused(t, c)
}
