// SPDX-License-Identifier: Apache-2.0

package feasibility

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	selectedNode = "volume.kubernetes.io/selected-node"
	driver       = "csi.example.com"
)

func (g *generator) storageClasses() {
	waits, immediate := storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
	zones := []string{"zone-0", "zone-1", pick(g, "zone-2", "zone-3")}
	g.world.StorageClasses = append(g.world.StorageClasses,
		&storagev1.StorageClass{
			ObjectMeta:  metav1.ObjectMeta{Name: "local"}, // volumes are made by hand
			Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &waits,
		},
		&storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: "zonal"}, Provisioner: "disk.example.com",
			VolumeBindingMode: &waits,
			AllowedTopologies: []corev1.TopologySelectorTerm{{
				MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: zoneKey, Values: zones}},
			}},
		},
		&storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: "anywhere"}, Provisioner: "disk.example.com",
			VolumeBindingMode: &waits,
		},
		&storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: "immediate"}, Provisioner: "disk.example.com",
			VolumeBindingMode: &immediate,
		})
}

// newClaim is mounted by the pod.
func (g *generator) newClaim(pod *corev1.Pod, class string) *corev1.PersistentVolumeClaim {
	g.claims++
	name := fmt.Sprintf("claim-%d", g.claims)
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: name, UID: types.UID(name)},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: mebi(1024 * (1 + g.IntN(10)))}},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
	g.world.PVCs = append(g.world.PVCs, claim)
	g.mount(pod, name)
	return claim
}

func (g *generator) mount(pod *corev1.Pod, claim string) {
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
		Name: claim,
		VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}},
	})
}

func (g *generator) newVolume(class string, size resource.Quantity) *corev1.PersistentVolume {
	name := fmt.Sprintf("pv-%d", len(g.world.PVs))
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: class,
			Capacity:         corev1.ResourceList{corev1.ResourceStorage: size},
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/data/" + name}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable},
	}
	g.world.PVs = append(g.world.PVs, volume)
	return volume
}

// near ties a volume to nodes by a label.
func near(volume *corev1.PersistentVolume, key string, values ...string) {
	volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: key, Operator: corev1.NodeSelectorOpIn, Values: values,
			}},
		}},
	}}
}

func bound(volume *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) {
	volume.Spec.ClaimRef = &corev1.ObjectReference{
		Kind: "PersistentVolumeClaim", APIVersion: "v1",
		Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
	}
	volume.Status.Phase = corev1.VolumeBound
	claim.Spec.VolumeName = volume.Name
	claim.Status.Phase = corev1.ClaimBound
	claim.Annotations = withLabels(map[string]string{"pv.kubernetes.io/bind-completed": "yes"},
		claim.Annotations)
}

func (g *generator) boundClaim(pod *corev1.Pod) (*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	claim := g.newClaim(pod, "anywhere")
	volume := g.newVolume("anywhere", claim.Spec.Resources.Requests[corev1.ResourceStorage])
	bound(volume, claim)
	return volume, claim
}

func throughCSI(volume *corev1.PersistentVolume) {
	volume.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{
		CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "handle-" + volume.Name}}
}

// attachedVolume is one of a pod that runs; it may count towards what its node can attach, and it
// may allow one pod only.
func (g *generator) attachedVolume(pod *corev1.Pod) {
	volume, claim := g.boundClaim(pod)
	if g.chance(0.8) {
		throughCSI(volume)
	}
	if g.chance(0.3) {
		once := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
		volume.Spec.AccessModes, claim.Spec.AccessModes = once, once
	}
}

// wantedVolumes are those of the pod in question.
func (g *generator) wantedVolumes(pod *corev1.Pod) {
	if g.themes["bound volumes"] { // tied to zones or racks by its affinity
		volume, _ := g.boundClaim(pod)
		if g.chance(0.4) {
			near(volume, zoneKey, "zone-0", "zone-1", pick(g, "zone-2", "zone-3"))
		} else {
			near(volume, rackKey, "rack-0", "rack-1", "rack-2", pick(g, "rack-3", "rack-4"))
		}
	}
	if g.themes["zones of volumes"] { // tied to zones by its labels, in the old way
		volume, _ := g.boundClaim(pod)
		volume.Labels = map[string]string{zoneKey: "zone-0__zone-1__" + pick(g, "zone-2", "zone-3")}
	}
	if g.themes["volumes per node"] {
		volume, _ := g.boundClaim(pod)
		throughCSI(volume)
	}
	if g.themes["unbound volumes"] {
		g.waitingClaims(pod)
	}
	switch {
	case g.chance(0.01):
		g.mount(pod, "no-such-claim")
	case g.chance(0.01):
		g.newClaim(pod, "immediate") // nobody has bound it yet
	case g.chance(0.01):
		claim := g.newClaim(pod, "anywhere")
		claim.Spec.VolumeName = "no-such-volume"
		claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	default:
		g.shareClaim(pod)
	}
}

// shareClaim mounts what another pod of the namespace has mounted already.
func (g *generator) shareClaim(pod *corev1.Pod) {
	for _, claim := range g.world.PVCs {
		forOne := claim.Spec.AccessModes[0] == corev1.ReadWriteOncePod
		if claim.Namespace != pod.Namespace || claim.Spec.VolumeName == "" || mounts(pod, claim.Name) {
			continue
		}
		if forOne && g.themes["volumes for one pod"] || !forOne && g.chance(0.04) {
			g.mount(pod, claim.Name)
			return
		}
	}
}

func mounts(pod *corev1.Pod, claim string) bool {
	for _, volume := range pod.Spec.Volumes {
		if volume.Name == claim {
			return true
		}
	}
	return false
}

// waitingClaims are bound only when their first consumer has a node.
func (g *generator) waitingClaims(pod *corev1.Pod) {
	if g.chance(0.4) {
		claim := g.newClaim(pod, pick(g, "zonal", "zonal", "anywhere"))
		if g.chance(0.1) { // a provisioner was already told where; or the volume could not be made
			node := g.world.Nodes[g.IntN(len(g.world.Nodes))].Name
			claim.Annotations = map[string]string{selectedNode: node}
		}
		return
	}
	for range 1 + g.IntN(3)/2 {
		claim := g.newClaim(pod, "local")
		if g.chance(0.1) {
			claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
		}
		if g.chance(0.15) {
			claim.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"medium": "flash"}}
		}
	}
	for _, node := range g.world.Nodes {
		for range g.IntN(8) { // at times one volume too few, or one too small
			volume := g.newVolume("local", mebi(1024*(3+g.IntN(20))))
			near(volume, hostKey, node.Name)
			volume.Labels = map[string]string{"medium": pick(g, "flash", "flash", "disk")}
			if g.chance(0.15) {
				volume.Spec.AccessModes = append(volume.Spec.AccessModes, corev1.ReadWriteMany)
			}
			if g.chance(0.1) {
				block := corev1.PersistentVolumeBlock
				volume.Spec.VolumeMode = &block
			}
			if g.chance(0.1) {
				volume.Spec.ClaimRef = &corev1.ObjectReference{
					Kind: "PersistentVolumeClaim", Namespace: "team-b", Name: "of-others", UID: "of-others"}
			}
		}
	}
}

// csiNodes limit how many volumes a driver attaches to a node; some leave room for none.
func (g *generator) csiNodes() {
	for _, node := range g.world.Nodes {
		if !g.themes["volumes per node"] || g.chance(0.1) {
			continue // nothing known, so no limit
		}
		limit := int32(pick(g, 0, 1, 2, 2, 3, 3, 10))
		g.world.CSINodes = append(g.world.CSINodes, &storagev1.CSINode{
			ObjectMeta: metav1.ObjectMeta{Name: node.Name},
			Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
				Name: driver, NodeID: node.Name,
				Allocatable: &storagev1.VolumeNodeResources{Count: &limit},
			}}},
		})
	}
}
