// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mainspring.dev/e2e/cluster"
)

// inQueue puts pods into a queue and allows that they are displaced.
func inQueue(queue string, pods []*corev1.Pod) []*corev1.Pod {
	for _, pod := range pods {
		pod.Annotations["mainspring.dev/queue"] = queue
		pod.Annotations["mainspring.dev/preemptible"] = "true"
	}
	return pods
}

// singles is that many one-GPU pods, each a job by itself.
func singles(name string, count int) []*corev1.Pod {
	pods := make([]*corev1.Pod, count)
	for i := range pods {
		pods[i] = cluster.GPUPod("work", fmt.Sprintf("%s-%02d", name, i), "mainspring", 1)
		pods[i].Labels["gang"] = name
	}
	return pods
}

func TestMainspringGivesTheOwnerItsQuotaBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newNamespace(t, cluster.Options{
		Player: &cluster.PlayerOptions{EndDelay: 200 * time.Millisecond},
	}, 2)
	startMainspring(t, c, `
queues:
  - {name: owner, gpu: {quota: 8}}
  - {name: borrower, gpu: {quota: 8}}
`)

	// The borrower has the whole cluster: its own half, and the other's. One pod of it may not be
	// displaced, since it has no controller and did not say that it may.
	lent := inQueue("borrower", singles("lent", 16))
	delete(lent[0].Annotations, "mainspring.dev/preemptible")
	must(t, c.CreatePods(ctx, lent...))
	must(t, c.WaitForPods(ctx, "work", "gang=lent", 16, patience, cluster.Running))

	must(t, c.CreatePods(ctx, inQueue("owner", gang("mine", 4, 1))...))
	must(t, c.WaitForPods(ctx, "work", "gang=mine", 4, patience, cluster.Running))
	stays, err := c.Pods(ctx, "work", "gang=lent")
	must(t, err)
	left := map[string]bool{}
	for i := range stays {
		if cluster.Running(&stays[i]) && stays[i].DeletionTimestamp == nil {
			left[stays[i].Name] = true
		}
	}
	if len(left) != 12 || !left["lent-00"] {
		t.Errorf("of 16 pods 12 should go on, and lent-00 among them: %v", left)
	}

	// Each one that had to go says for whom.
	must(t, cluster.Poll(ctx, patience, func() error {
		list, err := c.Admin.EventsV1().Events("work").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		told := map[string]bool{}
		for i := range list.Items {
			event := &list.Items[i]
			if event.Reason != "Preempting" {
				continue
			}
			if err := judgePreempting(event, left); err != nil {
				return cluster.Stop(err)
			}
			told[event.Regarding.Name] = true
		}
		if len(told) != 4 {
			return fmt.Errorf("4 pods were displaced, and events tell of %d", len(told))
		}
		return nil
	}))
	requireNothingRefused(t, c)
}

func judgePreempting(event *eventsv1.Event, left map[string]bool) error {
	switch {
	case left[event.Regarding.Name]:
		return fmt.Errorf("%s is told to go and runs on", event.Regarding.Name)
	case event.Related == nil || !strings.HasPrefix(event.Related.Name, "mine-"):
		return fmt.Errorf("%s went for the sake of %v", event.Regarding.Name, event.Related)
	case !strings.Contains(event.Note, "owner"):
		return fmt.Errorf("the event does not name the queue: %q", event.Note)
	}
	return nil
}
