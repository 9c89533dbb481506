// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mainspring.dev/e2e/cluster"
)

// What waited before there was a leader is placed, or told why not, as soon as there is one.
func TestMainspringPlacesWhatWaitedForALeader(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newNamespace(t, cluster.Options{}, 1)
	strange := cluster.GPUPod("work", "strange", "mainspring", 1)
	strange.Labels["app"] = "strange"
	strange.Annotations["mainspring.dev/gpu-share"] = "0.5"
	must(t, c.CreatePods(ctx, append(singles("before", 2), strange)...))
	m := startMainspring(t, c, oneQueue)
	must(t, c.WaitForPods(ctx, "work", "gang=before", 2, patience, cluster.Running))
	must(t, c.WaitForPods(ctx, "work", "app=strange", 1, patience, says("part of a GPU")))
	m.Kill()
	must(t, c.CreatePods(ctx, singles("between", 2)...))
	cluster.StartMainspring(t, c, cluster.MainspringOptions{
		Name: "again", Config: oneQueue + leading, Kubeconfig: m.Kubeconfig,
	})
	must(t, c.WaitForPods(ctx, "work", "gang=between", 2, patience, cluster.Running))
}

// Somebody put more on a node than it has. When the first of it goes, the second still holds what it
// asks for, and nobody else is put there.
func TestMainspringCountsWhatOthersAskFor(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newNamespace(t, cluster.Options{Player: &cluster.PlayerOptions{AdmitAll: true}}, 1)
	startMainspring(t, c, oneQueue)
	must(t, c.CreatePods(ctx,
		cluster.GPUPod("work", "x", "nobody", 5), cluster.GPUPod("work", "y", "nobody", 5)))
	must(t, c.Bind(ctx, "work", "x", cluster.NodeName(0)))
	must(t, c.WaitForPods(ctx, "work", "", 1, patience, cluster.Running))
	must(t, c.Bind(ctx, "work", "y", cluster.NodeName(0)))
	must(t, c.WaitForPods(ctx, "work", "", 2, patience, cluster.Running))
	must(t, c.CreatePods(ctx, singles("wait", 1)...))
	must(t, c.WaitForPods(ctx, "work", "gang=wait", 1, patience, cluster.Unschedulable))
	must(t, c.Admin.CoreV1().Pods("work").Delete(ctx, "x", metav1.DeleteOptions{}))
	must(t, c.WaitForPods(ctx, "work", "gang=wait", 1, patience, cluster.Running))
	big := cluster.GPUPod("work", "big", "mainspring", 4)
	big.Labels["app"] = "big"
	must(t, c.CreatePods(ctx, big))
	must(t, c.WaitForPods(ctx, "work", "app=big", 1, patience, cluster.Unschedulable))
}
