// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sort"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func deletePod(client *kubernetes.Clientset, namespace, name string, grace *int64) error {
	return client.CoreV1().Pods(namespace).Delete(context.Background(), name, metav1.DeleteOptions{GracePeriodSeconds: grace})
}

// scenarios by name; each fills in the bench's result.
var scenarios = map[string]func(*Bench) error{
	"singles-cold":    func(b *Bench) error { return b.cold(singles("work", "single", "queue-a", b.options.Pods)) },
	"singles-live":    func(b *Bench) error { return b.live(singles("work", "single", "queue-a", b.options.Pods)) },
	"gang-512":        func(b *Bench) error { return b.live(equalGangs(1, 512)) },
	"gangs-8x500":     func(b *Bench) error { return b.live(equalGangs(8, 500)) },
	"full-gang":       fullGang,
	"full-gang-quota": fullGangQuota,
	"reclaim-one":     reclaimOne,
	"reclaim-gang":    reclaimGang,
	"raw-bind":        rawBind,
	"restart":         restart,
}

func singles(namespace, name, queue string, count int) []Gang {
	var gangs []Gang
	for i := range count {
		gangs = append(gangs, Gang{Namespace: namespace, Name: fmt.Sprintf("%s-%d", name, i), Queue: queue, Size: 1, GPUs: 1})
	}
	return gangs
}

func equalGangs(count, size int) []Gang {
	var gangs []Gang
	for i := range count {
		gangs = append(gangs, Gang{Namespace: "work", Name: fmt.Sprintf("gang-%d", i), Queue: "queue-a", Size: size, GPUs: 1})
	}
	return gangs
}

func total(gangs []Gang) int {
	sum := 0
	for _, gang := range gangs {
		sum += gang.Size
	}
	return sum
}

// cold creates everything first and only then starts the scheduler.
func (b *Bench) cold(gangs []Gang) error {
	b.result.Pods = total(gangs)
	first, last, err := b.cluster.submit(b.system, gangs)
	if err != nil {
		return err
	}
	if !b.recorder.waitCount("work", b.result.Pods, 60*time.Second, isKnown) {
		return fmt.Errorf("not all pods were seen by the watch")
	}
	time.Sleep(2 * time.Second)
	b.startCounting()
	started := time.Now()
	if err := b.startSystem(false); err != nil {
		return err
	}
	b.recorder.waitCount("work", b.result.Pods, b.options.Timeout, isBound)
	b.stopCounting()
	b.reportBinding(first, last, started)
	return nil
}

// live submits while the scheduler runs and is known to work.
func (b *Bench) live(gangs []Gang) error {
	b.result.Pods = total(gangs)
	if err := b.startSystem(false); err != nil {
		return err
	}
	if err := b.canary(); err != nil {
		return err
	}
	b.startCounting()
	first, last, err := b.cluster.submit(b.system, gangs)
	if err != nil {
		return err
	}
	b.recorder.waitCount("work", b.result.Pods, b.options.Timeout, isBound)
	b.stopCounting()
	b.reportBinding(first, last, time.Time{})
	b.result.Writes = b.recorder.Writes()
	return nil
}

// fillAround fills the cluster with running pods, leaving room for a canary until the scheduler has proved itself.
func (b *Bench) fillAround(reclaim bool) error {
	slots := b.options.Nodes * gpusPerNode
	began := time.Now()
	if err := b.fill("fill", 0, slots-gpusPerNode); err != nil {
		return err
	}
	b.figure("fill_s", time.Since(began).Seconds())
	if err := b.startSystem(reclaim); err != nil {
		return err
	}
	if err := b.canary(); err != nil {
		return err
	}
	// The last node: these go through the scheduler under test, which has room for exactly them.
	rest := singles("fill", "last", "queue-a", gpusPerNode)
	if _, _, err := b.cluster.submit(b.system, rest); err != nil {
		return err
	}
	if !b.recorder.waitCount("fill", slots, 120*time.Second, isRunning) {
		return fmt.Errorf("the last %d filling pods were not all bound and Running", gpusPerNode)
	}
	time.Sleep(5 * time.Second)
	return nil
}

// hopelessPods is the size of a gang of whole nodes that must not be placed.
const hopelessPods = 10

func fullGang(b *Bench) error      { return b.hopeless("queue-a", false) }
func fullGangQuota(b *Bench) error { return b.hopeless("queue-b", true) }

// hopeless submits a gang that no rule lets run and watches what users are told.
func (b *Bench) hopeless(queue string, reclaim bool) error {
	if err := b.fillAround(reclaim); err != nil {
		return err
	}
	b.recorder.Focus("work")
	gang := Gang{Namespace: "work", Name: "hopeless", Queue: queue, Size: hopelessPods, GPUs: gpusPerNode}
	b.result.Pods = gang.Size
	before := b.recorder.Writes()
	b.startCounting()
	first, last, err := b.cluster.submit(b.system, []Gang{gang})
	if err != nil {
		return err
	}
	if b.options.Bystander > 0 && b.options.Bystander < b.options.Watch {
		b.recorder.waitCount("work", 1, b.options.Bystander, isBound)
		if err := b.bystander(b.options.Watch - time.Since(first)); err != nil {
			return err
		}
	}
	if remaining := b.options.Watch - time.Since(first); remaining > 0 {
		time.Sleep(remaining)
	}
	b.stopCounting()
	b.reportBinding(first, last, time.Time{})
	b.result.Complete = b.result.Bound == 0 // the right answer here is to bind nothing
	b.result.Verdicts = b.recorder.Verdicts(first, 16)
	b.result.Writes = map[string]int{}
	for kind, count := range b.recorder.Writes() {
		b.result.Writes[kind] = count - before[kind]
	}
	b.figure("evicted_pods", float64(b.recorder.Count("fill", isLeaving)))
	var told []float64
	for _, trace := range b.recorder.Traces("work") {
		if !trace.Unschedulable.IsZero() {
			told = append(told, trace.Unschedulable.Sub(first).Seconds())
		}
	}
	sort.Float64s(told)
	b.figure("pods_with_unschedulable_condition", float64(len(told)))
	if len(told) > 0 {
		b.figure("first_pod_condition_s", told[0])
		b.figure("last_pod_condition_s", told[len(told)-1])
	}
	minutes := b.result.Figures["counted_span_s"] / 60
	scheduler := 0.0
	for name, seconds := range b.result.CPUSeconds {
		b.figure("cpu_s_per_minute_"+name, seconds/minutes)
		if name != "harness" && name != "etcd" && name != "kube-apiserver" {
			scheduler += seconds
		}
	}
	b.figure("cpu_s_per_minute_scheduler", scheduler/minutes)
	return nil
}

// bystander frees one GPU and submits a pod of queue a for exactly that GPU, while the hopeless gang is pending.
func (b *Bench) bystander(limit time.Duration) error {
	zero := int64(0)
	if err := deletePod(b.cluster.client(0), "fill", "fill-0-0000", &zero); err != nil {
		return err
	}
	b.recorder.waitCount("fill", 1, 5*time.Second, isGone)
	b.recorder.Forget("fill/fill-0-0000")
	first, _, err := b.cluster.submit(b.system, singles("queued", "bystander", "queue-a", 1))
	if err != nil {
		return err
	}
	if !b.recorder.waitCount("queued", 1, limit-time.Since(first), isBound) {
		b.figure("bystander_not_bound_within_s", time.Since(first).Seconds())
		return nil
	}
	b.figure("bystander_wait_s", b.recorder.Traces("queued")[0].Bound.Sub(first).Seconds())
	return nil
}

// reclaimOne asks, five times over, for one GPU that belongs to queue b and is lent to queue a.
func reclaimOne(b *Bench) error {
	if err := b.fillAround(true); err != nil {
		return err
	}
	b.recorder.Focus("work")
	const repeats = 5
	b.result.Pods = repeats
	b.startCounting()
	start := time.Now()
	var waits []float64
	for i := range repeats {
		gang := Gang{Namespace: "work", Name: fmt.Sprintf("claim-%d", i), Queue: "queue-b", Size: 1, GPUs: 1}
		first, _, err := b.cluster.submit(b.system, []Gang{gang})
		if err != nil {
			return err
		}
		if !b.recorder.waitCount("work", i+1, b.options.Timeout/repeats, isBound) {
			b.result.Note += fmt.Sprintf("claim %d was not bound in time. ", i)
			break
		}
		for _, trace := range b.recorder.Traces("work") {
			if trace.Created.After(first.Add(-time.Millisecond)) {
				waits = append(waits, trace.Bound.Sub(first).Seconds())
			}
		}
		time.Sleep(1500*time.Millisecond + time.Duration(i)*130*time.Millisecond) // not in step with a period
	}
	b.stopCounting()
	sort.Float64s(waits)
	b.result.Bound, b.result.Complete = len(waits), len(waits) == repeats
	if len(waits) > 0 {
		b.figure("claim_to_bound_min_s", waits[0])
		b.figure("claim_to_bound_median_s", waits[len(waits)/2])
		b.figure("claim_to_bound_max_s", waits[len(waits)-1])
	}
	b.figure("evicted_pods", float64(b.recorder.Count("fill", isLeaving)))
	b.result.Verdicts = b.recorder.Verdicts(start, 16)
	return nil
}

// reclaimGang asks for half of the cluster at once, in whole nodes.
func reclaimGang(b *Bench) error {
	if err := b.fillAround(true); err != nil {
		return err
	}
	b.recorder.Focus("work")
	gang := Gang{Namespace: "work", Name: "claim", Queue: "queue-b", Size: b.options.Nodes / 2, GPUs: gpusPerNode}
	b.result.Pods = gang.Size
	b.startCounting()
	first, last, err := b.cluster.submit(b.system, []Gang{gang})
	if err != nil {
		return err
	}
	b.recorder.waitCount("work", gang.Size, b.options.Timeout, isBound)
	b.stopCounting()
	b.reportBinding(first, last, time.Time{})
	b.figure("evicted_pods", float64(b.recorder.Count("fill", isLeaving)))
	var leaving []float64
	for _, trace := range b.recorder.Traces("fill") {
		if isLeaving(&trace) {
			leaving = append(leaving, trace.Leaving.Sub(first).Seconds())
		}
	}
	sort.Float64s(leaving)
	if len(leaving) > 0 {
		b.figure("first_eviction_s", leaving[0])
		b.figure("last_eviction_s", leaving[len(leaving)-1])
	}
	b.result.Verdicts = b.recorder.Verdicts(first, 16)
	return nil
}

// rawBind has parallel clients bind pods as fast as the server takes it; there is no scheduler.
func rawBind(b *Bench) error {
	pods := singles("work", "raw", "", b.options.Pods)
	b.result.Pods = len(pods)
	b.startCounting()
	first, last, err := b.cluster.submit(b.system, pods)
	if err != nil {
		return err
	}
	b.stopCounting()
	b.figure("creates_per_s", float64(len(pods))/last.Sub(first).Seconds())
	b.figure("create_cpu_s_apiserver", b.result.CPUSeconds["kube-apiserver"])
	if !b.recorder.waitCount("work", len(pods), 60*time.Second, isKnown) {
		return fmt.Errorf("not all pods were seen by the watch")
	}
	time.Sleep(2 * time.Second)
	binders, err := newCluster(b.cp, b.options.ContentType, b.options.Connections, b.options.Binders)
	if err != nil {
		return err
	}
	// Open the connections first.
	for _, client := range binders.clients {
		if _, err := client.CoreV1().Nodes().Get(context.Background(), nodeName(0), metav1.GetOptions{}); err != nil {
			return err
		}
	}
	b.startCounting()
	began := time.Now()
	var mutex sync.Mutex
	acknowledged := map[string]time.Time{}
	var latency []float64
	err = binders.forEach(len(pods), func(client *kubernetes.Clientset, i int) error {
		sent := time.Now()
		name := pods[i].Name + "-0000"
		if err := bind(client, "work", name, nodeName(i/gpusPerNode)); err != nil {
			return err
		}
		now := time.Now()
		mutex.Lock()
		defer mutex.Unlock()
		acknowledged["work/"+name] = now
		latency = append(latency, now.Sub(sent).Seconds())
		return nil
	})
	if err != nil {
		return err
	}
	span := time.Since(began).Seconds()
	b.recorder.waitCount("work", len(pods), 60*time.Second, isBound)
	b.stopCounting()
	b.figure("raw_binds_per_s", float64(len(pods))/span)
	sort.Float64s(latency)
	b.figure("bind_latency_p50_ms", 1000*quantile(latency, 0.5))
	b.figure("bind_latency_p99_ms", 1000*quantile(latency, 0.99))
	var lag []float64
	b.recorder.mutex.Lock()
	for key, moment := range acknowledged {
		lag = append(lag, b.recorder.pods[key].Bound.Sub(moment).Seconds())
	}
	b.recorder.mutex.Unlock()
	sort.Float64s(lag)
	b.figure("watch_after_ack_p50_ms", 1000*quantile(lag, 0.5))
	b.figure("watch_after_ack_p99_ms", 1000*quantile(lag, 0.99))
	b.reportBinding(first, last, began)
	b.result.Options["binders"] = fmt.Sprint(b.options.Binders)
	b.result.Options["connections"] = fmt.Sprint(b.options.Connections)
	b.result.Options["content_type"] = b.options.ContentType
	return nil
}
