// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Player stands in for kubelets: bound pods become Running, deleted ones disappear after a delay.
type Player struct {
	killDelay time.Duration
	work      chan func()
	client    *kubernetes.Clientset
	started   map[types.UID]bool
	ended     map[types.UID]bool
}

func newPlayer(cp *ControlPlane, killDelay time.Duration, workers int) (*Player, error) {
	client, err := kubernetes.NewForConfig(cp.config(contentJSON))
	if err != nil {
		return nil, err
	}
	p := &Player{
		killDelay: killDelay, client: client, work: make(chan func(), 100000),
		started: map[types.UID]bool{}, ended: map[types.UID]bool{},
	}
	for range workers {
		go func() {
			for job := range p.work {
				job()
			}
		}()
	}
	return p, nil
}

// Observe is called from the watch goroutine only.
func (p *Player) Observe(pod *corev1.Pod) {
	if pod.Spec.NodeName == "" {
		return
	}
	namespace, name, uid := pod.Namespace, pod.Name, pod.UID
	if pod.DeletionTimestamp != nil {
		if !p.ended[uid] {
			p.ended[uid] = true
			time.AfterFunc(p.killDelay, func() { p.work <- func() { p.remove(namespace, name, uid) } })
		}
		return
	}
	if pod.Status.Phase == corev1.PodPending && !p.started[uid] {
		p.started[uid] = true
		p.work <- func() { p.run(namespace, name) }
	}
}

func (p *Player) run(namespace, name string) {
	now := time.Now().UTC().Format(time.RFC3339)
	patch := fmt.Sprintf(`{"status":{"phase":"Running","startTime":%q,"conditions":[`+
		`{"type":"Ready","status":"True","lastTransitionTime":%q},`+
		`{"type":"ContainersReady","status":"True","lastTransitionTime":%q}],`+
		`"containerStatuses":[{"name":"main","ready":true,"image":"example.com/worker","imageID":"","restartCount":0,`+
		`"started":true,"state":{"running":{"startedAt":%q}}}]}}`, now, now, now, now)
	_, _ = p.client.CoreV1().Pods(namespace).Patch(context.Background(), name,
		types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
}

func (p *Player) remove(namespace, name string, uid types.UID) {
	zero := int64(0)
	_ = p.client.CoreV1().Pods(namespace).Delete(context.Background(), name, metav1.DeleteOptions{
		GracePeriodSeconds: &zero, Preconditions: &metav1.Preconditions{UID: &uid},
	})
}
