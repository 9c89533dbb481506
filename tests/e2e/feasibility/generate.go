// SPDX-License-Identifier: Apache-2.0

package feasibility

import (
	"fmt"
	"maps"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install"    // fills in defaults
	_ "k8s.io/kubernetes/pkg/apis/storage/install" // likewise
)

const (
	gpu     = corev1.ResourceName("nvidia.com/gpu")
	zoneKey = corev1.LabelTopologyZone
	rackKey = "topology.example.com/rack"
	hostKey = corev1.LabelHostname
)

// generator makes one world. Each predicate shall often be the only one that some node fails. So
// about half of them play a part in a world, and each of those fails on one node in six or so.
type generator struct {
	*rand.Rand
	world   *World
	themes  map[string]bool
	claims  int                      // made so far, for names
	perNode map[string][]*corev1.Pod // pods that are there
}

// themes are what may play a part in a world, and how often.
var themes = []struct {
	name string
	part float64
}{
	{"resources", 0.65}, {"pod count", 0.58}, {"unschedulable", 0.75}, {"taints", 0.55},
	{"node affinity", 0.6}, {"ports", 0.57}, {"affinity", 0.62}, {"anti-affinity", 0.5},
	{"anti-affinity of others", 0.78}, {"spread", 0.85}, {"bound volumes", 0.58},
	{"unbound volumes", 0.5}, {"zones of volumes", 0.53}, {"volumes per node", 0.55},
	{"volumes for one pod", 0.1}, {"nominated pods", 0.65},
}

var apps = []string{"web", "train", "cache"}

// Generate makes the world of a seed and a number. The answer is not filled in.
func Generate(seed uint64, number int) *World {
	g := &generator{
		Rand:   rand.New(rand.NewPCG(seed, uint64(number))),
		themes: map[string]bool{}, perNode: map[string][]*corev1.Pod{},
		world: &World{
			Name:  fmt.Sprintf("seed %d, world %d", seed, number),
			Nodes: []*corev1.Node{}, Pods: []*corev1.Pod{}, PVs: []*corev1.PersistentVolume{},
			PVCs: []*corev1.PersistentVolumeClaim{}, StorageClasses: []*storagev1.StorageClass{},
			CSINodes: []*storagev1.CSINode{}, Namespaces: []*corev1.Namespace{},
		},
	}
	for _, theme := range themes {
		g.themes[theme.name] = g.chance(theme.part)
	}
	g.namespaces()
	for i := range 20 + g.IntN(9) {
		g.node(i)
	}
	g.storageClasses()
	for _, node := range g.world.Nodes {
		for range g.IntN(5) {
			g.existingPod(node)
		}
	}
	g.pod()
	g.nominatedPods()
	g.podLimits()
	g.csiNodes()
	g.defaults()
	return g.world
}

func (g *generator) chance(probability float64) bool { return g.Float64() < probability }

func pick[T any](g *generator, values ...T) T { return values[g.IntN(len(values))] }

func quantity(text string) resource.Quantity { return resource.MustParse(text) }

func milli(cpu int) resource.Quantity {
	return *resource.NewMilliQuantity(int64(cpu), resource.DecimalSI)
}

func count(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }

func mebi(n int) resource.Quantity {
	return *resource.NewQuantity(int64(n)<<20, resource.BinarySI)
}

func (g *generator) namespaces() {
	for _, name := range []string{"team-a", "team-b", "team-c"} {
		labels := map[string]string{corev1.LabelMetadataName: name, "tier": pick(g, "gold", "silver")}
		g.world.Namespaces = append(g.world.Namespaces,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
}

func (g *generator) node(i int) {
	name := fmt.Sprintf("n%d", i)
	labels := map[string]string{
		hostKey: name, zoneKey: fmt.Sprintf("zone-%d", i%4), rackKey: fmt.Sprintf("rack-%d", i%5),
		"disk": pick(g, "ssd", "ssd", "ssd", "hdd"), "generation": fmt.Sprint(g.IntN(6)),
	}
	if g.chance(0.2) {
		labels["nvlink"] = "true"
	}
	if g.chance(0.02) {
		delete(labels, pick(g, zoneKey, rackKey))
	}
	amounts := corev1.ResourceList{
		corev1.ResourceCPU:              count(pick(g, 32, 64)),
		corev1.ResourceMemory:           mebi(1024 * pick(g, 128, 256)),
		corev1.ResourceEphemeralStorage: mebi(1024 * 200),
		corev1.ResourcePods:             count(20),
		gpu:                             count(pick(g, 8, 16)),
	}
	if g.themes["resources"] && g.chance(0.35) {
		amounts[corev1.ResourceCPU] = count(pick(g, 4, 8))
		amounts[corev1.ResourceMemory] = mebi(1024 * pick(g, 8, 32))
		if gpus := g.IntN(3); gpus > 0 {
			amounts[gpu] = count(gpus)
		} else {
			delete(amounts, gpu)
		}
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), Labels: labels},
		Status:     corev1.NodeStatus{Capacity: amounts, Allocatable: amounts.DeepCopy()},
	}
	if g.themes["unschedulable"] && g.chance(0.2) {
		node.Spec.Unschedulable = true
		if g.chance(0.2) {
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{
				Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
		}
	}
	if g.themes["taints"] && g.chance(0.3) {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{
			Key: pick(g, "dedicated", "flaky"), Value: pick(g, "a", "b", ""),
			Effect: pick(g, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoSchedule,
				corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule),
		})
	}
	g.world.Nodes = append(g.world.Nodes, node)
}

// requests are up to that part of a large node.
func (g *generator) requests(part float64) corev1.ResourceList {
	amounts := corev1.ResourceList{}
	upTo := func(most int) int { return int(g.Float64() * part * float64(most)) }
	if g.chance(0.8) {
		amounts[corev1.ResourceCPU] = milli(100 + upTo(16000))
	}
	if g.chance(0.7) {
		amounts[corev1.ResourceMemory] = mebi(64 + upTo(64*1024))
	}
	if g.chance(0.2) {
		amounts[corev1.ResourceEphemeralStorage] = mebi(100 + upTo(100*1024))
	}
	if gpus := upTo(12); g.chance(0.5) && gpus > 0 {
		amounts[gpu] = count(gpus)
	}
	return amounts
}

func (g *generator) container(name string, part float64) corev1.Container {
	requests := g.requests(part)
	container := corev1.Container{Name: name, Image: "example.com/" + name}
	container.Resources.Requests = requests
	if _, has := requests[gpu]; has || g.chance(0.2) {
		container.Resources.Limits = requests.DeepCopy() // extended resources must have both
	}
	if g.chance(0.1) {
		container.Resources.Requests = nil // then they are what the limits are
	}
	return container
}

// newPod has containers of all kinds and labels; part is how much of a large node it may want.
func (g *generator) newPod(namespace, name string, part float64) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(namespace + "-" + name),
			Labels: map[string]string{"app": pick(g, apps...), "version": pick(g, "1", "2")},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{g.container("main", part)}},
	}
	if g.chance(0.2) {
		pod.Spec.Containers = append(pod.Spec.Containers, g.container("second", part/2))
	}
	for i := range g.IntN(3) {
		container := g.container(fmt.Sprintf("init-%d", i), part)
		if g.chance(0.4) {
			always := corev1.ContainerRestartPolicyAlways
			container.RestartPolicy = &always
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, container)
	}
	if g.chance(0.15) {
		class := "sandboxed"
		pod.Spec.RuntimeClassName = &class
		pod.Spec.Overhead = corev1.ResourceList{
			corev1.ResourceCPU: milli(250), corev1.ResourceMemory: quantity("256Mi")}
	}
	value := int32(pick(g, 0, 0, 100, 1000))
	pod.Spec.Priority = &value
	if g.themes["ports"] && g.chance(0.6) {
		g.hostPorts(pod)
	}
	if g.chance(0.08) {
		// Amounts for the pod as a whole count instead of the sum of its containers.
		legacyscheme.Scheme.Default(pod)
		sum := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{ExcludeOverhead: true})
		whole := corev1.ResourceList{}
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			amount := sum[name]
			amount.Add(*resource.NewQuantity(amount.Value()/4+1, amount.Format))
			whole[name] = amount
		}
		pod.Spec.Resources = &corev1.ResourceRequirements{Requests: whole}
	}
	return pod
}

func (g *generator) hostPorts(pod *corev1.Pod) {
	for i := range 1 + g.IntN(2) {
		port := corev1.ContainerPort{
			HostPort: int32(8000 + g.IntN(4)), HostIP: pick(g, "", "", "0.0.0.0", "127.0.0.1", "10.0.0.1"),
			Protocol: pick(g, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP),
		}
		port.ContainerPort = port.HostPort + int32(100*i)
		if i == 0 || port.HostPort != pod.Spec.Containers[0].Ports[0].HostPort {
			pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports, port)
		}
	}
}

func (g *generator) existingPod(node *corev1.Node) {
	number := len(g.world.Pods)
	pod := g.newPod(pick(g, "team-a", "team-a", "team-b", "team-c"), fmt.Sprintf("there-%d", number), 0.06)
	pod.Spec.NodeName = node.Name
	pod.Status.Phase = corev1.PodRunning
	switch {
	case g.chance(0.06):
		pod.Status.Phase = pick(g, corev1.PodSucceeded, corev1.PodFailed) // holds nothing any more
	case g.chance(0.06):
		// It is asked to go, but holds its place until it has gone.
		now := metav1.Unix(1700000000, 0)
		grace := int64(30)
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &now, &grace
	}
	if g.themes["anti-affinity of others"] && g.chance(0.35) {
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: g.antiAffinity()}
	}
	if g.chance(0.2) {
		g.attachedVolume(pod)
	}
	g.world.Pods = append(g.world.Pods, pod)
	g.perNode[node.Name] = append(g.perNode[node.Name], pod)
}

func (g *generator) pod() {
	part := 0.03
	if g.themes["resources"] {
		part = 0.16
	}
	pod := g.newPod("team-a", "wanted", part)
	pod.Status.Phase = corev1.PodPending
	if g.themes["ports"] && len(pod.Spec.Containers[0].Ports) == 0 {
		g.hostPorts(pod)
	}
	if g.themes["node affinity"] {
		g.nodeAffinity(pod)
	}
	for range g.IntN(3) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, g.toleration())
	}
	if g.themes["affinity"] {
		g.affinity(pod).PodAffinity = &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: g.affinityTerms(false)}
	}
	if g.themes["anti-affinity"] {
		g.affinity(pod).PodAntiAffinity = g.antiAffinity()
	}
	if g.themes["spread"] {
		for range 1 + g.IntN(3)/2 {
			g.spread(pod)
		}
	}
	g.world.Pod = pod
	g.wantedVolumes(pod)
}

func (g *generator) affinity(pod *corev1.Pod) *corev1.Affinity {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	return pod.Spec.Affinity
}

func (g *generator) toleration() corev1.Toleration {
	toleration := corev1.Toleration{
		Key:    pick(g, "dedicated", "flaky", corev1.TaintNodeUnschedulable, "other", "dedicated", "flaky"),
		Effect: pick(g, "", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute),
	}
	toleration.Operator = pick(g, corev1.TolerationOpExists, corev1.TolerationOpEqual, "")
	if toleration.Operator != corev1.TolerationOpExists {
		toleration.Value = pick(g, "a", "b", "")
	}
	if g.chance(0.05) {
		toleration = corev1.Toleration{Operator: corev1.TolerationOpExists}
	}
	return toleration
}

func (g *generator) requirement() corev1.NodeSelectorRequirement {
	type requirement = corev1.NodeSelectorRequirement
	return pick(g,
		requirement{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"ssd", "nvme"}},
		requirement{Key: "disk", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"hdd"}},
		requirement{Key: "nvlink", Operator: corev1.NodeSelectorOpDoesNotExist},
		requirement{Key: rackKey, Operator: corev1.NodeSelectorOpExists},
		requirement{Key: rackKey, Operator: corev1.NodeSelectorOpNotIn,
			Values: []string{pick(g, "rack-0", "rack-1", "rack-2")}},
		requirement{Key: "generation", Operator: corev1.NodeSelectorOpGt, Values: []string{"0"}},
		requirement{Key: "generation", Operator: corev1.NodeSelectorOpLt, Values: []string{"5"}},
		requirement{Key: zoneKey, Operator: corev1.NodeSelectorOpIn,
			Values: []string{"zone-0", "zone-1", pick(g, "zone-2", "zone-3")}},
	)
}

func (g *generator) nodeAffinity(pod *corev1.Pod) {
	if g.chance(0.3) {
		pod.Spec.NodeSelector = map[string]string{"disk": "ssd"}
		if g.chance(0.5) {
			return
		}
	}
	var terms []corev1.NodeSelectorTerm
	for range 1 + g.IntN(2) {
		term := corev1.NodeSelectorTerm{}
		for range 1 + g.IntN(2) {
			term.MatchExpressions = append(term.MatchExpressions, g.requirement())
		}
		if g.chance(0.08) {
			term.MatchFields = []corev1.NodeSelectorRequirement{{
				Key: metav1.ObjectNameField, Values: []string{fmt.Sprintf("n%d", g.IntN(10))},
				Operator: pick(g, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpIn),
			}}
		}
		if g.chance(0.03) {
			term = corev1.NodeSelectorTerm{} // matches nothing
		}
		terms = append(terms, term)
	}
	g.affinity(pod).NodeAffinity = &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
	}
}

// labelSelector is about the app; a narrow one often about the version as well.
func (g *generator) labelSelector(narrow bool) *metav1.LabelSelector {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": pick(g, apps...)}}
	switch {
	case g.chance(0.15) && !narrow:
		selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "app", Values: []string{pick(g, apps...), pick(g, apps...)},
			Operator: pick(g, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn),
		}}}
	case narrow && g.chance(0.8) || g.chance(0.2):
		selector.MatchLabels["version"] = pick(g, "1", "2")
	case g.chance(0.03):
		selector = &metav1.LabelSelector{} // all pods
	case g.chance(0.02):
		selector = nil // no pod
	}
	return selector
}

// affinityTerms are about other pods; those of anti-affinity are narrower, for not to forbid all.
func (g *generator) affinityTerms(anti bool) []corev1.PodAffinityTerm {
	var terms []corev1.PodAffinityTerm
	for range 1 + g.IntN(6)/5 {
		term := corev1.PodAffinityTerm{
			LabelSelector: g.labelSelector(anti), TopologyKey: pick(g, zoneKey, zoneKey, zoneKey, rackKey)}
		if anti {
			term.TopologyKey = pick(g, hostKey, hostKey, hostKey, rackKey)
		}
		switch {
		case !anti && g.chance(0.4):
			term.NamespaceSelector = &metav1.LabelSelector{}
		case g.chance(0.15):
			term.Namespaces = []string{pick(g, "team-b", "team-c"), "team-a"}
		case g.chance(0.15):
			term.NamespaceSelector = &metav1.LabelSelector{
				MatchLabels: map[string]string{"tier": pick(g, "gold", "silver")}}
		case g.chance(0.1):
			term.NamespaceSelector = &metav1.LabelSelector{} // all namespaces
		}
		terms = append(terms, term)
	}
	return terms
}

func (g *generator) antiAffinity() *corev1.PodAntiAffinity {
	return &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: g.affinityTerms(true)}
}

func (g *generator) spread(pod *corev1.Pod) {
	key := pick(g, zoneKey, hostKey, rackKey)
	for _, other := range pod.Spec.TopologySpreadConstraints {
		if other.TopologyKey == key {
			return
		}
	}
	constraint := corev1.TopologySpreadConstraint{
		TopologyKey: key, MaxSkew: int32(1 + g.IntN(2)), LabelSelector: g.labelSelector(false),
		WhenUnsatisfiable: corev1.DoNotSchedule,
	}
	if g.chance(0.1) {
		constraint.WhenUnsatisfiable = corev1.ScheduleAnyway
	}
	if g.chance(0.15) && constraint.WhenUnsatisfiable == corev1.DoNotSchedule {
		domains := int32(2 + g.IntN(3))
		constraint.MinDomains = &domains
	}
	if g.chance(0.2) {
		policy := pick(g, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
		constraint.NodeAffinityPolicy = &policy
	}
	if g.chance(0.2) {
		policy := pick(g, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
		constraint.NodeTaintsPolicy = &policy
	}
	if g.chance(0.1) && constraint.LabelSelector != nil && constraint.LabelSelector.MatchLabels["version"] == "" {
		constraint.MatchLabelKeys = []string{"version"}
	}
	pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, constraint)
}

// nominatedPods wait for a node whose victims are on their way out.
func (g *generator) nominatedPods() {
	for i, node := range g.world.Nodes {
		if !g.themes["nominated pods"] || !g.chance(0.4) {
			continue
		}
		pod := g.newPod(pick(g, "team-a", "team-b"), fmt.Sprintf("nominated-%d", i), 2)
		value := int32(pick(g, 0, 100, 1000, 1000))
		pod.Spec.Priority = &value
		pod.Status.Phase = corev1.PodPending
		pod.Status.NominatedNodeName = node.Name
		if g.chance(0.2) {
			pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: g.antiAffinity()}
		}
		g.world.Pods = append(g.world.Pods, pod)
	}
	for i := range g.IntN(3) { // others just wait, and count for nothing
		pod := g.newPod("team-a", fmt.Sprintf("waiting-%d", i), 0.6)
		pod.Status.Phase = corev1.PodPending
		g.world.Pods = append(g.world.Pods, pod)
	}
}

// podLimits leave some nodes without room for another pod, or with room for just one.
func (g *generator) podLimits() {
	for _, node := range g.world.Nodes {
		if g.themes["pod count"] && g.chance(0.32) {
			limit := 0
			for _, pod := range g.perNode[node.Name] {
				if inCache(pod, map[string]bool{node.Name: true}) {
					limit++
				}
			}
			limit += g.IntN(5) / 3
			node.Status.Allocatable[corev1.ResourcePods] = count(limit)
			node.Status.Capacity[corev1.ResourcePods] = count(limit)
		}
	}
}

// defaults are filled in as the API server does it.
func (g *generator) defaults() {
	w := g.world
	complete := func(object runtime.Object) { legacyscheme.Scheme.Default(object) }
	for _, object := range w.Nodes {
		complete(object)
	}
	for _, object := range append([]*corev1.Pod{w.Pod}, w.Pods...) {
		complete(object)
	}
	for _, object := range w.PVs {
		complete(object)
	}
	for _, object := range w.PVCs {
		complete(object)
	}
	for _, object := range w.StorageClasses {
		complete(object)
	}
}

func withLabels(labels map[string]string, more map[string]string) map[string]string {
	all := maps.Clone(labels)
	maps.Copy(all, more)
	return all
}
