// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"mainspring.dev/e2e/cluster"
)

// What is there before it leads is placed, or told why it waits, once it leads; after a crash, too,
// when the lease of the dead one has to run out first and nothing happens meanwhile.
func TestMainspringTakesOnWhatIsThere(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newNamespace(t, cluster.Options{}, 1)
	part := cluster.GPUPod("work", "part", "mainspring", 1)
	part.Labels["app"] = "part"
	part.Annotations["mainspring.dev/gpu-share"] = "0.5"
	must(t, c.CreatePods(ctx, append(singles("before", 2), part)...))
	m := startMainspring(t, c, oneQueue)
	must(t, c.WaitForPods(ctx, "work", "gang=before", 2, patience, cluster.Running))
	must(t, c.WaitForPods(ctx, "work", "app=part", 1, patience, says("part of a GPU")))

	m.Kill()
	must(t, c.CreatePods(ctx, singles("between", 2)...))
	cluster.StartMainspring(t, c, cluster.MainspringOptions{
		Name: "again", Config: oneQueue + leading, Kubeconfig: m.Kubeconfig,
	})
	must(t, c.WaitForPods(ctx, "work", "gang=between", 2, patience, cluster.Running))
	requireOneBindingEach(t, c, m.User, 4)
}
