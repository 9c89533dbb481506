// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"mainspring.dev/e2e/cluster"
)

// What the other scheduler gave away is not there for ours, and comes back when its pods go.
func TestMainspringBesideKubeScheduler(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newNamespace(t, cluster.Options{Scheduler: true}, 4)
	startMainspring(t, c, oneQueue)

	theirs := singles("theirs", 20)
	for _, pod := range theirs {
		pod.Spec.SchedulerName = ""
	}
	must(t, c.CreatePods(ctx, theirs...))
	must(t, c.WaitForPods(ctx, "work", "gang=theirs", 20, patience, cluster.Running))
	must(t, c.CreatePods(ctx, singles("ours", 8)...))
	must(t, c.WaitForPods(ctx, "work", "gang=ours", 8, patience, cluster.Running))

	// Of 32 GPUs four are left.
	must(t, c.CreatePods(ctx, gang("gang", 6, 1)...))
	must(t, c.WaitForPods(ctx, "work", "gang=gang", 6, patience, cluster.Unschedulable))
	if count := boundOf(t, c, "gang"); count > 0 {
		t.Fatalf("%d of a gang are bound where only 4 of 6 fit", count)
	}
	for i := range 2 {
		must(t, c.Player.Complete("work", theirs[i].Name))
	}
	must(t, c.WaitForPods(ctx, "work", "gang=gang", 6, patience, cluster.Running))
	requireNothingRefused(t, c)
}

// Both fill the same nodes at the same time. Neither sees the other's decisions before they are
// written, so kubelets may have to refuse a pod; but none is forgotten, and no node has too many.
func TestMainspringRacesKubeScheduler(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newNamespace(t, cluster.Options{Scheduler: true}, 8)
	startMainspring(t, c, oneQueue)

	pods := singles("ours", 32)
	for i, pod := range singles("theirs", 32) {
		pod.Spec.SchedulerName = ""
		pods = append(pods[:2*i+1], append([]*corev1.Pod{pod}, pods[2*i+1:]...)...)
	}
	must(t, c.CreatePods(ctx, pods...))
	must(t, cluster.Poll(ctx, patience, func() error {
		all, err := c.Pods(ctx, "work", "")
		if err != nil {
			return err
		}
		if err := judgeNodes(all, 8); err != nil {
			return cluster.Stop(err)
		}
		settled := 0
		for i := range all {
			// One that a kubelet refused is over; nobody makes it anew.
			if cluster.Running(&all[i]) || cluster.Failed(&all[i]) {
				settled++
			}
		}
		if settled < len(pods) {
			return fmt.Errorf("%d of %d pods run or were refused", settled, len(pods))
		}
		return nil
	}))
}

// judgeNodes adds up what runs on each node, where every pod asks for one GPU.
func judgeNodes(pods []corev1.Pod, gpus int) error {
	used := map[string]int{}
	for i := range pods {
		if cluster.Running(&pods[i]) {
			used[pods[i].Spec.NodeName]++
		}
	}
	for node, count := range used {
		if count > gpus {
			return fmt.Errorf("%d one-GPU pods run on %s, which has %d GPUs", count, node, gpus)
		}
	}
	return nil
}
