// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Annotations of a pod that tell the player what is to become of it.
const (
	// RunsForAnnotation is a duration; the pod then ends as Succeeded.
	RunsForAnnotation = "player.mainspring.dev/runs-for"
	// FailsAfterAnnotation is a duration; the pod then ends as Failed.
	FailsAfterAnnotation = "player.mainspring.dev/fails-after"
	// RefusedAnnotation is a reason, UnexpectedAdmissionError for example: the pod never starts.
	RefusedAnnotation = "player.mainspring.dev/refused"
)

// PlayerOptions say how kubelets are played. Zero values are replaced as said there.
type PlayerOptions struct {
	// StartDelay is from the binding to Running.
	StartDelay time.Duration
	// EndDelay is from the deletion timestamp to the end of the pod; never more than the pod's
	// grace period. Zero ends pods at once; a negative value lets them take all their grace.
	EndDelay time.Duration
	// Refuse may reject a pod that was bound, as a kubelet does: give the reason and a message.
	Refuse func(pod *corev1.Pod) (reason, message string, refuse bool)
	// AdmitAll starts pods for which the node has no room. Without it they are refused like a
	// kubelet refuses them, with OutOfcpu, OutOfnvidia.com/gpu and so on.
	AdmitAll bool
	// Workers is how many requests may be under way; 8 if zero.
	Workers int
}

// life is what the player knows of one pod.
type life struct {
	pod     *corev1.Pod
	started bool // or refused
	ended   bool // in a final phase, by our own hand
	ending  bool // deletion seen
	charged bool // counts on its node
}

// Player stands in for the kubelets of all nodes.
type Player struct {
	options PlayerOptions
	client  *kubernetes.Clientset
	work    chan func()
	ctx     context.Context

	mutex   sync.Mutex
	lives   map[types.UID]*life
	free    map[string]corev1.ResourceList // per node; negative where AdmitAll let too many in
	refused map[string]string              // reason by namespace/name
	asleep  map[string]bool                // nodes whose kubelet does nothing
	starts  int
}

func newPlayer(ctx context.Context, c *Cluster, options *PlayerOptions) (*Player, error) {
	p := &Player{
		client: c.Admin, ctx: ctx, work: make(chan func(), 100000), lives: map[types.UID]*life{},
		free: map[string]corev1.ResourceList{}, refused: map[string]string{}, asleep: map[string]bool{},
	}
	if options != nil {
		p.options = *options
	}
	if p.options.Workers == 0 {
		p.options.Workers = 8
	}
	for range p.options.Workers {
		go func() {
			for {
				select {
				case job := <-p.work:
					job()
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	source := cache.NewListWatchFromClient(p.client.CoreV1().RESTClient(), "pods", "",
		fields.OneTermNotEqualSelector("spec.nodeName", ""))
	informer := cache.NewSharedInformer(source, &corev1.Pod{}, 0)
	_ = informer.SetTransform(func(object any) (any, error) {
		if pod, ok := object.(*corev1.Pod); ok {
			pod.ManagedFields = nil
		}
		return object, nil
	})
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { p.observe(object.(*corev1.Pod)) },
		UpdateFunc: func(_, object any) { p.observe(object.(*corev1.Pod)) },
		DeleteFunc: func(object any) {
			if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			p.forget(object.(*corev1.Pod))
		},
	}); err != nil {
		return nil, err
	}
	go informer.Run(ctx.Done())
	if c.options.NodeLifecycle {
		go p.renewLeases()
	}
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, fmt.Errorf("the player could not list pods")
	}
	return p, nil
}

func isFinal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// observe is called in the order of the watch.
func (p *Player) observe(pod *corev1.Pod) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	known := p.lives[pod.UID]
	if known == nil {
		known = &life{}
		p.lives[pod.UID] = known
		// What ran before the player came is taken as it is.
		if pod.Status.Phase == corev1.PodRunning {
			known.started = true
			p.charge(known, pod)
		}
	}
	known.pod = pod
	if isFinal(pod) {
		known.ended = true
		p.release(known)
	}
	if p.asleep[pod.Spec.NodeName] {
		return
	}
	p.act(known)
}

// act does what is due for a pod. The mutex is held.
func (p *Player) act(known *life) {
	pod := known.pod
	switch {
	case pod.DeletionTimestamp != nil:
		if !known.ending {
			known.ending = true
			p.after(p.endDelay(pod), func() { p.remove(pod) })
		}
	case !known.started && pod.Status.Phase == corev1.PodPending:
		known.started = true
		p.begin(known)
	}
}

func (p *Player) endDelay(pod *corev1.Pod) time.Duration {
	grace := time.Duration(0)
	if pod.DeletionGracePeriodSeconds != nil {
		grace = time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	}
	if p.options.EndDelay < 0 {
		return grace
	}
	return min(grace, p.options.EndDelay)
}

// begin starts or refuses a pod. The mutex is held.
func (p *Player) begin(known *life) {
	pod := known.pod
	if reason, message, refuse := p.judge(known); refuse {
		known.ended = true
		p.refused[pod.Namespace+"/"+pod.Name] = reason
		p.after(0, func() { _ = p.patch(pod, finalStatus(pod, corev1.PodFailed, reason, message)) })
		return
	}
	p.starts++
	p.after(p.options.StartDelay, func() {
		p.mutex.Lock()
		over := known.ended || known.ending
		p.mutex.Unlock()
		if over || p.patch(pod, runningStatus(pod)) != nil {
			return
		}
		for annotation, phase := range map[string]corev1.PodPhase{
			RunsForAnnotation: corev1.PodSucceeded, FailsAfterAnnotation: corev1.PodFailed,
		} {
			if span, err := time.ParseDuration(pod.Annotations[annotation]); err == nil {
				p.after(span, func() { _ = p.end(pod, phase) })
			}
		}
	})
}

// judge is the admission of a kubelet: charges the pod to its node unless it is refused.
func (p *Player) judge(known *life) (reason, message string, refuse bool) {
	pod := known.pod
	if reason := pod.Annotations[RefusedAnnotation]; reason != "" {
		return reason, "Pod was rejected: as its annotation says", true
	}
	if p.options.Refuse != nil {
		if reason, message, refuse := p.options.Refuse(pod); refuse {
			return reason, message, true
		}
	}
	if !p.options.AdmitAll {
		free := p.freeOf(pod.Spec.NodeName)
		for name, amount := range podRequests(pod) {
			if left, known := free[name]; known && left.Cmp(amount) < 0 {
				return "OutOf" + string(name), fmt.Sprintf("Pod was rejected: Node didn't have enough "+
					"resource: %s, requested: %s, left: %s", name, amount.String(), left.String()), true
			}
		}
	}
	p.charge(known, pod)
	return "", "", false
}

// freeOf reads a node once and then keeps the account. The mutex is held.
func (p *Player) freeOf(node string) corev1.ResourceList {
	free, known := p.free[node]
	if !known {
		object, err := p.client.CoreV1().Nodes().Get(p.ctx, node, metav1.GetOptions{})
		if err != nil {
			return nil
		}
		free = object.Status.Allocatable.DeepCopy()
		p.free[node] = free
	}
	return free
}

func (p *Player) charge(known *life, pod *corev1.Pod) {
	if !known.charged {
		known.charged = true
		p.add(pod, -1)
	}
}

func (p *Player) release(known *life) {
	if known.charged {
		known.charged = false
		p.add(known.pod, 1)
	}
}

func (p *Player) add(pod *corev1.Pod, sign int64) {
	free := p.freeOf(pod.Spec.NodeName)
	for name, amount := range podRequests(pod) {
		left, known := free[name]
		if !known {
			continue
		}
		if sign < 0 {
			left.Sub(amount)
		} else {
			left.Add(amount)
		}
		free[name] = left
	}
}

func (p *Player) forget(pod *corev1.Pod) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if known := p.lives[pod.UID]; known != nil {
		p.release(known)
		delete(p.lives, pod.UID)
	}
}

// podRequests is what a pod needs at once: the larger of its containers together and of each init
// container with the sidecars started before it, and its overhead.
func podRequests(pod *corev1.Pod) corev1.ResourceList {
	total, sidecars, peak := corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	add := func(to, what corev1.ResourceList) {
		for name, amount := range what {
			sum := to[name]
			sum.Add(amount)
			to[name] = sum
		}
	}
	raise := func(to, what corev1.ResourceList) {
		for name, amount := range what {
			if has := to[name]; has.Cmp(amount) < 0 {
				to[name] = amount.DeepCopy()
			}
		}
	}
	for _, container := range pod.Spec.InitContainers {
		if policy := container.RestartPolicy; policy != nil && *policy == corev1.ContainerRestartPolicyAlways {
			add(sidecars, container.Resources.Requests)
			raise(peak, sidecars)
			continue
		}
		needs := sidecars.DeepCopy()
		add(needs, container.Resources.Requests)
		raise(peak, needs)
	}
	for _, container := range pod.Spec.Containers {
		add(total, container.Resources.Requests)
	}
	add(total, sidecars)
	raise(total, peak)
	add(total, pod.Spec.Overhead)
	total[corev1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	return total
}

func (p *Player) after(delay time.Duration, job func()) {
	send := func() {
		select {
		case p.work <- job:
		case <-p.ctx.Done():
		}
	}
	if delay <= 0 {
		send()
		return
	}
	time.AfterFunc(delay, send)
}

func containerStatuses(containers []corev1.Container, state corev1.ContainerState) []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	running := state.Running != nil
	for _, container := range containers {
		all = append(all, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, Ready: running, Started: &running, State: state,
		})
	}
	return all
}

func runningStatus(pod *corev1.Pod) corev1.PodStatus {
	now := metav1.Now()
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	status := corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &now, HostIP: "127.0.0.1", PodIP: "127.0.0.1",
		ContainerStatuses: containerStatuses(pod.Spec.Containers, state),
	}
	for _, kind := range []corev1.PodConditionType{
		corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady,
	} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now,
		})
	}
	return status
}

func finalStatus(pod *corev1.Pod, phase corev1.PodPhase, reason, message string) corev1.PodStatus {
	now := metav1.Now()
	ended := &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: now}
	if phase == corev1.PodFailed {
		ended.Reason, ended.ExitCode = "Error", 137
	}
	status := corev1.PodStatus{Phase: phase, Reason: reason, Message: message}
	if reason == "" {
		status.ContainerStatuses = containerStatuses(pod.Spec.Containers, corev1.ContainerState{Terminated: ended})
	}
	for _, kind := range []corev1.PodConditionType{corev1.ContainersReady, corev1.PodReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionFalse, LastTransitionTime: now,
		})
	}
	return status
}

// patch writes status onto exactly this pod, never onto a later one of the same name.
func (p *Player) patch(pod *corev1.Pod, status corev1.PodStatus) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err != nil {
		return err
	}
	_, err = p.client.CoreV1().Pods(pod.Namespace).Patch(p.ctx, pod.Name, types.StrategicMergePatchType,
		body, metav1.PatchOptions{}, "status")
	return err
}

// end brings a pod into its final phase once.
func (p *Player) end(pod *corev1.Pod, phase corev1.PodPhase) error {
	p.mutex.Lock()
	known := p.lives[pod.UID]
	if known == nil || known.ended {
		p.mutex.Unlock()
		return nil
	}
	known.ended = true
	p.mutex.Unlock()
	return p.patch(pod, finalStatus(pod, phase, "", ""))
}

// remove is the end of a deleted pod: its processes first, then the object.
func (p *Player) remove(pod *corev1.Pod) {
	_ = p.end(pod, corev1.PodFailed)
	zero := int64(0)
	_ = p.client.CoreV1().Pods(pod.Namespace).Delete(p.ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &zero, Preconditions: &metav1.Preconditions{UID: &pod.UID},
	})
}

// Complete ends a running pod as Succeeded, Fail as Failed.
func (p *Player) Complete(namespace, name string) error {
	return p.endByName(namespace, name, corev1.PodSucceeded)
}

// Fail ends a running pod as Failed.
func (p *Player) Fail(namespace, name string) error {
	return p.endByName(namespace, name, corev1.PodFailed)
}

func (p *Player) endByName(namespace, name string, phase corev1.PodPhase) error {
	pod, err := p.client.CoreV1().Pods(namespace).Get(p.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return p.end(pod, phase)
}

// Refused is why pods were refused, by namespace/name. Empty at the end of most tests: a pod that
// a node has no room for was bound wrongly.
func (p *Player) Refused() map[string]string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	copied := map[string]string{}
	for name, reason := range p.refused {
		copied[name] = reason
	}
	return copied
}

// Starts is how many pods were started so far.
func (p *Player) Starts() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.starts
}

// Sleep makes the kubelet of a node do nothing until Wake: its pods neither start nor end, and its
// lease is not renewed.
func (p *Player) Sleep(node string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.asleep[node] = true
}

// Wake ends Sleep and makes up for what was missed.
func (p *Player) Wake(node string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.asleep, node)
	for _, known := range p.lives {
		if known.pod.Spec.NodeName == node {
			p.act(known)
		}
	}
}

// ReadNode forgets what a node offers, to be called after its status was changed.
func (p *Player) ReadNode(node string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.free, node)
	for _, known := range p.lives {
		if known.charged && known.pod.Spec.NodeName == node {
			p.add(known.pod, -1)
		}
	}
}

// renewLeases tells the node controller that all nodes are alive, but for those that sleep.
func (p *Player) renewLeases() {
	leases := p.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	for p.ctx.Err() == nil {
		nodes, err := p.client.CoreV1().Nodes().List(p.ctx, metav1.ListOptions{})
		if err == nil {
			_ = ForEach(len(nodes.Items), func(i int) error {
				name := nodes.Items[i].Name
				p.mutex.Lock()
				asleep := p.asleep[name]
				p.mutex.Unlock()
				if asleep {
					return nil
				}
				seconds := int32(40)
				now := metav1.NowMicro()
				spec := coordinationv1.LeaseSpec{
					HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &now,
				}
				body, _ := json.Marshal(map[string]any{"spec": spec})
				_, err := leases.Patch(p.ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
				if err != nil {
					lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
					_, _ = leases.Create(p.ctx, lease, metav1.CreateOptions{})
				}
				return nil
			})
		}
		select {
		case <-p.ctx.Done():
		case <-time.After(5 * time.Second):
		}
	}
}
