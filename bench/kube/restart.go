// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// restart fills all nodes but for one place, four pods of two GPUs each, and starts the scheduler
// when a pod for exactly that place is waiting. Then it is killed; another place becomes free while
// it is down, another pod comes, and it is started again. A decision is correct if the pod is bound
// to the place.
func restart(b *Bench) error {
	const perNode, gpus = 4, 2
	slots := b.options.Nodes * perNode
	gangs := make([]Gang, slots-1)
	for slot := range gangs {
		gangs[slot] = Gang{Namespace: "fill", Name: fmt.Sprintf("fill-%d", slot), Queue: "queue-a", Size: 1, GPUs: gpus}
	}
	began := time.Now()
	if err := b.cluster.forEach(len(gangs), func(client *kubernetes.Clientset, slot int) error {
		pod := newPod(gangs[slot], 0)
		pod.Spec.SchedulerName = b.system.SchedulerName
		pod.Spec.NodeName = nodeName(slot / perNode) // bound from the start
		b.system.Decorate(pod, gangs[slot])
		_, err := client.CoreV1().Pods("fill").Create(context.Background(), pod, metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	if !b.recorder.waitCount("fill", len(gangs), 5*time.Minute, isRunning) {
		return fmt.Errorf("the filling pods did not all become Running")
	}
	b.figure("fill_s", time.Since(began).Seconds())
	b.result.Pods = slots

	if err := b.decideAfterStart("first", nodeName(b.options.Nodes-1), "start_to_decision_s"); err != nil {
		return err
	}
	for _, process := range b.processes {
		process.Kill()
	}
	b.processes = nil
	const freed = 7 * perNode
	if err := deletePod(b.cluster.client(0), "fill", gangs[freed].Name+"-0000", nil); err != nil {
		return err
	}
	if !b.recorder.waitCount("fill", 1, time.Minute, isGone) {
		return fmt.Errorf("the deleted pod did not go")
	}
	if err := b.decideAfterStart("second", nodeName(freed/perNode), "restart_to_decision_s"); err != nil {
		return err
	}
	b.result.Bound, b.result.Complete = slots, true
	return nil
}

// decideAfterStart submits a pod, starts the scheduler and waits for the pod's binding.
func (b *Bench) decideAfterStart(name, node, figure string) error {
	gang := Gang{Namespace: "work", Name: name, Queue: "queue-a", Size: 1, GPUs: 2}
	if _, _, err := b.cluster.submit(b.system, []Gang{gang}); err != nil {
		return err
	}
	before := b.recorder.Count("work", isBound)
	b.startCounting()
	started := time.Now()
	if err := b.startSystem(false); err != nil {
		return err
	}
	if !b.recorder.waitCount("work", before+1, b.options.Timeout, isBound) {
		return fmt.Errorf("pod %s was not bound within %s", name, b.options.Timeout)
	}
	b.stopCounting()
	for _, trace := range b.recorder.Traces("work") {
		if trace.Bound.After(started) {
			if trace.Node != node {
				return fmt.Errorf("pod %s was bound to %s, but only %s has room", name, trace.Node, node)
			}
			b.figure(figure, trace.Bound.Sub(started).Seconds())
		}
	}
	return nil
}
