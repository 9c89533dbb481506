// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// Trace is what the server said about one pod, with the moment at which our watch received it.
type Trace struct {
	Namespace, Node                        string
	Created, Bound, Running, Leaving, Gone time.Time
	Unschedulable                          time.Time
	order                                  int // of binding, in the server's resourceVersion order
}

// Verdict is one message about a workload that a user could have seen.
type Verdict struct {
	Seconds float64 `json:"seconds"` // since the reference moment
	Where   string  `json:"where"`   // "pod condition", "event on Pod", "PodGroup status"
	Reason  string  `json:"reason"`
	Message string  `json:"message"`
	Object  string  `json:"object"`
	Times   int     `json:"times"` // how often it was seen
}

// Recorder follows pods, and optionally events and group objects, in server order.
type Recorder struct {
	mutex    sync.Mutex
	pods     map[string]*Trace // by namespace/name
	bound    int
	verdicts map[string]*Verdict
	moments  map[string]time.Time
	writes   map[string]int // watch notifications by kind, as a measure of write traffic
	focus    string         // namespace whose verdicts we keep; empty: none
	onPod    func(*corev1.Pod)
	stop     context.CancelFunc
}

func newRecorder(onPod func(*corev1.Pod)) *Recorder {
	return &Recorder{
		pods: map[string]*Trace{}, verdicts: map[string]*Verdict{}, moments: map[string]time.Time{},
		writes: map[string]int{}, onPod: onPod,
	}
}

// Start begins to watch pods and events, and the given group resources as plain JSON.
func (r *Recorder) Start(cp *ControlPlane, groups []schema.GroupVersionResource) error {
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	client, err := kubernetes.NewForConfig(cp.config(contentProtobuf))
	if err != nil {
		return err
	}
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	version := pods.ResourceVersion
	go r.follow(ctx, "Pod", version, func(o metav1.ListOptions) (watch.Interface, error) {
		return client.CoreV1().Pods("").Watch(ctx, o)
	})
	go r.follow(ctx, "Event", version, func(o metav1.ListOptions) (watch.Interface, error) {
		return client.CoreV1().Events("").Watch(ctx, o)
	})
	plain, err := dynamic.NewForConfig(cp.config(contentJSON))
	if err != nil {
		return err
	}
	for _, group := range groups {
		// A custom resource's watch cache starts later than the pods' version: begin wherever it stands.
		go r.follow(ctx, "PodGroup", "", func(o metav1.ListOptions) (watch.Interface, error) {
			return plain.Resource(group).Watch(ctx, o)
		})
	}
	return nil
}

func (r *Recorder) follow(ctx context.Context, kind, version string, open func(metav1.ListOptions) (watch.Interface, error)) {
	for ctx.Err() == nil {
		stream, err := open(metav1.ListOptions{ResourceVersion: version})
		if err != nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		for event := range stream.ResultChan() {
			now := time.Now()
			object, ok := event.Object.(metav1.Object)
			if !ok {
				if ctx.Err() == nil {
					fmt.Fprintf(os.Stderr, "kube-bench: the watch of %s broke: %v\n", kind, event.Object)
				}
				version = ""
				continue
			}
			version = object.GetResourceVersion()
			r.observe(now, event.Type, event.Object)
		}
	}
}

func (r *Recorder) observe(now time.Time, change watch.EventType, object any) {
	switch object := object.(type) {
	case *corev1.Pod:
		r.observePod(now, change, object)
		if r.onPod != nil && change != watch.Deleted {
			r.onPod(object)
		}
	case *corev1.Event:
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.writes["Event"]++
		if object.Namespace == r.focus && object.Type == corev1.EventTypeWarning || object.Reason == "Evict" || object.Reason == "Unschedulable" {
			r.keep(now, "event on "+object.InvolvedObject.Kind, object.Reason, object.Message, object.InvolvedObject.Name)
		}
	case *unstructured.Unstructured:
		r.observeGroup(now, object)
	}
}

func (r *Recorder) observePod(now time.Time, change watch.EventType, pod *corev1.Pod) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.writes["Pod"]++
	key := pod.Namespace + "/" + pod.Name
	trace := r.pods[key]
	if trace == nil {
		trace = &Trace{Namespace: pod.Namespace, Created: now}
		r.pods[key] = trace
	}
	if pod.Spec.NodeName != "" && trace.Bound.IsZero() {
		trace.Bound, trace.Node, trace.order = now, pod.Spec.NodeName, r.bound
		r.bound++
	}
	if pod.Status.Phase == corev1.PodRunning && trace.Running.IsZero() {
		trace.Running = now
	}
	if pod.DeletionTimestamp != nil && trace.Leaving.IsZero() {
		trace.Leaving = now
	}
	if change == watch.Deleted {
		trace.Gone = now
		if trace.Leaving.IsZero() {
			trace.Leaving = now
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			if trace.Unschedulable.IsZero() {
				trace.Unschedulable = now
			}
			if pod.Namespace == r.focus {
				r.keep(now, "pod condition", condition.Reason, condition.Message, pod.Name)
			}
		}
	}
}

func (r *Recorder) observeGroup(now time.Time, object *unstructured.Unstructured) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.writes["PodGroup"]++
	if object.GetNamespace() != r.focus || r.focus == "" {
		return
	}
	status, _ := object.Object["status"].(map[string]any)
	if phase, ok := status["phase"].(string); ok {
		r.keep(now, "PodGroup phase", phase, "", object.GetName())
	}
	for _, field := range []string{"conditions", "schedulingConditions"} {
		list, _ := status[field].([]any)
		for _, item := range list {
			condition, _ := item.(map[string]any)
			text := func(name string) string { value, _ := condition[name].(string); return value }
			r.keep(now, "PodGroup status."+field, text("type")+"="+text("status")+"/"+text("reason"), text("message"), object.GetName())
		}
	}
}

// keep remembers the first sight of each distinct message; digits do not make messages distinct.
func (r *Recorder) keep(now time.Time, where, reason, message, object string) {
	shape := strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' {
			return '#'
		}
		return c
	}, where+"|"+reason+"|"+message)
	if seen := r.verdicts[shape]; seen != nil {
		seen.Times++
		return
	}
	r.verdicts[shape] = &Verdict{Where: where, Reason: reason, Message: message, Object: object, Times: 1}
	r.moments[shape] = now
}

// Verdicts lists what was kept since the focus was set, earliest first.
func (r *Recorder) Verdicts(reference time.Time, limit int) []Verdict {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var all []Verdict
	for shape, verdict := range r.verdicts {
		copied := *verdict
		copied.Seconds = round(r.moments[shape].Sub(reference).Seconds())
		if len(copied.Message) > 700 {
			copied.Message = copied.Message[:700] + "…"
		}
		all = append(all, copied)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Seconds < all[j].Seconds })
	return all[:min(limit, len(all))]
}

// Focus keeps verdicts of one namespace from now on.
func (r *Recorder) Focus(namespace string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.focus = namespace
	r.verdicts, r.moments = map[string]*Verdict{}, map[string]time.Time{}
}

// Traces copies the traces of one namespace.
func (r *Recorder) Traces(namespace string) []Trace {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var all []Trace
	for _, trace := range r.pods {
		if trace.Namespace == namespace {
			all = append(all, *trace)
		}
	}
	return all
}

// Count is how many traces of a namespace satisfy a predicate.
func (r *Recorder) Count(namespace string, is func(*Trace) bool) int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	count := 0
	for _, trace := range r.pods {
		if trace.Namespace == namespace && is(trace) {
			count++
		}
	}
	return count
}

// Forget drops one pod that the harness itself removed, so that it does not count as evicted.
func (r *Recorder) Forget(key string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.pods, key)
}

// Writes copies the notification counters.
func (r *Recorder) Writes() map[string]int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	copied := map[string]int{}
	for kind, count := range r.writes {
		copied[kind] = count
	}
	return copied
}

func isBound(t *Trace) bool   { return !t.Bound.IsZero() }
func isRunning(t *Trace) bool { return !t.Running.IsZero() }
func isLeaving(t *Trace) bool { return !t.Leaving.IsZero() }
func isGone(t *Trace) bool    { return !t.Gone.IsZero() }
func isKnown(*Trace) bool     { return true }

// waitCount waits until at least want traces satisfy a predicate.
func (r *Recorder) waitCount(namespace string, want int, limit time.Duration, is func(*Trace) bool) bool {
	deadline := time.Now().Add(limit)
	for time.Now().Before(deadline) {
		if r.Count(namespace, is) >= want {
			return true
		}
		time.Sleep(50 * time.Millisecond)
	}
	return false
}
