// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"
	"time"

	"mainspring.dev/e2e/cluster"
)

// The scheduler dies while a gang is being bound, and its successor ends what it began: no member is
// forgotten, none is bound twice, none has to end (nobody would make it anew).
func TestMainspringEndsWhatADeadOneBegan(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newNamespace(t, cluster.Options{}, 8)
	// One binding at a time, so that there is a middle to be hit.
	config := oneQueue + "binds_parallel: 1\nleader_election: {enabled: false}\n"
	start := func(name, kubeconfig string) *cluster.Mainspring {
		return cluster.StartMainspring(t, c, cluster.MainspringOptions{
			Name: name, Config: config, Kubeconfig: kubeconfig, Manifests: deployed,
		})
	}
	m := start("mainspring", "")
	const pods, rounds = 64, 5
	hit := 0
	for round := range rounds {
		name := fmt.Sprintf("gang%d", round)
		must(t, c.CreatePods(ctx, gang(name, pods, 1)...))
		// Later in each round.
		enough := 1 + 12*round
		must(t, cluster.Poll(ctx, patience, func() error {
			if count := len(bindings(t, c, m.User)) - round*pods; count < enough {
				return fmt.Errorf("%s has %d of %d pods bound", name, count, enough)
			}
			return nil
		}))
		m.Kill()
		if count := boundOf(t, c, name); count < pods {
			hit++
			t.Logf("round %d: killed after %d of %d bindings", round, count, pods)
		}
		m = start(fmt.Sprintf("mainspring-%d", round+1), m.Kubeconfig)
		must(t, c.WaitForPods(ctx, "work", "gang="+name, pods, patience, cluster.Running))
		// The one that was on its way may have no answer in the audit log.
		counts := bindings(t, c, m.User)
		if least := (round+1)*pods - (round + 1); len(counts) < least {
			t.Errorf("%d pods were bound by it instead of %d at least", len(counts), least)
		}
		for pod, count := range counts {
			if count > 1 {
				t.Errorf("%s was bound %d times", pod, count)
			}
		}
		deleteGang(t, c, name)
		must(t, cluster.Poll(ctx, patience, func() error {
			left, err := c.Pods(ctx, "work", "gang="+name)
			if err == nil && len(left) > 0 {
				err = fmt.Errorf("%d pods of %s are still there", len(left), name)
			}
			return err
		}))
	}
	requireNothingRefused(t, c)
	if hit == 0 {
		t.Error("no kill came before the last binding: the test has tested nothing")
	}
	must(t, m.Stop(20*time.Second))
}
