// SPDX-License-Identifier: Apache-2.0

// Package feasibility asks the filters of the real kube-scheduler on which nodes a pod fits, in
// small random worlds. What they answer is what Mainspring has to answer.
package feasibility

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// World is one question and its answer, a line of a file of worlds. All objects are as the API
// server shows them, with defaults filled in; a list without elements is [], never absent.
type World struct {
	// Name says how the world can be made again.
	Name           string                          `json:"name"`
	Nodes          []*corev1.Node                  `json:"nodes"`
	Pods           []*corev1.Pod                   `json:"pods"` // all but the one in question
	PVs            []*corev1.PersistentVolume      `json:"pvs"`
	PVCs           []*corev1.PersistentVolumeClaim `json:"pvcs"`
	StorageClasses []*storagev1.StorageClass       `json:"storageclasses"`
	CSINodes       []*storagev1.CSINode            `json:"csinodes"`
	Namespaces     []*corev1.Namespace             `json:"namespaces"`
	Pod            *corev1.Pod                     `json:"pod"`

	// Feasible are the names of the nodes that pass all filters, sorted.
	Feasible []string `json:"feasible"`
	// Failed has, for each other node, the predicates that it fails, sorted. Where one of them
	// refuses the pod before any node is looked at, all nodes have this one alone.
	Failed map[string][]string `json:"failed"`
}

// Predicates are the words in Failed. Most are plugins of kube-scheduler; some plugins are split by
// what they complain about.
var Predicates = []string{
	"InterPodAffinity",             // the pod's own required affinity
	"InterPodAntiAffinity",         // its own required anti-affinity
	"InterPodAntiAffinityOfOthers", // that of pods that are there
	"NodeAffinity",                 // node selector and required node affinity
	"NodePorts",                    //
	"NodeResourcesFit",             // CPU, memory, ephemeral storage, extended resources
	"NodeResourcesFit/pods",        // the number of pods
	"NodeUnschedulable",            //
	"NodeVolumeLimits",             // of CSI drivers, per node
	"NominatedPods",                // fits only without the pods that wait for this node
	"PodTopologySpread",            //
	"TaintToleration",              //
	"VolumeBinding/bound",          // a bound volume's node affinity
	"VolumeBinding/unbound",        // no volume for a claim, nor a way to make one here
	"VolumeRestrictions",           // ReadWriteOncePod
	"VolumeZone",                   // zone labels of a bound volume
}
