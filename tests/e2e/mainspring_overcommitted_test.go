// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mainspring.dev/e2e/cluster"
)

// Somebody put more on a node than it has. When the first of it goes, the second still holds all
// that it asks for.
func TestMainspringCountsWhatOthersHold(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newNamespace(t, cluster.Options{Player: &cluster.PlayerOptions{AdmitAll: true}}, 1)
	startMainspring(t, c, oneQueue)
	for i, name := range []string{"x", "y"} {
		must(t, c.CreatePods(ctx, cluster.GPUPod("work", name, "nobody", 5)))
		must(t, c.Bind(ctx, "work", name, cluster.NodeName(0)))
		must(t, c.WaitForPods(ctx, "work", "", i+1, patience, cluster.Running))
	}
	must(t, c.CreatePods(ctx, singles("small", 1)...))
	must(t, c.WaitForPods(ctx, "work", "gang=small", 1, patience, cluster.Unschedulable))
	must(t, c.Admin.CoreV1().Pods("work").Delete(ctx, "x", metav1.DeleteOptions{}))
	must(t, c.WaitForPods(ctx, "work", "gang=small", 1, patience, cluster.Running))

	// Of eight GPUs two are left.
	large := cluster.GPUPod("work", "large", "mainspring", 3)
	large.Labels["app"] = "large"
	must(t, c.CreatePods(ctx, large))
	must(t, cluster.Poll(ctx, patience, func() error {
		pods, err := c.Pods(ctx, "work", "app=large")
		switch {
		case err != nil:
			return err
		case cluster.Bound(&pods[0]):
			return cluster.Stop(fmt.Errorf("3 GPUs were given away where 2 are free"))
		case !cluster.Unschedulable(&pods[0]):
			return fmt.Errorf("nothing has been said about the large pod yet")
		}
		return nil
	}))
}
