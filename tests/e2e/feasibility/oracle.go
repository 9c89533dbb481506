// SPDX-License-Identifier: Apache-2.0

package feasibility

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// prepare does once what all worlds share.
var prepare = sync.OnceValues(func() (*schedulerconfig.KubeSchedulerProfile, error) {
	klog.SetLogger(klog.Logger{})
	metrics.Register()
	var versioned configv1.KubeSchedulerConfiguration
	scheme.Scheme.Default(&versioned)
	var config schedulerconfig.KubeSchedulerConfiguration
	if err := scheme.Scheme.Convert(&versioned, &config, nil); err != nil {
		return nil, err
	}
	return &config.Profiles[0], nil
})

// Answer fills in Feasible and Failed.
func Answer(world *World) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o, err := newOracle(ctx, world)
	if err != nil {
		return fmt.Errorf("%s: %w", world.Name, err)
	}
	if err := o.answer(ctx); err != nil {
		return fmt.Errorf("%s: %w", world.Name, err)
	}
	return nil
}

type oracle struct {
	world     *World
	framework framework.Framework
	snapshot  *schedulercache.Snapshot
	filters   map[string]fwk.FilterPlugin // those of the default profile
}

// inCache says which pods kube-scheduler counts on their nodes: it does not even see those that
// have ended.
func inCache(pod *corev1.Pod, nodes map[string]bool) bool {
	return nodes[pod.Spec.NodeName] && pod.Status.Phase != corev1.PodSucceeded &&
		pod.Status.Phase != corev1.PodFailed
}

// fill puts the objects of a world where listers look, without a server and its watches.
func fill(factory informers.SharedInformerFactory, world *World) error {
	core, storage := factory.Core().V1(), factory.Storage().V1()
	return errors.Join(
		add(core.Nodes().Informer(), world.Nodes), add(core.Pods().Informer(), world.Pods),
		add(core.PersistentVolumes().Informer(), world.PVs),
		add(core.PersistentVolumeClaims().Informer(), world.PVCs),
		add(core.Namespaces().Informer(), world.Namespaces),
		add(storage.StorageClasses().Informer(), world.StorageClasses),
		add(storage.CSINodes().Informer(), world.CSINodes))
}

func add[T runtime.Object](informer cache.SharedIndexInformer, objects []T) error {
	for _, object := range objects {
		if err := informer.GetIndexer().Add(object); err != nil {
			return err
		}
	}
	return nil
}

func newOracle(ctx context.Context, world *World) (*oracle, error) {
	profile, err := prepare()
	if err != nil {
		return nil, err
	}
	client := fake.NewSimpleClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	claims := assumecache.NewAssumeCache(klog.Logger{},
		factory.Resource().V1().ResourceClaims().Informer(), "ResourceClaim", "", nil)
	slicesTracker, err := tracker.StartTracker(ctx, tracker.Options{
		SliceInformer: factory.Resource().V1().ResourceSlices(), KubeClient: client,
	})
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, node := range world.Nodes {
		known[node.Name] = true
	}
	var placed []*corev1.Pod
	waiting := nominations{}
	for _, pod := range world.Pods {
		if inCache(pod, known) {
			placed = append(placed, pod)
		}
		if pod.Spec.NodeName == "" && pod.Status.NominatedNodeName != "" {
			info, err := framework.NewPodInfo(pod)
			if err != nil {
				return nil, err
			}
			name := pod.Status.NominatedNodeName
			waiting[name] = append(waiting[name], info)
		}
	}
	o := &oracle{
		world: world, snapshot: schedulercache.NewSnapshot(placed, world.Nodes),
		filters: map[string]fwk.FilterPlugin{},
	}
	registry := plugins.NewInTreeRegistry()
	for name, create := range registry {
		registry[name] = func(
			ctx context.Context, args runtime.Object, handle fwk.Handle,
		) (fwk.Plugin, error) {
			plugin, err := create(ctx, args, handle)
			if filter, ok := plugin.(fwk.FilterPlugin); ok && err == nil {
				o.filters[name] = filter
			}
			return plugin, err
		}
	}
	o.framework, err = frameworkruntime.NewFramework(ctx, registry, profile,
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSnapshotSharedLister(o.snapshot),
		frameworkruntime.WithPodNominator(waiting),
		frameworkruntime.WithEventRecorder(&events.FakeRecorder{}),
		frameworkruntime.WithSharedDRAManager(
			dynamicresources.NewDRAManager(ctx, claims, slicesTracker, factory)),
		frameworkruntime.WithSharedCSIManager(
			nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
	)
	if err != nil {
		return nil, err
	}
	return o, fill(factory, world)
}

// answer follows Scheduler.findNodesThatFitPod: filters first for the pod alone, then per node.
func (o *oracle) answer(ctx context.Context) error {
	state := framework.NewCycleState()
	state.SetRecordPluginMetrics(false)
	w := o.world
	w.Feasible, w.Failed = []string{}, map[string][]string{}
	only, status, _ := o.framework.RunPreFilterPlugins(ctx, state, w.Pod)
	if !status.IsSuccess() {
		if !status.IsRejected() {
			return status.AsError()
		}
		for _, node := range w.Nodes {
			w.Failed[node.Name] = []string{predicate(status)}
		}
		return nil
	}
	for _, node := range w.Nodes {
		info, err := o.snapshot.Get(node.Name)
		if err != nil {
			return err
		}
		failed, err := o.filterNode(ctx, state, info)
		if err != nil {
			return err
		}
		if !only.AllNodes() && !only.NodeNames.Has(node.Name) {
			failed["NodeAffinity"] = true // by name; claims of devices are not part of these worlds
		}
		if len(failed) == 0 {
			w.Feasible = append(w.Feasible, node.Name)
			continue
		}
		for name := range failed {
			w.Failed[node.Name] = append(w.Failed[node.Name], name)
		}
		slices.Sort(w.Failed[node.Name])
	}
	slices.Sort(w.Feasible)
	return nil
}

// filterNode collects all predicates that a node fails, where the scheduler stops at the first, and
// checks that both come to the same end.
func (o *oracle) filterNode(
	ctx context.Context, state fwk.CycleState, info fwk.NodeInfo,
) (map[string]bool, error) {
	failed := map[string]bool{}
	if err := o.filterOnce(ctx, state, info, failed); err != nil {
		return nil, err
	}
	withOthers, crowded := state.Clone(), info.Snapshot()
	added := false
	for _, other := range o.framework.NominatedPodsForNode(info.Node().Name) {
		if priority(other.GetPod()) < priority(o.world.Pod) {
			continue
		}
		added = true
		crowded.AddPodInfo(other)
		status := o.framework.RunPreFilterExtensionAddPod(ctx, withOthers, o.world.Pod, other, crowded)
		if !status.IsSuccess() {
			return nil, status.AsError()
		}
	}
	if added {
		more := map[string]bool{}
		if err := o.filterOnce(ctx, withOthers, crowded, more); err != nil {
			return nil, err
		}
		for name := range more {
			if !failed[name] {
				failed["NominatedPods"] = true
			}
		}
	}
	whole := o.framework.RunFilterPluginsWithNominatedPods(ctx, state, o.world.Pod, info)
	if whole.IsSuccess() != (len(failed) == 0) {
		return nil, fmt.Errorf("node %s: the scheduler says %v, its filters one by one %v",
			info.Node().Name, whole, failed)
	}
	return failed, nil
}

func (o *oracle) filterOnce(
	ctx context.Context, state fwk.CycleState, info fwk.NodeInfo, failed map[string]bool,
) error {
	for name, filter := range o.filters {
		if state.GetSkipFilterPlugins().Has(name) {
			continue
		}
		status := filter.Filter(ctx, state, o.world.Pod, info)
		if status.IsSuccess() {
			continue
		}
		if !status.IsRejected() {
			return fmt.Errorf("%s on %s: %w", name, info.Node().Name, status.AsError())
		}
		status.SetPlugin(name)
		for _, reason := range status.Reasons() {
			failed[predicate(status, reason)] = true
		}
	}
	return nil
}

// predicate is the word of World.Failed for what a plugin complained about.
func predicate(status *fwk.Status, reasons ...string) string {
	name := status.Plugin()
	if len(reasons) == 0 {
		reasons = status.Reasons()
	}
	reason := strings.Join(reasons, ", ")
	switch name {
	case "InterPodAffinity":
		switch {
		case strings.Contains(reason, "existing pods anti-affinity"):
			return "InterPodAntiAffinityOfOthers"
		case strings.Contains(reason, "anti-affinity"):
			return "InterPodAntiAffinity"
		}
	case "NodeResourcesFit":
		if reason == "Too many pods" {
			return "NodeResourcesFit/pods"
		}
	case "VolumeBinding":
		if strings.Contains(reason, "PersistentVolume's node affinity") ||
			strings.Contains(reason, "non-existent") {
			return "VolumeBinding/bound"
		}
		return "VolumeBinding/unbound"
	}
	return name
}

func priority(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// nominations are the pods that wait for a node.
type nominations map[string][]fwk.PodInfo

func (n nominations) AddNominatedPod(klog.Logger, fwk.PodInfo, *fwk.NominatingInfo) {}
func (n nominations) DeleteNominatedPodIfExists(*corev1.Pod)                        {}
func (n nominations) UpdateNominatedPod(klog.Logger, *corev1.Pod, fwk.PodInfo)      {}

func (n nominations) NominatedPodsForNode(node string) []fwk.PodInfo { return n[node] }
